import { useMemo, useState } from "react";
import { diffLines, folded, type Line } from "../model/lines";
import { Icon } from "../parts/Icon";

const sign: Record<Line["kind"], string> = { same: " ", removed: "−", added: "+" };
const word: Record<Line["kind"], string> = { same: "", removed: "removed", added: "added" };

/** TextDiff is the difference of two texts, below or beside each other. */
export function TextDiff({ before, after, titles }: { before: string; after: string; titles: readonly [string, string] }) {
  const [side, setSide] = useState(false);
  const [whole, setWhole] = useState(false);
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  if (lines.every((l) => l.kind === "same")) {
    return (
      <p className="calm tone-good">
        <Icon name="synced" /> Both sides are the same.
      </p>
    );
  }
  const shown = whole ? lines : folded(lines);
  return (
    <div className="textdiff">
      <div className="bar">
        <span className="soft">
          − {titles[0]}, + {titles[1]}
        </span>
        <label className="check">
          <input type="checkbox" checked={side} onChange={(e) => setSide(e.target.checked)} /> Side by side
        </label>
        <label className="check">
          <input type="checkbox" checked={whole} onChange={(e) => setWhole(e.target.checked)} /> All lines
        </label>
      </div>
      <div className={side ? "difflines side" : "difflines"} tabIndex={0} role="group" aria-label={`${titles[0]} and ${titles[1]}`}>
        {side ? pairs(shown).map(([l, r], i) => <Pair key={i} left={l} right={r} />) : shown.map((l, i) => <One key={i} line={l} />)}
      </div>
    </div>
  );
}

type Shown = ReturnType<typeof folded>[number] | Line;

function One({ line }: { line: Shown }) {
  if (line.kind === "fold") return <div className="fold">{line.count} lines the same</div>;
  return (
    <div className={`dl ${line.kind}`}>
      <span className="sign" aria-hidden="true">
        {sign[line.kind]}
      </span>
      {word[line.kind] && <span className="aside">{word[line.kind]}: </span>}
      <span>{line.text}</span>
    </div>
  );
}

function Pair({ left, right }: { left: Shown | undefined; right: Shown | undefined }) {
  if (left?.kind === "fold") return <One line={left} />;
  return (
    <div className="pair">
      {left ? <One line={left} /> : <div className="dl void" />}
      {right ? <One line={right} /> : <div className="dl void" />}
    </div>
  );
}

/** pairs puts what was removed beside what was added in its place. */
function pairs(lines: readonly Shown[]): [Shown | undefined, Shown | undefined][] {
  const out: [Shown | undefined, Shown | undefined][] = [];
  let removed: Shown[] = [];
  let added: Shown[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) out.push([removed[i], added[i]]);
    removed = [];
    added = [];
  };
  for (const l of lines) {
    if (l.kind === "removed") removed.push(l);
    else if (l.kind === "added") added.push(l);
    else {
      flush();
      out.push([l, l]);
    }
  }
  flush();
  return out;
}
