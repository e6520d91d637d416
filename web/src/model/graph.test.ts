import { describe, expect, it } from "vitest";
import type { Node, Tree } from "../api/types";
import { grow, keyOf, layOut, middle, most, parseKey, planted, worstHealth } from "./graph";

const node = (kind: string, name: string, parent?: Node): Node => ({
  kind,
  name,
  namespace: "shop",
  ...(parent ? { parentRefs: [{ kind: parent.kind, name: parent.name, namespace: "shop" }] } : {}),
});

const web = node("Deployment", "web");
const set = node("ReplicaSet", "web-1", web);
const pods = (n: number) => Array.from({ length: n }, (_, i) => node("Pod", `web-1-${i}`, set));
const measure = { width: 100, height: 20, gapX: 10, gapY: 4 };

describe("grow", () => {
  it("puts what came from an object below it, and what is missing at the top", () => {
    const tree: Tree = { nodes: [...pods(2), set, web] };
    const roots = grow(tree, [{ kind: "Deployment", namespace: "shop", name: "web", status: "OutOfSync" }, { kind: "Service", namespace: "shop", name: "web", status: "OutOfSync" }], new Set());
    expect(roots.map((r) => [r.node.kind, r.sync, r.node.health?.status])).toEqual([
      ["Deployment", "OutOfSync", undefined],
      ["Service", "OutOfSync", "Missing"],
    ]);
    expect(roots[0]!.children[0]!.children.map((c) => c.node.name)).toEqual(["web-1-0", "web-1-1"]);
  });

  it("shows many siblings as one, until somebody opens it", () => {
    const tree: Tree = { nodes: [web, set, ...pods(most)] };
    const closed = grow(tree, [], new Set());
    const group = closed[0]!.children[0]!.children[0]!;
    expect(group.many).toHaveLength(most);
    const open = grow(tree, [], new Set([group.id]));
    expect(open[0]!.children[0]!.children).toHaveLength(most);
  });

  it("orders by wave", () => {
    const roots = grow(undefined, [
      { kind: "A", name: "late", syncWave: 2, status: "Synced" },
      { kind: "B", name: "early", status: "Synced" },
    ], new Set());
    expect(roots.map((r) => r.node.name)).toEqual(["early", "late"]);
  });
});

describe("layOut", () => {
  it("gives every node a place of its own and parents the middle", () => {
    const picture = layOut(grow({ nodes: [web, set, ...pods(3)] }, [], new Set()), measure);
    const at = new Map(picture.placed.map((p) => [p.thing.node.name, p]));
    expect(at.get("web-1")!.y).toBe(at.get("web-1-1")!.y);
    expect(at.get("web")!.x).toBe(0);
    expect(at.get("web-1-0")!.x).toBe(220);
    expect(new Set(picture.placed.map((p) => `${p.x}/${p.y}`)).size).toBe(picture.placed.length);
    expect(picture.height).toBe(3 * 24 - 4);
    expect(picture.edges).toHaveLength(4);
  });

  it("takes fourteen thousand without breath", () => {
    const tree: Tree = { nodes: Array.from({ length: 14_000 }, (_, i) => node("ConfigMap", `c${i}`)) };
    const began = performance.now();
    expect(layOut(grow(tree, [], new Set()), measure).placed).toHaveLength(14_000);
    expect(performance.now() - began).toBeLessThan(3000);
  });
});

it("puts pods below who made them, not below who sends them traffic", () => {
  const pod: Node = { ...node("Pod", "p"), parentRefs: [{ kind: "Service", name: "web", namespace: "shop" }, { kind: "ReplicaSet", name: "web-1", namespace: "shop" }] };
  const roots = grow({ nodes: [node("Service", "web"), web, set, pod] }, [], new Set());
  expect(roots.find((r) => r.node.kind === "Service")!.children).toEqual([]);
  expect(roots[0]!.children[0]!.children[0]!.node.name).toBe("p");
});

it("shortens names in the middle", () => {
  expect(middle("web-79d4d64df8-7nqtw", 12)).toBe("web-79d…nqtw");
  expect(middle("web", 12)).toBe("web");
});

describe("keys", () => {
  it("come back as they were", () => {
    const key = { group: "apps", kind: "Deployment", namespace: "shop", name: "web" };
    expect(parseKey(keyOf(key))).toEqual(key);
    expect(parseKey(keyOf({ kind: "Namespace", name: "shop" }))).toEqual({ kind: "Namespace", name: "shop" });
    expect(parseKey("nonsense")).toBeUndefined();
  });
});

it("knows the worst", () => {
  expect(worstHealth(["Healthy", "Degraded", "Progressing"])).toBe("Degraded");
  expect(worstHealth([undefined])).toBeUndefined();
});

it("puts the objects of an application below it, with names of their own", () => {
  const child: Node = { group: "argoproj.io", kind: "Application", name: "web", namespace: "argocd" };
  const things = grow({ nodes: [child] }, [{ group: "argoproj.io", kind: "Application", namespace: "argocd", name: "web", status: "Synced" }], new Set());
  const app = { metadata: { namespace: "argocd", name: "web" }, status: { resources: [{ kind: "Deployment", namespace: "shop", name: "web", status: "Synced" as const }] } };
  const [top] = planted(things, new Map([["argocd/web", { app, tree: { nodes: [web, set] } }]]), new Set());
  expect(top?.children.map((c) => [c.id, c.of?.name])).toEqual([[`${keyOf(child)}>${keyOf(web)}`, "web"]]);
  expect(top?.children[0]?.children.map((c) => c.node.kind)).toEqual(["ReplicaSet"]);
  expect(things[0]?.children).toEqual([]);
});
