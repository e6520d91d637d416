import type { Application, Health, Row, Sync, Tree } from "../api/types";
import { span } from "./time";

/** Tone is what a colour means; it never stands alone. */
export type Tone = "good" | "busy" | "warn" | "bad" | "idle" | "none";

export const healthTone: Record<Health, Tone> = {
  Healthy: "good",
  Progressing: "busy",
  Degraded: "bad",
  Suspended: "idle",
  Missing: "warn",
  Unknown: "none",
};

export const syncTone: Record<Sync, Tone> = { Synced: "good", OutOfSync: "warn", Unknown: "none" };

export const healthOf = (a: { status: { health: { status?: Health } } }): Health => a.status.health.status ?? "Unknown";
export const syncOf = (a: { status: { sync: { status?: Sync } } }): Sync => a.status.sync.status ?? "Unknown";

/** toneOf is one colour for an application: health first, and what is well but not as Git says is drift. */
export function toneOf(a: { status: { health: { status?: Health }; sync: { status?: Sync } } }): Tone {
  const health = healthTone[healthOf(a)];
  if (health === "bad" || health === "busy") return health;
  if (syncOf(a) === "OutOfSync") return "warn";
  if (health === "good" && syncOf(a) === "Unknown") return "none";
  return health;
}

export const isAutomated = (a: Row | Application) => {
  const automated = a.spec.syncPolicy?.automated;
  return automated !== undefined && automated.enabled !== false;
};

export const runs = (a: Row | Application) => {
  const phase = a.status.operationState?.phase;
  return phase === "Running" || phase === "Terminating" || ("operation" in a && a.operation !== undefined);
};

export const sourcesOf = (a: Row | Application) => a.spec.sources ?? (a.spec.source ? [a.spec.source] : []);

export const shortRevision = (revision: string | undefined) =>
  revision && /^[0-9a-f]{40,64}$/.test(revision) ? revision.slice(0, 7) : (revision ?? "");

/** liveRevision is what was synced last. */
export const liveRevision = (a: Application) => {
  const history = a.status.history ?? [];
  const newest = history.reduce<(typeof history)[number] | undefined>((m, h) => (!m || h.id > m.id ? h : m), undefined);
  return newest?.revision ?? newest?.revisions?.[0];
};

const named = (k: { kind: string; name: string }) => `${k.kind}/${k.name}`;

function several(list: readonly { kind: string; name: string }[]): string {
  const rest = list.length - 1;
  return named(list[0]!) + (rest > 0 ? ` and ${rest} more` : "");
}

/** countOf is how many objects an application has. The status of one of very many lists only some, and says so. */
export function countOf(app: Application): number {
  const listed = app.status.resources?.length ?? 0;
  const said = app.status.conditions?.find((c) => c.type === "AbridgedWarning")?.message ?? "";
  return Math.max(listed, Number(/lists \d+ of (\d+) objects/.exec(said)?.[1] ?? 0));
}

/** sentence says in one sentence what is to be known of an application now, and how it is with it. */
export function sentence(app: Application, tree: Tree | undefined, now: number): { tone: Tone; text: string } {
  const error = (app.status.conditions ?? []).find((c) => c.type.endsWith("Error"));
  const resources = app.status.resources ?? [];
  const op = app.status.operationState;
  if (app.metadata.deletionTimestamp) return { tone: "busy", text: "It is being deleted." };
  if (op && runs(app)) {
    const since = span((now - Date.parse(op.startedAt)) / 1000);
    return { tone: "busy", text: `Syncing for ${since}${op.message ? `: ${op.message}` : ""}` };
  }
  const sick = cause(app, tree);
  if (sick) return sick;
  if (error) return { tone: "bad", text: "Something is in the way of comparing it with Git:" };
  if (op && (op.phase === "Failed" || op.phase === "Error")) return { tone: "bad", text: `The last sync failed: ${op.message ?? "no reason is known"}` };
  const missing = resources.filter((r) => r.health?.status === "Missing");
  const differ = resources.filter((r) => r.status === "OutOfSync");
  if (missing.length > 0 && missing.length === countOf(app)) return { tone: "warn", text: "Nothing of it is in the cluster yet." };
  if (differ.length > 0 && differ.every((r) => r.requiresPruning)) {
    return { tone: "warn", text: `${several(differ)} ${differ.length === 1 ? "is" : "are"} in the cluster, and no longer in Git.` };
  }
  if (differ.length > 0) {
    return { tone: "warn", text: `${several(differ)} ${differ.length === 1 ? "differs" : "differ"} from Git.` };
  }
  if (syncOf(app) === "Unknown") return { tone: "none", text: "It was not compared with Git yet." };
  if (healthOf(app) === "Suspended") return { tone: "idle", text: "It is as Git says, and a part of it is paused." };
  return { tone: healthTone[healthOf(app)], text: "It is as Git says, and well." };
}

/** awaited is what waits for somebody to confirm that it may be deleted. */
export function awaited(app: Application): string | undefined {
  const said = [app.status.operationState?.message ?? "", ...(app.status.conditions ?? []).map((c) => c.message)];
  for (const text of said) {
    const found = /waiting for a confirmation to (?:prune|delete) ([^;]+)/.exec(text);
    if (found && (runs(app) || app.metadata.deletionTimestamp)) return found[1];
  }
  return undefined;
}

/** cause is the object that makes an application ill, and what is wrong with it. */
function cause(app: Application, tree: Tree | undefined): { tone: Tone; text: string } | undefined {
  for (const [health, tone] of [["Degraded", "bad"], ["Progressing", "busy"]] as const) {
    const all = [...(app.status.resources ?? []), ...(tree?.nodes ?? [])].filter((n) => n.health?.status === health);
    // The one that says most: the deepest is listed last.
    const told = all.findLast((n) => n.health?.message) ?? all[0];
    if (told && healthOf(app) === health) {
      const message = told.health?.message;
      return { tone, text: `${named(told)} is ${health.toLowerCase()}${message ? `: ${message}` : "."}` };
    }
  }
  return undefined;
}
