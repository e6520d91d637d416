import { ask } from "./client";
import type { ClusterEvent, Destination, Meta } from "./types";

export interface Window {
  kind?: string;
  schedule?: string;
  duration?: string;
  timeZone?: string;
  applications?: string[];
  namespaces?: string[];
  clusters?: string[];
  manualSync?: boolean;
  description?: string;
}

export interface Role {
  name: string;
  description?: string;
  policies?: string[];
  groups?: string[];
}

export interface GroupKind {
  group: string;
  kind: string;
  name?: string;
}

export interface RoleToken {
  id?: string;
  iat: number;
  exp?: number;
}

export interface Project {
  metadata: Meta;
  spec: {
    description?: string;
    sourceRepos?: string[];
    sourceNamespaces?: string[];
    destinations?: Destination[];
    clusterResourceWhitelist?: GroupKind[];
    clusterResourceBlacklist?: GroupKind[];
    namespaceResourceWhitelist?: GroupKind[];
    namespaceResourceBlacklist?: GroupKind[];
    roles?: Role[];
    syncWindows?: Window[];
    orphanedResources?: { warn?: boolean };
    signatureKeys?: { keyID: string }[];
    permitOnlyProjectScopedClusters?: boolean;
    destinationServiceAccounts?: { server: string; namespace?: string; defaultServiceAccount: string }[];
  };
  status?: { jwtTokensByRole?: Record<string, { items?: RoleToken[] }> };
}

const at = (name: string, rest = "") => `api/v1/projects/${encodeURIComponent(name)}${rest}`;

export const list = async () => (await ask<{ items: Project[] }>("api/v1/projects")).items;
export const get = (name: string) => ask<Project>(at(name));
export const openWindows = async (name: string) => (await ask<{ windows: Window[] }>(at(name, "/syncwindows"))).windows;
export const globals = async (name: string) => (await ask<{ items: Project[] }>(at(name, "/globalprojects"))).items;
export const create = (project: unknown) => ask<Project>("api/v1/projects", {}, { method: "POST", body: { project } });
export const update = (name: string, project: unknown) => ask<Project>(at(name), {}, { method: "PUT", body: { project } });
export const events = async (name: string) => (await ask<{ items: ClusterEvent[] }>(at(name, "/events"))).items;
export const remove = (name: string) => ask<unknown>(at(name), {}, { method: "DELETE" });

export const makeToken = async (name: string, role: string, expiresIn: number) =>
  (await ask<{ token: string }>(at(name, `/roles/${encodeURIComponent(role)}/token`), {}, { method: "POST", body: { expiresIn } })).token;
export const dropToken = (name: string, role: string, t: RoleToken) =>
  ask<unknown>(at(name, `/roles/${encodeURIComponent(role)}/token/${t.iat}`), { id: t.id }, { method: "DELETE" });
