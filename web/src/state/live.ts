import { address } from "../api/client";
import type { Row, Tree } from "../api/types";
import { Store } from "./store";

/** Change is what the stream told of an application. */
export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED";
  application: Row;
}

/** Link is how it is with the stream. */
export type Link = "idle" | "connecting" | "open" | "lost";

export const link = new Store<Link>("idle");

type TreeListener = (tree: Tree) => void;

const changes = new Set<(change: Change) => void>();
const resets = new Set<() => void>();
const topics = new Set<(topic: string) => void>();
/** heard are the kinds of things besides applications that pages show. */
const heard = ["applicationsets", "projects", "clusters", "repositories"];
const trees = new Map<string, Set<TreeListener>>();
let source: EventSource | undefined;
let last = "";
let wanted = false;
let openedAt = Infinity;
let retry = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let doubted: () => void = () => {};

/** onDoubt is called when the stream was refused: perhaps the session is over. */
export function onDoubt(f: () => void): void {
  doubted = f;
}

function open(): void {
  clearTimeout(timer);
  source?.close();
  if (!wanted) return;
  if (link.get() !== "lost") link.set("connecting");
  const s = new EventSource(address("api/v1/stream/events", { tree: [...trees.keys()], topic: heard, since: last }));
  source = s;
  openedAt = Infinity;
  s.onopen = () => {
    openedAt = performance.now();
    // Whatever happened while nobody listened has to be read.
    const missed = link.get() === "lost" && last === "";
    retry = 0;
    link.set("open");
    if (missed) for (const tell of resets) tell();
  };
  s.onerror = () => {
    link.set("lost");
    if (s.readyState !== EventSource.CLOSED) return;
    // Refused: the browser does not try again by itself.
    doubted();
    retry = Math.min(retry + 1, 6);
    timer = setTimeout(open, 500 * 2 ** retry);
  };
  s.addEventListener("application", (e) => {
    last = e.lastEventId || last;
    const change = JSON.parse(e.data as string) as Change;
    for (const tell of [...changes]) tell(change);
  });
  s.addEventListener("tree", (e) => {
    const { namespace, name, tree } = JSON.parse(e.data as string) as { namespace: string; name: string; tree: Tree };
    for (const tell of [...(trees.get(`${namespace}/${name}`) ?? [])]) tell(tree);
  });
  s.addEventListener("topic", (e) => {
    const { topic } = JSON.parse(e.data as string) as { topic: string };
    for (const tell of [...topics]) tell(topic);
  });
  s.addEventListener("reset", (e) => {
    last = e.lastEventId || "";
    for (const tell of [...resets]) tell();
  });
}

/** connect opens the one stream, and disconnect ends it. */
export function connect(): void {
  if (wanted) return;
  wanted = true;
  link.set("idle");
  open();
}

export function disconnect(): void {
  wanted = false;
  clearTimeout(timer);
  source?.close();
  source = undefined;
  last = "";
  link.set("idle");
}

/** begin says where a list ends that was asked for at a time. A stream that began later may have missed something. */
export function begin(cursor: string | undefined, askedAt: number): void {
  if (!cursor || last !== "") return;
  last = cursor;
  if (wanted && openedAt > askedAt) open();
}

export function onChange(tell: (change: Change) => void): () => void {
  changes.add(tell);
  return () => changes.delete(tell);
}

/** onTopic is told that something of a kind changed; what it is has to be asked for. */
export function onTopic(tell: (topic: string) => void): () => void {
  topics.add(tell);
  return () => topics.delete(tell);
}

export function onReset(tell: () => void): () => void {
  resets.add(tell);
  return () => resets.delete(tell);
}

/** watchTree has the tree of an application told. The stream is opened anew for it, where it was. */
export function watchTree(namespace: string, name: string, tell: TreeListener): () => void {
  const key = `${namespace}/${name}`;
  const set = trees.get(key) ?? new Set();
  set.add(tell);
  trees.set(key, set);
  if (set.size === 1) open();
  return () => {
    set.delete(tell);
    if (set.size > 0) return;
    trees.delete(key);
    // What is not needed any more goes with the next opening; a stream that tells too much harms nobody.
  };
}
