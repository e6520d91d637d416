import { describe, expect, it } from "vitest";
import type { Node, Tree } from "../api/types";
import { grow, most } from "./graph";
import { everything, kindsOf, narrowed, narrows, readWanted } from "./narrow";

const web: Node = { kind: "Deployment", name: "web", namespace: "shop", health: { status: "Healthy" } };
const set: Node = { kind: "ReplicaSet", name: "web-1", namespace: "shop", parentRefs: [{ kind: "Deployment", name: "web", namespace: "shop" }] };
const pods: Node[] = Array.from({ length: most }, (_, i) => ({
  kind: "Pod",
  name: `web-1-${i}`,
  namespace: "shop",
  health: { status: i === 3 ? "Degraded" : "Healthy" },
  parentRefs: [{ kind: "ReplicaSet", name: "web-1", namespace: "shop" }],
}));
const left: Node = { kind: "ConfigMap", name: "left-behind", namespace: "shop" };
const tree: Tree = { nodes: [web, set, ...pods], orphanedNodes: [left] };
const resources = [{ kind: "Deployment", namespace: "shop", name: "web", status: "Synced" as const }, { kind: "Service", namespace: "shop", name: "web", status: "OutOfSync" as const }];

const wanted = (query: string) => readWanted(new URLSearchParams(query));
const names = (query: string) => {
  const w = wanted(query);
  const out: string[] = [];
  const visit = (things: ReturnType<typeof grow>, depth: number) => {
    for (const t of things) {
      out.push(`${"  ".repeat(depth)}${t.node.kind} ${t.node.name}`);
      visit(t.children, depth + 1);
    }
  };
  visit(narrowed(grow(tree, resources, everything, w.orphans), w), 0);
  return out;
};

describe("narrowed", () => {
  it("keeps what fits, and what it stands below", () => {
    expect(names("find=web-1-5")).toEqual(["Deployment web", "  ReplicaSet web-1", "    Pod web-1-5"]);
    expect(names("kind=Service")).toEqual(["Service web"]);
    expect(names("find=shop+deploy")).toEqual(["Deployment web"]);
    expect(names("find=nothing")).toEqual([]);
  });

  it("finds what needs a look", () => {
    expect(names("state=look")).toEqual(["Deployment web", "  ReplicaSet web-1", "    Pod web-1-3", "Service web"]);
    expect(names("state=OutOfSync")).toEqual(["Service web"]);
    expect(names("state=Missing")).toEqual(["Service web"]);
  });

  it("has what belongs to nobody only where it is asked for", () => {
    expect(names("kind=ConfigMap")).toEqual([]);
    expect(names("kind=ConfigMap&orphans=true")).toEqual(["ConfigMap left-behind"]);
  });
});

it("knows whether it narrows, and by which kinds it could", () => {
  expect([narrows(wanted("")), narrows(wanted("find=+")), narrows(wanted("orphans=true")), narrows(wanted("state=look"))]).toEqual([false, false, false, true]);
  expect(wanted("state=nonsense").state).toBe("");
  expect(kindsOf(tree, resources, false)).toEqual(["Deployment", "Pod", "ReplicaSet", "Service"]);
  expect(kindsOf(tree, resources, true)).toContain("ConfigMap");
});
