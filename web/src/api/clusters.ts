import { ask, type Query } from "./client";

export interface Connection {
  status: "Successful" | "Failed" | "Unknown";
  message: string;
  attemptedAt?: string | null;
}

export interface Cluster {
  server: string;
  name: string;
  project?: string;
  namespaces?: string[];
  clusterResources?: boolean;
  serverVersion?: string;
  connectionState: Connection;
  config?: { tlsClientConfig?: { insecure?: boolean; serverName?: string } };
  info: {
    applicationsCount: number;
    apiVersions?: string[];
    cacheInfo: { resourcesCount?: number; apisCount?: number; lastCacheSyncTime?: string };
  };
}

/** NewCluster is a cluster with the way to sign in, which is sent and never told. */
export interface NewCluster {
  server: string;
  name: string;
  project?: string;
  namespaces?: string[];
  config: { bearerToken?: string; tlsClientConfig: { insecure: boolean; caData?: string; certData?: string; keyData?: string; serverName?: string } };
}

const at = (server: string, rest = "") => `api/v1/clusters/${encodeURIComponent(server)}${rest}`;

export const list = async (query: Query = {}) => (await ask<{ items: Cluster[] | null }>("api/v1/clusters", query)).items ?? [];
export const create = (cluster: NewCluster) => ask<Cluster>("api/v1/clusters", {}, { method: "POST", body: cluster });
export const remove = (server: string) => ask<unknown>(at(server), {}, { method: "DELETE" });
export const readAnew = (server: string) => ask<Cluster>(at(server, "/invalidate-cache"), {}, { method: "POST", body: {} });
