// The resource tree of an application as a picture: a tidy tree from left to right, in time that grows with the number of
// nodes alone. Pure: values in, places out.

import type { Key, Node, ResourceStatus, Sync, Tree } from "../api/types";

/** keyOf names an object in links and maps. */
export const keyOf = (k: { group?: string | undefined; kind?: string | undefined; namespace?: string | undefined; name?: string | undefined }) =>
  [k.group ?? "", k.kind ?? "", k.namespace ?? "", k.name ?? ""].join("/");

export function parseKey(text: string): Key | undefined {
  const parts = text.split("/");
  const [group, kind, namespace, ...name] = parts;
  if (parts.length < 4 || !kind || name.join("/") === "") return undefined;
  const key: Key = { kind, name: name.join("/") };
  if (group) key.group = group;
  if (namespace) key.namespace = namespace;
  return key;
}

/** Thing is a node of the picture: an object, or many that are shown as one. */
export interface Thing {
  id: string;
  node: Node;
  /** sync is what the comparison says; only what Git has, or had, has one. */
  sync?: Sync;
  hook?: boolean;
  wave?: number;
  prune?: boolean;
  /** orphan says that it is in the namespace and belongs to no application. */
  orphan?: boolean;
  children: Thing[];
  /** many is how many objects stand behind it, where it is a group. */
  many?: Node[];
  /** of is the application that it belongs to, where that is another than the one that is looked at. */
  of?: { namespace: string; name: string };
}

/** Opened are the groups that somebody looks into. */
export interface Opened {
  has: (id: string) => boolean;
}

/** most is from how many siblings of a kind on they are shown as one. */
export const most = 8;

// One for all: making it takes longer than what it is made for.
const words = new Intl.Collator(undefined, { numeric: true });

const byName = (a: Thing, b: Thing) =>
  (a.wave ?? 0) - (b.wave ?? 0) || words.compare(a.node.kind, b.node.kind) || words.compare(a.node.name, b.node.name);

/** grow makes the tree of things: what Git has or had at the top, and below each what came from it. */
export function grow(tree: Tree | undefined, resources: readonly ResourceStatus[], opened: Opened, orphans = false): Thing[] {
  const things = new Map<string, Thing>();
  for (const node of tree?.nodes ?? []) things.set(keyOf(node), { id: keyOf(node), node, children: [] });
  for (const node of orphans ? (tree?.orphanedNodes ?? []) : []) things.set(keyOf(node), { id: keyOf(node), node, orphan: true, children: [] });
  for (const r of resources) {
    const id = keyOf(r);
    const known = things.get(id);
    const node: Node = known?.node ?? { kind: r.kind, name: r.name, ...(r.group ? { group: r.group } : {}), ...(r.namespace ? { namespace: r.namespace } : {}) };
    const thing: Thing = known ?? { id, node, children: [] };
    if (!known) {
      // Until the tree is there nobody knows what is missing.
      const health = r.health ?? (tree ? { status: "Missing" as const } : undefined);
      if (health) node.health = health;
      things.set(id, thing);
    }
    if (r.status) thing.sync = r.status;
    if (r.hook) thing.hook = true;
    if (r.syncWave) thing.wave = r.syncWave;
    if (r.requiresPruning) thing.prune = true;
  }
  const roots: Thing[] = [];
  for (const thing of things.values()) {
    const parent = parentOf(thing, things);
    if (parent) parent.children.push(thing);
    else roots.push(thing);
  }
  const all = roots.sort(byName);
  for (const t of things.values()) t.children = gather(t.children.sort(byName), t.id, opened);
  return all;
}

/** planted puts the objects of applications below them, where they stand in a tree. Nothing is changed in place. */
export function planted(
  things: readonly Thing[],
  children: ReadonlyMap<string, { app: { metadata: { namespace: string; name: string }; status: { resources?: ResourceStatus[] } }; tree: Tree }>,
  opened: Opened,
): Thing[] {
  return things.map((t) => {
    const child = t.node.kind === "Application" ? children.get(`${t.node.namespace ?? ""}/${t.node.name}`) : undefined;
    const below = planted(t.children, children, opened);
    if (!child) return below.some((b, i) => b !== t.children[i]) ? { ...t, children: below } : t;
    const { namespace, name } = child.app.metadata;
    const own = grow(child.tree, child.app.status.resources ?? [], { has: (id) => opened.has(`${t.id}>${id}`) || opened.has(id) });
    return { ...t, children: [...below, ...marked(own, t.id, { namespace, name })] };
  });
}

/** marked gives things of another application names that no others have. */
function marked(things: readonly Thing[], below: string, of: NonNullable<Thing["of"]>): Thing[] {
  return things.map((t) => ({ ...t, id: `${below}>${t.id}`, of, children: marked(t.children, below, of) }));
}

function parentOf(thing: Thing, things: ReadonlyMap<string, Thing>): Thing | undefined {
  if (thing.sync) return undefined;
  const refs = thing.node.parentRefs ?? [];
  // Who made it comes before who sends it traffic.
  for (const ref of [...refs.filter((r) => !senders.has(r.kind ?? "")), ...refs]) {
    const parent = things.get(keyOf(ref));
    if (parent && parent !== thing) return parent;
  }
  return undefined;
}

const senders = new Set(["Service", "Ingress", "HTTPRoute", "Gateway", "NetworkPolicy", "PodDisruptionBudget", "HorizontalPodAutoscaler"]);

/** middle shortens a name where names of one family are alike: in the middle. */
export function middle(name: string, most: number): string {
  if (name.length <= most) return name;
  const tail = Math.floor((most - 1) * 0.45);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(-tail)}`;
}

/** gather puts many siblings of one kind into one, unless somebody opened it. */
function gather(list: Thing[], parent: string, opened: Opened): Thing[] {
  const kinds = new Map<string, Thing[]>();
  for (const t of list) {
    const kind = `${t.node.group ?? ""}/${t.node.kind}`;
    const same = kinds.get(kind);
    if (same) same.push(t);
    else kinds.set(kind, [t]);
  }
  const out: Thing[] = [];
  for (const [kind, same] of kinds) {
    const id = `${parent}>${kind}`;
    if (same.length < most || opened.has(id)) {
      out.push(...same);
      continue;
    }
    const first = same[0]!.node;
    const node: Node = { kind: first.kind, name: `${same.length} × ${first.kind}`, ...(first.group ? { group: first.group } : {}) };
    const health = worstHealth(same.map((s) => s.node.health?.status));
    if (health) node.health = { status: health };
    out.push({ id, node, children: [], many: same.map((s) => s.node) });
  }
  return out;
}

const order = ["Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"] as const;

export function worstHealth(list: readonly (string | undefined)[]): (typeof order)[number] | undefined {
  let worst = -1;
  for (const h of list) worst = Math.max(worst, order.indexOf(h as (typeof order)[number]));
  return order[worst];
}

export interface Placed {
  thing: Thing;
  x: number;
  y: number;
  depth: number;
  parent?: string;
}

export interface Picture {
  placed: Placed[];
  edges: { from: Placed; to: Placed }[];
  width: number;
  height: number;
}

export interface Measure {
  width: number;
  height: number;
  gapX: number;
  gapY: number;
}

/** layOut places leaves one below the other, and each parent beside the middle of its children. */
export function layOut(roots: readonly Thing[], m: Measure): Picture {
  const placed: Placed[] = [];
  const edges: Picture["edges"] = [];
  let row = 0;
  let deepest = 0;
  const visit = (thing: Thing, depth: number, parent?: string): Placed => {
    deepest = Math.max(deepest, depth);
    const at: Placed = { thing, x: depth * (m.width + m.gapX), y: 0, depth, ...(parent ? { parent } : {}) };
    placed.push(at);
    if (thing.children.length === 0) {
      at.y = row++ * (m.height + m.gapY);
      return at;
    }
    const below = thing.children.map((c) => visit(c, depth + 1, thing.id));
    at.y = (below[0]!.y + below[below.length - 1]!.y) / 2;
    for (const to of below) edges.push({ from: at, to });
    return at;
  };
  for (const r of roots) visit(r, 0);
  return {
    placed,
    edges,
    width: roots.length > 0 ? (deepest + 1) * (m.width + m.gapX) - m.gapX : 0,
    height: Math.max(row * (m.height + m.gapY) - m.gapY, 0),
  };
}
