import { expect, test } from "vitest";
import type { Node, Tree } from "../api/types";
import { network } from "./network";
import { podGroups } from "./pods";

const node = (kind: string, name: string, more: Partial<Node> = {}): Node => ({ kind, name, namespace: "shop", ...more });
const pod = (name: string, on: string): Node =>
  node("Pod", name, {
    parentRefs: [{ kind: "Service", namespace: "shop", name: "web" }, { group: "apps", kind: "ReplicaSet", namespace: "shop", name: "web-1" }],
    info: [{ name: "Node", value: on }],
    networkingInfo: { labels: { app: "web" } },
  });

const tree: Tree = {
  nodes: [
    node("Deployment", "web", { group: "apps" }),
    node("ReplicaSet", "web-1", { group: "apps", parentRefs: [{ group: "apps", kind: "Deployment", namespace: "shop", name: "web" }] }),
    pod("web-1-a", "node-1"),
    pod("web-1-b", "node-2"),
    node("Pod", "alone"),
    node("Service", "web", { networkingInfo: { targetLabels: { app: "web" } } }),
    node("Service", "other", { networkingInfo: { targetLabels: { app: "none" } } }),
    node("Ingress", "front", { group: "networking.k8s.io", networkingInfo: { targetRefs: [{ kind: "Service", namespace: "shop", name: "web" }] } }),
  ],
};

const brief = (groups: ReturnType<typeof podGroups>) => groups.map((g) => `${g.kind} ${g.name}: ${g.pods.map((p) => p.name).join(" ")}`);

test("pods stand below who made them, not below who sends them traffic", () => {
  expect(brief(podGroups(tree, "parent"))).toEqual([" on their own: alone", "ReplicaSet web-1: web-1-a web-1-b"]);
  expect(brief(podGroups(tree, "top"))).toEqual([" on their own: alone", "Deployment web: web-1-a web-1-b"]);
  expect(brief(podGroups(tree, "node"))).toEqual(["Node node-1: web-1-a", "Node node-2: web-1-b", "Node not placed yet: alone"]);
  expect(podGroups(undefined, "node")).toEqual([]);
});

test("the way of traffic: from an ingress by a service to its pods", () => {
  const [front, other] = network(tree);
  expect(front?.node.name).toBe("front");
  expect(front?.children.map((s) => `${s.node.name}: ${s.children.map((p) => p.node.name).join(" ")}`)).toEqual(["web: web-1-a web-1-b"]);
  expect(other?.node.name).toBe("other");
  expect(other?.children).toEqual([]);
});
