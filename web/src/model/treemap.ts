// A squarified tree-map: areas that follow the sizes, as near to squares as they get. Pure: values in, rectangles out.

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** squarify lays out sizes, the largest first, in a box. The result is in the order of the sizes that were given. */
export function squarify(sizes: readonly number[], within: Box): Box[] {
  const out: Box[] = sizes.map(() => ({ x: within.x, y: within.y, w: 0, h: 0 }));
  const order = sizes
    .map((size, at) => ({ size, at }))
    .filter((s) => s.size > 0)
    .sort((a, b) => b.size - a.size || a.at - b.at);
  const total = order.reduce((sum, s) => sum + s.size, 0);
  if (total <= 0 || within.w <= 0 || within.h <= 0) return out;
  const scale = (within.w * within.h) / total;
  let rest: Box = { ...within };
  let row: { area: number; at: number }[] = [];
  // The largest of a row came first and the smallest comes last, so that their sum is all that has to be kept.
  let sum = 0;
  for (const { size, at } of order) {
    const area = size * scale;
    const side = Math.min(rest.w, rest.h);
    const first = row[0]?.area ?? area;
    const last = row[row.length - 1]?.area ?? area;
    if (row.length > 0 && worst(first, area, sum + area, side) > worst(first, last, sum, side)) {
      rest = place(row, rest, out);
      row = [];
      sum = 0;
    }
    row.push({ area, at });
    sum += area;
  }
  place(row, rest, out);
  return out;
}

/** worst is the largest ratio of sides that a row along a side would have. */
function worst(most: number, least: number, sum: number, side: number): number {
  const s2 = side * side;
  return Math.max((s2 * most) / (sum * sum), (sum * sum) / (s2 * least));
}

/** place puts a row along the shorter side and returns what is left. */
function place(row: readonly { area: number; at: number }[], rest: Box, out: Box[]): Box {
  const sum = row.reduce((s, r) => s + r.area, 0);
  if (row.length === 0 || sum <= 0) return rest;
  const upright = rest.w >= rest.h;
  const side = upright ? rest.h : rest.w;
  const thick = sum / side;
  let along = upright ? rest.y : rest.x;
  for (const { area, at } of row) {
    const length = area / thick;
    out[at] = upright
      ? { x: rest.x, y: along, w: thick, h: length }
      : { x: along, y: rest.y, w: length, h: thick };
    along += length;
  }
  return upright
    ? { x: rest.x + thick, y: rest.y, w: Math.max(rest.w - thick, 0), h: rest.h }
    : { x: rest.x, y: rest.y + thick, w: rest.w, h: Math.max(rest.h - thick, 0) };
}

export interface Group<T> {
  name: string;
  items: { item: T; size: number }[];
}

export interface Region<T> {
  name: string;
  box: Box;
  /** inner is the box without its heading. */
  tiles: { item: T; box: Box }[];
}

/** regions lays out groups, and in each its items below a heading. */
export function regions<T>(groups: readonly Group<T>[], within: Box, heading: number, gap: number): Region<T>[] {
  const sizes = groups.map((g) => g.items.reduce((s, i) => s + i.size, 0));
  const boxes = squarify(sizes, within);
  return groups.map((g, i) => {
    const outer = boxes[i] ?? { x: 0, y: 0, w: 0, h: 0 };
    const box = { x: outer.x + gap, y: outer.y + gap, w: Math.max(outer.w - 2 * gap, 0), h: Math.max(outer.h - 2 * gap, 0) };
    const top = box.h > heading * 2 ? heading : 0;
    const inner = { x: box.x, y: box.y + top, w: box.w, h: Math.max(box.h - top, 0) };
    const tiles = squarify(
      g.items.map((it) => it.size),
      inner,
    ).map((b, k) => ({ item: g.items[k]!.item, box: b }));
    return { name: g.name, box, tiles };
  });
}
