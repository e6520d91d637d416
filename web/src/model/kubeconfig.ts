// A kubeconfig into the clusters that it leads to. Pure.

import type { NewCluster } from "../api/clusters";

/** Way is a context of a kubeconfig: a cluster and how to sign in there, or why it cannot be used here. */
export interface Way {
  context: string;
  cluster: NewCluster;
  problem?: string;
}

interface Named {
  name?: string;
  cluster?: Record<string, unknown>;
  context?: { cluster?: string; user?: string };
  user?: Record<string, unknown>;
}

const text = (v: unknown) => (typeof v === "string" ? v : "");
const list = (v: unknown) => (Array.isArray(v) ? (v as Named[]) : []);

export function waysOf(config: Record<string, unknown>): Way[] {
  return list(config["contexts"]).map((c): Way => {
    const at = list(config["clusters"]).find((x) => x.name === c.context?.cluster)?.cluster ?? {};
    const who = list(config["users"]).find((x) => x.name === c.context?.user)?.user ?? {};
    const tls: NewCluster["config"]["tlsClientConfig"] = { insecure: at["insecure-skip-tls-verify"] === true };
    if (text(at["certificate-authority-data"])) tls.caData = text(at["certificate-authority-data"]);
    if (text(at["tls-server-name"])) tls.serverName = text(at["tls-server-name"]);
    if (text(who["client-certificate-data"])) tls.certData = text(who["client-certificate-data"]);
    if (text(who["client-key-data"])) tls.keyData = text(who["client-key-data"]);
    const cluster: NewCluster = { server: text(at["server"]), name: c.name ?? "", config: { tlsClientConfig: tls } };
    if (text(who["token"])) cluster.config.bearerToken = text(who["token"]);
    const problem = problemOf(at, who, cluster);
    return { context: c.name ?? "", cluster, ...(problem ? { problem } : {}) };
  });
}

/** problemOf says what of a context is on the machine that it was written on, and so is of no use to the server. */
function problemOf(at: Record<string, unknown>, who: Record<string, unknown>, c: NewCluster): string | undefined {
  if (!c.server) return "It names no server.";
  for (const [from, field] of [[at, "certificate-authority"], [who, "client-certificate"], [who, "client-key"], [who, "tokenFile"]] as const) {
    if (text(from[field])) return `${field} is a file on your machine. Use kubectl config view --flatten --raw.`;
  }
  if (who["exec"] || who["auth-provider"]) return "It signs in by a program on your machine. towline cluster add makes an account for the server instead.";
  if (!c.config.bearerToken && !c.config.tlsClientConfig.certData) return "It has neither a token nor a certificate to sign in with.";
  return undefined;
}
