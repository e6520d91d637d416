// The pods of an application, by what they have in common. Pure.

import type { Node, Tree } from "../api/types";
import { keyOf } from "./graph";

export const groupings = ["parent", "node", "top"] as const;
export type Grouping = (typeof groupings)[number];

export interface PodGroup {
  name: string;
  kind: string;
  pods: Node[];
}

const info = (n: Node, name: string) => n.info?.find((i) => i.name === name)?.value;

/** nodeOf is where a pod runs. */
export const nodeOf = (n: Node) => info(n, "Node") ?? "";

/** podGroups puts the pods below who made them, below the first that Git knows of, or onto their nodes. */
export function podGroups(tree: Tree | undefined, by: Grouping): PodGroup[] {
  const nodes = new Map((tree?.nodes ?? []).map((n) => [keyOf(n), n]));
  const groups = new Map<string, PodGroup>();
  for (const pod of nodes.values()) {
    if (pod.kind !== "Pod" || pod.group) continue;
    const { kind, name } = belongs(pod, by, nodes);
    const key = `${kind}/${name}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { kind, name, pods: [] }));
    group.pods.push(pod);
  }
  for (const g of groups.values()) g.pods.sort((a, b) => a.name.localeCompare(b.name));
  return [...groups.values()].sort((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
}

const makers = new Set(["ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "Deployment", "CronJob", "Rollout"]);

function belongs(pod: Node, by: Grouping, nodes: ReadonlyMap<string, Node>): { kind: string; name: string } {
  if (by === "node") return { kind: "Node", name: nodeOf(pod) || "not placed yet" };
  let at: Node = pod;
  // As far as it goes, and no further: who is below whom may be a ring.
  for (let depth = 0; depth < (by === "parent" ? 1 : 8); depth++) {
    const refs = at.parentRefs ?? [];
    const ref = refs.find((r) => makers.has(r.kind ?? "")) ?? refs[0];
    const next = ref && nodes.get(keyOf(ref));
    if (!next) break;
    at = next;
  }
  return at === pod ? { kind: "", name: "on their own" } : { kind: at.kind, name: at.name };
}
