import { useCallback, useMemo, useState } from "react";
import type { Application, Tree } from "../api/types";
import { grow, planted, type Placed, type Thing } from "../model/graph";
import { everything, narrowed, narrows, readWanted } from "../model/narrow";
import { Button } from "../parts/Button";
import { Loading, Notice } from "../parts/States";
import { useChildren } from "../state/children";
import { appHref, go, setParams, useRoute } from "../state/route";
import { Card } from "./Card";
import { ObjectBar, showAll } from "./ObjectBar";
import { Picture } from "./Picture";

/** isApp says that a thing is an application, whose objects can be shown below it. */
const isApp = (t: Thing) => t.node.kind === "Application" && t.node.group === "argoproj.io" && !t.many;

/** GraphView draws what Git has, and below each object what came from it; below an application its own objects. */
export function GraphView({ app, tree }: { app: Application; tree: Tree | undefined }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const { params } = useRoute();
  const shown = params.getAll("inside");
  const inside = shown.join("\n");
  const children = useChildren(shown);
  const resources = app.status.resources;
  const wanted = useMemo(() => readWanted(params), [params]);
  const narrow = narrows(wanted);
  const all = useMemo(() => {
    const open = narrow ? everything : opened;
    const things = grow(tree, resources ?? [], open, wanted.orphans);
    return children.size === 0 ? things : planted(things, children, open);
  }, [tree, resources, opened, children, narrow, wanted.orphans]);
  const roots = useMemo(() => (narrow ? narrowed(all, wanted) : all), [all, narrow, wanted]);
  const open = useCallback(
    ({ thing }: Placed) => {
      if (thing.many) setOpened((all) => new Set([...all, thing.id]));
      else if (thing.of) go(appHref(thing.of, { resource: thing.id.slice(thing.id.lastIndexOf(">") + 1) }));
      else setParams({ resource: thing.id });
    },
    [],
  );
  const toggle = useCallback(
    ({ thing }: Placed) => {
      const key = `${thing.node.namespace ?? ""}/${thing.node.name}`;
      const now = inside === "" ? [] : inside.split("\n");
      const next = new URLSearchParams(location.search);
      next.delete("inside");
      for (const k of now.includes(key) ? now.filter((n) => n !== key) : [...now, key]) next.append("inside", k);
      go(`${location.pathname}${next.size > 0 ? `?${next.toString()}` : ""}`, { replace: true });
    },
    [inside],
  );
  if (all.length === 0) {
    if (!tree) return <Loading what="the objects" />;
    return (
      <Notice icon="box" title="There are no objects">
        Either Git has none at this revision, or it was not looked at yet. What is in the way stands above.
      </Notice>
    );
  }
  return (
    <>
      <ObjectBar app={app} tree={tree} wanted={wanted} />
      {roots.length === 0 ? (
        <NothingFits />
      ) : (
        <Picture
          roots={roots}
          label="Objects and what came from them"
          card={(p) => (
            <Card
              key={p.thing.id}
              at={p}
              onOpen={open}
              onInside={isApp(p.thing) ? toggle : undefined}
              inside={isApp(p.thing) ? shown.includes(`${p.thing.node.namespace ?? ""}/${p.thing.node.name}`) : undefined}
            />
          )}
        />
      )}
    </>
  );
}

/** NothingFits says that there are objects, and that none is what somebody looks for. */
export function NothingFits() {
  return (
    <Notice icon="search" title="Nothing fits" action={<Button onClick={showAll}>Show all</Button>}>
      No object of this application has all that is asked for.
    </Notice>
  );
}
