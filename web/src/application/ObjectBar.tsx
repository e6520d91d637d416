import { useMemo } from "react";
import type { Application, Tree } from "../api/types";
import { kindsOf, narrows, states, type State, type Wanted } from "../model/narrow";
import { Button } from "../parts/Button";
import { Check } from "../parts/Field";
import { Search } from "../parts/Search";
import { setParams } from "../state/route";

const words: Record<State, string> = {
  look: "Needs a look",
  OutOfSync: "Out of sync",
  Degraded: "Degraded",
  Progressing: "Progressing",
  Missing: "Missing",
  Suspended: "Suspended",
};

const change = (changes: Record<string, string | undefined>) => setParams(changes, { replace: true });

interface Props {
  app: Application;
  tree: Tree | undefined;
  wanted: Wanted;
  /** said is how many there are of what is shown. */
  said?: string;
}

/** ObjectBar narrows the objects of an application, in the graph and in the list; what it says is in the address. */
export function ObjectBar({ app, tree, wanted, said }: Props) {
  const resources = app.status.resources;
  const kinds = useMemo(() => kindsOf(tree, resources ?? [], wanted.orphans), [tree, resources, wanted.orphans]);
  const orphans = tree?.orphanedNodes?.length ?? 0;
  return (
    <div className="bar object-bar">
      <Search label="Search objects" placeholder="Kind, namespace or name" value={wanted.text} onChange={(find) => change({ find })} />
      <label>
        <span className="aside">Kind</span>
        <select value={wanted.kind} onChange={(e) => change({ kind: e.target.value })}>
          <option value="">Every kind</option>
          {kinds.map((k) => (
            <option key={k}>{k}</option>
          ))}
        </select>
      </label>
      <label>
        <span className="aside">State</span>
        <select value={wanted.state} onChange={(e) => change({ state: e.target.value })}>
          <option value="">Any state</option>
          {states.map((s) => (
            <option key={s} value={s}>
              {words[s]}
            </option>
          ))}
        </select>
      </label>
      {orphans > 0 && <Check title={`${orphans} of nobody`} value={wanted.orphans} onChange={(on) => change({ orphans: on ? "true" : undefined })} />}
      {narrows(wanted) && (
        <Button kind="bare" icon="close" onClick={showAll}>
          Clear
        </Button>
      )}
      {said && (
        <p className="total" role="status">
          {said}
        </p>
      )}
    </div>
  );
}

export const showAll = () => change({ find: undefined, kind: undefined, state: undefined });
