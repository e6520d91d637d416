import { useMemo, useState } from "react";
import type { Application, Node, Tree } from "../api/types";
import { grow, keyOf, type Thing } from "../model/graph";
import { Ago } from "../parts/Ago";
import { Icon } from "../parts/Icon";
import { Rows } from "../parts/Rows";
import { HealthBadge, SyncBadge } from "../parts/Status";
import { setParams } from "../state/route";

interface Line {
  thing: Thing;
  depth: number;
}

function flat(things: readonly Thing[], depth = 0): Line[] {
  return things.flatMap((thing) => [{ thing, depth }, ...flat(thing.children, depth + 1)]);
}

/** ListView has the same objects as the graph, one below the other. */
export function ListView({ app, tree }: { app: Application; tree: Tree | undefined }) {
  const [text, setText] = useState("");
  const [problems, setProblems] = useState(false);
  const resources = app.status.resources;
  const all = useMemo(() => {
    // Nothing is gathered here: a list scrolls.
    const groups = new Set<string>();
    for (const n of tree?.nodes ?? []) for (const p of n.parentRefs ?? []) groups.add(`${keyOf(p)}>${n.group ?? ""}/${n.kind}`);
    return flat(grow(tree, resources ?? [], groups));
  }, [tree, resources]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter(({ thing }) => {
    const name = `${thing.node.kind} ${thing.node.namespace ?? ""} ${thing.node.name}`.toLowerCase();
    return words.every((w) => name.includes(w)) && (!problems || troubled(thing));
  });
  return (
    <div className="objects">
      <div className="bar">
        <label className="search">
          <Icon name="search" />
          <span className="aside">Search objects</span>
          <input data-search type="search" value={text} placeholder="Kind, namespace or name" onChange={(e) => setText(e.target.value)} />
          <kbd>/</kbd>
        </label>
        <label className="check">
          <input type="checkbox" checked={problems} onChange={(e) => setProblems(e.target.checked)} /> Only what needs a look
        </label>
        <p className="total">
          <strong>{shown.length}</strong> of {all.length} objects
        </p>
      </div>
      <Rows
        label="Objects"
        count={shown.length}
        height={40}
        head={
          <div className="row head object" role="row">
            <span role="columnheader">Object</span>
            <span role="columnheader">Health</span>
            <span role="columnheader">Sync</span>
            <span role="columnheader" className="c-info">State</span>
            <span role="columnheader" className="c-age">Made</span>
          </div>
        }
        row={(i) => {
          const line = shown[i];
          return line && <One key={line.thing.id} line={line} />;
        }}
      />
    </div>
  );
}

const troubled = (t: Thing) => t.sync === "OutOfSync" || (t.node.health?.status !== undefined && t.node.health.status !== "Healthy");

const infoOf = (n: Node) => n.info?.map((i) => `${i.name === "Status Reason" ? "" : `${i.name} `}${i.value}`).join(", ") ?? "";

function One({ line: { thing, depth } }: { line: Line }) {
  const { node } = thing;
  return (
    <div className="row object" role="row">
      <span role="cell" className="c-object" style={{ paddingLeft: depth * 18 }}>
        {depth > 0 && <span className="twig" aria-hidden="true" />}
        <button type="button" className="plainlink" onClick={() => setParams({ resource: thing.id })}>
          <span className="soft">{node.kind}</span> {node.name}
        </button>
      </span>
      <span role="cell">{node.health?.status && <HealthBadge health={node.health.status} />}</span>
      <span role="cell">{thing.sync && <SyncBadge sync={thing.sync} />}</span>
      <span role="cell" className="c-info soft line" title={node.health?.message}>
        {node.health?.message ?? infoOf(node)}
      </span>
      <span role="cell" className="c-age soft">
        {node.createdAt && <Ago at={node.createdAt} />}
      </span>
    </div>
  );
}
