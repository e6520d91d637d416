import { ask, lines, type Query } from "./client";
import type {
  Application,
  AppWindows,
  ClusterEvent,
  Commit,
  Episode,
  Explanation,
  Key,
  Link,
  LogLine,
  Managed,
  ObjectAction,
  Page,
  Plan,
  SyncWish,
  Timeline,
  Tree,
  Why,
} from "./types";

/** Name is what an application is called: its namespace may be left open, and is the server's own then. */
export interface Name {
  namespace: string;
  name: string;
}

const at = (app: Name, rest = "") => `api/v1/applications/${encodeURIComponent(app.name)}${rest}`;
const place = (app: Name): Query => ({ appNamespace: app.namespace });
const object = (app: Name, k: Key): Query => ({
  ...place(app),
  group: k.group,
  kind: k.kind,
  namespace: k.namespace,
  resourceName: k.name,
});

export const list = (query: Query, signal?: AbortSignal) => ask<Page>("api/v1/applications", query, { signal });
export const get = (app: Name, refresh?: "normal" | "hard") => ask<Application>(at(app), { ...place(app), refresh });
export const plan = (app: Name, revision?: string) => ask<Plan>(at(app, "/plan"), { ...place(app), revision });
export const explain = (app: Name) => ask<Explanation>(at(app, "/explain"), place(app));
export const timeline = (app: Name) => ask<Timeline>(at(app, "/timeline"), place(app));
export const why = (app: Name, action: string) => ask<Why>(at(app, "/why"), { ...place(app), action });
export const drift = async (app: Name) => (await ask<{ items: Episode[] }>(at(app, "/drift"), place(app))).items;

export const commit = (app: Name, revision: string, source = 0) =>
  ask<Commit>(at(app, `/revisions/${encodeURIComponent(revision)}/metadata`), { ...place(app), sourceIndex: source });

export const managed = async (app: Name, k: Key) =>
  (await ask<{ items: Managed[] }>(at(app, "/managed-resources"), object(app, k))).items;

export const live = async (app: Name, k: Key, version?: string) =>
  (await ask<{ manifest: string }>(at(app, "/resource"), { ...object(app, k), version })).manifest;

export const events = async (app: Name, k?: Key, uid?: string) => {
  const about: Query = k ? { resourceName: k.name, resourceNamespace: k.namespace, resourceUID: uid } : {};
  return (await ask<{ items: ClusterEvent[] }>(at(app, "/events"), { ...place(app), ...about })).items;
};

export const sync = (app: Name, wish: SyncWish) =>
  ask<Application>(at(app, "/sync"), {}, { method: "POST", body: { ...wish, appNamespace: app.namespace } });

export const rollback = (app: Name, id: number, prune: boolean) =>
  ask<Application>(at(app, "/rollback"), {}, { method: "POST", body: { id, prune, appNamespace: app.namespace } });

export const terminate = (app: Name) => ask<unknown>(at(app, "/operation"), place(app), { method: "DELETE" });

export const remove = (app: Name, cascade: boolean) =>
  ask<unknown>(at(app), { ...place(app), cascade: String(cascade) }, { method: "DELETE" });

/** create makes an application; with dryRun it is only asked whether it could be. */
export const create = (app: unknown, dryRun = false) =>
  ask<Application>("api/v1/applications", { dryRun }, { method: "POST", body: app });

/** update makes an application what is sent; whoever was quicker is told of by an error. */
export const update = (app: Name, next: unknown, dryRun = false) =>
  ask<Application>(at(app), { ...place(app), dryRun }, { method: "PUT", body: next });

export const tree = (app: Name) => ask<Tree>(at(app, "/resource-tree"), place(app));
export const links = async (app: Name) => (await ask<{ items: Link[] | null }>(at(app, "/links"), place(app))).items ?? [];
export const windows = (app: Name) => ask<AppWindows>(at(app, "/syncwindows"), place(app));
export const manifests = async (app: Name, revision: string) =>
  (await ask<{ manifests: string[] }>(at(app, "/manifests"), { ...place(app), revision })).manifests;

export const objectLinks = async (app: Name, k: Key) => (await ask<{ items: Link[] | null }>(at(app, "/resource/links"), object(app, k))).items ?? [];
export const actions = async (app: Name, k: Key) =>
  (await ask<{ actions: ObjectAction[] | null }>(at(app, "/resource/actions"), object(app, k))).actions ?? [];

export const act = (app: Name, k: Key, action: string, parameters: Record<string, string>) =>
  ask<unknown>(at(app, "/resource/actions/v2"), {}, {
    method: "POST",
    body: {
      appNamespace: app.namespace,
      group: k.group,
      kind: k.kind,
      namespace: k.namespace,
      resourceName: k.name,
      action,
      resourceActionParameters: Object.entries(parameters).map(([name, value]) => ({ name, value })),
    },
  });

export const removeObject = (app: Name, k: Key, how: "foreground" | "force" | "orphan") =>
  ask<unknown>(at(app, "/resource"), { ...object(app, k), force: how === "force", orphan: how === "orphan" }, { method: "DELETE" });

export const patchObject = (app: Name, k: Key, change: unknown) =>
  ask<unknown>(at(app, "/resource"), { ...object(app, k), patchType: "application/merge-patch+json" }, { method: "POST", body: JSON.stringify(change) });

export const patch = (app: Name, change: unknown) =>
  ask<Application>(at(app), {}, {
    method: "PATCH",
    body: { patch: JSON.stringify(change), patchType: "merge", appNamespace: app.namespace },
  });

/** approveDeletion is the word that objects wait for which are not deleted without. */
export const approveDeletion = (app: Name, now: Date) =>
  patch(app, { metadata: { annotations: { "argocd.argoproj.io/deletion-approved": now.toISOString().replace(/\.\d+Z$/, "Z") } } });

export interface LogWish {
  group?: string | undefined;
  kind?: string | undefined;
  namespace?: string | undefined;
  resourceName?: string | undefined;
  podName?: string | undefined;
  container?: string | undefined;
  follow: boolean;
  tailLines: number;
  filter?: string | undefined;
  previous?: boolean | undefined;
  matchCase?: boolean | undefined;
  sinceSeconds?: number | undefined;
}

export const logs = (app: Name, wish: LogWish, signal: AbortSignal, tell: (line: LogLine) => void) =>
  lines<LogLine>(at(app, "/logs"), { ...place(app), ...wish }, signal, tell);
