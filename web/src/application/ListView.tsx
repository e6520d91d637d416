import { useMemo } from "react";
import type { Application, Node, Tree } from "../api/types";
import { grow, type Thing } from "../model/graph";
import { everything, fitting, readWanted } from "../model/narrow";
import { Ago } from "../parts/Ago";
import { Rows, type Seat } from "../parts/Rows";
import { Loading, Notice } from "../parts/States";
import { HealthBadge, SyncBadge } from "../parts/Status";
import { setParams, useRoute } from "../state/route";
import { NothingFits } from "./GraphView";
import { ObjectBar } from "./ObjectBar";

interface Line {
  thing: Thing;
  depth: number;
}

function flat(things: readonly Thing[], depth = 0): Line[] {
  return things.flatMap((thing) => [{ thing, depth }, ...flat(thing.children, depth + 1)]);
}

/** ListView has the same objects as the graph, one below the other. */
export function ListView({ app, tree }: { app: Application; tree: Tree | undefined }) {
  const { params } = useRoute();
  const wanted = useMemo(() => readWanted(params), [params]);
  const resources = app.status.resources;
  // Nothing is gathered here: a list scrolls.
  const all = useMemo(() => flat(grow(tree, resources ?? [], everything, wanted.orphans)), [tree, resources, wanted.orphans]);
  const shown = useMemo(() => {
    const fits = fitting(wanted);
    return all.filter(({ thing }) => fits(thing));
  }, [all, wanted]);
  if (all.length === 0) {
    if (!tree) return <Loading what="the objects" />;
    return (
      <Notice icon="box" title="There are no objects">
        Either Git has none at this revision, or it was not looked at yet. What is in the way stands above.
      </Notice>
    );
  }
  return (
    <div className="objects">
      <ObjectBar app={app} tree={tree} wanted={wanted} said={`${shown.length} of ${all.length} objects`} />
      {shown.length === 0 ? <NothingFits /> : <Table lines={shown} />}
    </div>
  );
}

function Table({ lines }: { lines: readonly Line[] }) {
  return (
    <Rows
      label="Objects"
      count={lines.length}
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
      idOf={(i) => lines[i]?.thing.id ?? ""}
      row={(i, { key, style }) => lines[i] && <One key={key} style={style} index={i} line={lines[i]} />}
    />
  );
}

const infoOf = (n: Node) => n.info?.map((i) => `${i.name === "Status Reason" ? "" : `${i.name} `}${i.value}`).join(", ") ?? "";

function One({ line: { thing, depth }, index, style }: { line: Line; index: number; style: Seat["style"] }) {
  const { node } = thing;
  return (
    <div className="row object" role="row" aria-rowindex={index + 1} style={style}>
      <span role="cell" className="c-object" style={{ paddingLeft: depth * 18 }}>
        {depth > 0 && <span className="twig" aria-hidden="true" />}
        <button type="button" className="plainlink" onClick={() => setParams({ resource: thing.id })}>
          <span className="soft">{node.kind}</span> <span>{node.name}</span>
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
