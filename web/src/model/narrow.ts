// Which objects of an application are shown, as it stands in the address. Pure.

import type { Health, ResourceStatus, Tree } from "../api/types";
import type { Opened, Thing } from "./graph";

/** Wanted is what somebody wants to see of the objects. */
export interface Wanted {
  /** text are words that the kind, the namespace or the name must have. */
  text: string;
  kind: string;
  /** state is one of states, or anything. */
  state: State | "";
  /** orphans also wants what is in the namespace and belongs to no application. */
  orphans: boolean;
}

export const states = ["look", "OutOfSync", "Degraded", "Progressing", "Missing", "Suspended"] as const;
export type State = (typeof states)[number];

export function readWanted(params: URLSearchParams): Wanted {
  return {
    text: params.get("find") ?? "",
    kind: params.get("kind") ?? "",
    state: states.find((s) => s === params.get("state")) ?? "",
    orphans: params.get("orphans") === "true",
  };
}

export const narrows = (w: Wanted) => w.text.trim() !== "" || w.kind !== "" || w.state !== "";

/** everything is opened where something is looked for: what stands behind a group would not be found. */
export const everything: Opened = { has: () => true };

/** kindsOf are the kinds that there are. */
export function kindsOf(tree: Tree | undefined, resources: readonly ResourceStatus[], orphans: boolean): string[] {
  const kinds = new Set<string>();
  for (const o of [...(tree?.nodes ?? []), ...resources, ...(orphans ? (tree?.orphanedNodes ?? []) : [])]) kinds.add(o.kind);
  return [...kinds].sort();
}

/** narrowed are the things that fit, and those that they stand below. Nothing is changed in place. */
export function narrowed(things: readonly Thing[], wanted: Wanted): Thing[] {
  const fits = fitting(wanted);
  const visit = (list: readonly Thing[]): Thing[] =>
    list.flatMap((t) => {
      const children = visit(t.children);
      return children.length > 0 || fits(t) ? [{ ...t, children }] : [];
    });
  return visit(things);
}

/** fitting says of a thing whether it is what is wanted. */
export function fitting(w: Wanted): (t: Thing) => boolean {
  const words = w.text.toLowerCase().split(/\s+/).filter(Boolean);
  return (t) => {
    if (w.kind && t.node.kind !== w.kind) return false;
    if (w.state && !inState(t, w.state)) return false;
    if (words.length === 0) return true;
    const name = `${t.node.kind} ${t.node.namespace ?? ""} ${t.node.name}`.toLowerCase();
    return words.every((word) => name.includes(word));
  };
}

function inState(t: Thing, state: State): boolean {
  const health: Health | undefined = t.node.health?.status;
  if (state === "OutOfSync") return t.sync === "OutOfSync";
  if (state === "look") return t.sync === "OutOfSync" || (health !== undefined && health !== "Healthy");
  return health === state;
}
