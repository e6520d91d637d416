// The difference between two texts, line by line (Myers' algorithm). Pure.

export interface Line {
  kind: "same" | "removed" | "added";
  text: string;
  /** left and right are the numbers of the line on either side, from one. */
  left?: number;
  right?: number;
}

/** furthest bounds the work: texts that have little in common are shown one after the other. */
const furthest = 2000;

export function diffLines(before: string, after: string): Line[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const trace = search(a, b);
  if (!trace) {
    return [
      ...a.map((text, i): Line => ({ kind: "removed", text, left: i + 1 })),
      ...b.map((text, i): Line => ({ kind: "added", text, right: i + 1 })),
    ];
  }
  const out: Line[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const v = trace[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const px = v.get(from) ?? 0;
    const py = px - from;
    while (x > px && y > py && x > 0 && y > 0) {
      out.push({ kind: "same", text: a[x - 1]!, left: x, right: y });
      x--;
      y--;
    }
    if (d === 0) break;
    if (down) out.push({ kind: "added", text: b[y - 1]!, right: y });
    else out.push({ kind: "removed", text: a[x - 1]!, left: x });
    x = px;
    y = py;
  }
  return out.reverse();
}

/** search returns, for each number of edits, how far each diagonal got before it. */
function search(a: readonly string[], b: readonly string[]): Map<number, number>[] | undefined {
  const trace: Map<number, number>[] = [];
  let v = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, furthest); d++) {
    trace.push(new Map(v));
    const next = new Map(v);
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1));
      let x = down ? (v.get(k + 1) ?? 0) : (v.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      next.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
    v = next;
  }
  return undefined;
}

/** folded leaves of what is the same only so much around what is not. */
export function folded(lines: readonly Line[], around = 3): (Line | { kind: "fold"; count: number })[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((l, i) => {
    if (l.kind === "same") return;
    for (let k = Math.max(0, i - around); k <= Math.min(lines.length - 1, i + around); k++) near[k] = 1;
  });
  const out: (Line | { kind: "fold"; count: number })[] = [];
  let hidden = 0;
  lines.forEach((l, i) => {
    if (!near[i]) {
      hidden++;
      return;
    }
    if (hidden > 0) out.push({ kind: "fold", count: hidden });
    hidden = 0;
    out.push(l);
  });
  if (hidden > 0) out.push({ kind: "fold", count: hidden });
  return out;
}
