import { ask, type Query } from "./client";
import type { Application, HealthStatus, Meta, Node, ResourceStatus } from "./types";

/** ApplicationSet makes applications of a template and what its generators find. */
export interface ApplicationSet {
  metadata: Meta;
  spec: {
    goTemplate?: boolean;
    generators?: Record<string, unknown>[];
    template?: { metadata?: { name?: string }; spec?: { project?: string } };
    syncPolicy?: { preserveResourcesOnDeletion?: boolean; applicationsSync?: string };
    strategy?: { type?: string; rollingSync?: { steps?: unknown[] } };
  };
  status?: {
    conditions?: { type: string; status: string; message?: string; reason?: string; lastTransitionTime?: string }[];
    applicationStatus?: { application: string; status: string; message?: string; step?: string }[];
    resources?: ResourceStatus[];
    resourcesCount?: number;
    health?: HealthStatus;
  };
}

export interface Generated {
  applications: Application[];
  problems?: string[];
}

const at = (name: string, rest = "") => `api/v1/applicationsets/${encodeURIComponent(name)}${rest}`;
const place = (namespace: string): Query => ({ appsetNamespace: namespace });

export const list = async () => (await ask<{ items: ApplicationSet[] }>("api/v1/applicationsets")).items;
export const get = (namespace: string, name: string) => ask<ApplicationSet>(at(name), place(namespace));
export const tree = async (namespace: string, name: string) => (await ask<{ nodes: Node[] }>(at(name, "/resource-tree"), place(namespace))).nodes;
export const remove = (namespace: string, name: string) => ask<unknown>(at(name), place(namespace), { method: "DELETE" });

/** generate says which applications a set would stand for; nothing is written. */
export const generate = (set: Pick<ApplicationSet, "metadata" | "spec">) =>
  ask<Generated>("api/v1/applicationsets/generate", {}, { method: "POST", body: { applicationSet: set } });

/** put makes a set, or changes one that is there. */
export const put = (set: unknown, { upsert = false, dryRun = false } = {}) =>
  ask<ApplicationSet>("api/v1/applicationsets", { upsert, dryRun }, { method: "POST", body: set });
