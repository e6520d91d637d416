import { useCallback, useMemo } from "react";
import type { Tree } from "../api/types";
import type { Placed } from "../model/graph";
import { keyOf } from "../model/graph";
import { network } from "../model/network";
import { Loading, Notice } from "../parts/States";
import { setParams } from "../state/route";
import { Card } from "./Card";
import { Picture } from "./Picture";

/** NetworkView is the way of traffic: ingresses and routes, the services behind them, and the pods behind those. */
export function NetworkView({ tree }: { tree: Tree | undefined }) {
  const roots = useMemo(() => network(tree), [tree]);
  const open = useCallback(({ thing }: Placed) => setParams({ resource: keyOf(thing.node) }), []);
  if (!tree) return <Loading what="the objects" />;
  if (roots.length === 0) {
    return (
      <Notice icon="graph" title="Nothing takes traffic">
        There is no service, and nothing that leads to one.
      </Notice>
    );
  }
  return <Picture roots={roots} label="Who sends traffic to whom" card={(p) => <Card key={p.thing.id} at={p} onOpen={open} />} />;
}
