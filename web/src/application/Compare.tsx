import { useMemo, useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { HistoryEntry } from "../api/types";
import { compared, type Compared } from "../model/compare";
import { Answered } from "../parts/Answered";
import { Dialog } from "../parts/Dialog";
import { Choice } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { Badge } from "../parts/Status";
import { useAsk } from "../state/ask";
import { TextDiff } from "./TextDiff";

const revisionOf = (h: HistoryEntry) => h.revision ?? h.revisions?.[0] ?? "";

/** Compare is what lies between any two revisions that were synced: the objects that they render to, side by side. */
export function Compare({ name, list, from, onClose }: { name: Name; list: readonly HistoryEntry[]; from: HistoryEntry; onClose: () => void }) {
  // The list has the newest first, and one reads from the older to the newer.
  const newest = list[0] ?? from;
  const [before, setBefore] = useState(String((from.id === newest.id ? list[1] : undefined)?.id ?? from.id));
  const [after, setAfter] = useState(String(newest.id));
  const entry = (id: string) => list.find((h) => String(h.id) === id) ?? from;
  const [a, b] = [revisionOf(entry(before)), revisionOf(entry(after))];
  // What a commit renders to does not change, so that it is not asked again with the rest.
  const one = useAsk(`manifests:${name.namespace}/${name.name}:${a}`, () => api.manifests(name, a));
  const two = useAsk(`manifests:${name.namespace}/${name.name}:${b}`, () => api.manifests(name, b));
  const choices = list.map((h) => [String(h.id), `#${h.id} · ${revisionOf(h).slice(0, 7)}`] as const);
  return (
    <Dialog title="Compare revisions" size="wide" onClose={onClose}>
      <div className="form">
        <Choice title="From" value={before} of={choices} onChange={setBefore} />
        <Choice title="To" value={after} of={choices} onChange={setAfter} />
      </div>
      <Answered answer={one} what="what the first renders to">
        {(left) => (
          <Answered answer={two} what="what the second renders to">
            {(right) => <Both left={left} right={right} titles={[`#${before}`, `#${after}`]} />}
          </Answered>
        )}
      </Answered>
    </Dialog>
  );
}

const words: Record<Compared["fate"], string> = { added: "New", removed: "Gone", changed: "Changed" };

function Both({ left, right, titles }: { left: readonly string[]; right: readonly string[]; titles: readonly [string, string] }) {
  const list = useMemo(() => compared(left, right), [left, right]);
  if (list.length === 0) {
    return (
      <p className="calm tone-good">
        <Icon name="synced" /> Both render to the same {left.length} objects.
      </p>
    );
  }
  return (
    <>
      <p className="soft">
        {list.length} of {Math.max(left.length, right.length)} objects differ.
      </p>
      {list.map((c) => (
        <section key={c.name} className="stack" aria-label={c.name}>
          <h3 className="badges">
            <Badge tone={c.fate === "added" ? "good" : c.fate === "removed" ? "bad" : "warn"} icon={c.fate === "added" ? "plus" : c.fate === "removed" ? "trash" : "drift"}>
              {words[c.fate]}
            </Badge>
            {c.name}
          </h3>
          <TextDiff before={c.before} after={c.after} titles={titles} />
        </section>
      ))}
    </>
  );
}
