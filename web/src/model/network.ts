// Who sends traffic to whom: ingresses and routes to services, services to pods. Pure.

import type { Node, Tree } from "../api/types";
import { keyOf, type Thing } from "./graph";

const labelled = (labels: Record<string, string> | undefined, wanted: Record<string, string>) => Object.entries(wanted).every(([k, v]) => labels?.[k] === v);

/** network is a forest: what takes traffic from outside at the left, what it ends at on the right. Pods of many services stand below each. */
export function network(tree: Tree | undefined): Thing[] {
  const nodes = tree?.nodes ?? [];
  const byKey = new Map(nodes.map((n) => [keyOf(n), n]));
  const pods = nodes.filter((n) => n.kind === "Pod" && !n.group);
  const services = nodes.filter((n) => n.kind === "Service" && !n.group);
  const entries = nodes.filter((n) => n.kind === "Ingress" || n.kind === "HTTPRoute" || n.kind === "GRPCRoute");
  const reached = new Set<string>();
  const serviceThing = (s: Node, below: string): Thing => {
    reached.add(keyOf(s));
    const wanted = s.networkingInfo?.targetLabels;
    const ends = wanted && Object.keys(wanted).length > 0 ? pods.filter((p) => p.namespace === s.namespace && labelled(p.networkingInfo?.labels, wanted)) : [];
    const id = below ? `${below}>${keyOf(s)}` : keyOf(s);
    return { id, node: s, children: ends.map((p) => ({ id: `${id}>${keyOf(p)}`, node: p, children: [] })) };
  };
  const out: Thing[] = entries.map((e) => {
    const named = (e.networkingInfo?.targetRefs ?? []).map((r) => byKey.get(keyOf(r))).filter((n) => n !== undefined);
    // What points at a service without saying so in its rules is found by who is whose parent.
    const below = services.filter((s) => s.parentRefs?.some((p) => keyOf(p) === keyOf(e)));
    const targets = [...new Set([...named, ...below])];
    return { id: keyOf(e), node: e, children: targets.map((s) => serviceThing(s, keyOf(e))) };
  });
  for (const s of services) if (!reached.has(keyOf(s))) out.push(serviceThing(s, ""));
  return out;
}
