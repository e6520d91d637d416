import { ask } from "./client";
import type { Connection } from "./clusters";

export interface Repository {
  repo: string;
  type?: string;
  name?: string;
  project?: string;
  insecure?: boolean;
  enableLfs?: boolean;
  enableOCI?: boolean;
  inheritedCreds?: boolean;
  proxy?: string;
  connectionState?: Connection;
}

/** Credentials are for all repositories below a URL. */
export interface Credentials {
  url: string;
  type?: string;
}

/** NewRepository is an entry with its login, which is sent and never told. */
export interface NewRepository {
  repo?: string;
  url?: string;
  type: string;
  name?: string;
  project?: string;
  username?: string;
  password?: string;
  bearerToken?: string;
  sshPrivateKey?: string;
  insecure?: boolean;
  enableLfs?: boolean;
  enableOCI?: boolean;
  githubAppID?: string;
  githubAppInstallationID?: string;
  githubAppPrivateKey?: string;
}

export interface Certificate {
  serverName: string;
  certType: string;
  certSubType?: string;
  certInfo?: string;
}

export interface SigningKey {
  keyID: string;
  fingerprint?: string;
  owner?: string;
  subType?: string;
}

const at = (url: string, rest = "") => `api/v1/repositories/${encodeURIComponent(url)}${rest}`;

export const list = async () => (await ask<{ items: Repository[] | null }>("api/v1/repositories")).items ?? [];
export const credentials = async () => (await ask<{ items: Credentials[] | null }>("api/v1/repocreds")).items ?? [];
export const create = (r: NewRepository) => ask<Repository>("api/v1/repositories", {}, { method: "POST", body: r });
export const createCredentials = (r: NewRepository) => ask<Credentials>("api/v1/repocreds", {}, { method: "POST", body: r });
export const remove = (r: Repository) => ask<unknown>(at(r.repo), { appProject: r.project }, { method: "DELETE" });
export const removeCredentials = (c: Credentials) => ask<unknown>(`api/v1/repocreds/${encodeURIComponent(c.url)}`, {}, { method: "DELETE" });

/** test signs in, with the login that is stored if none is sent, and writes nothing down. */
export const test = (r: NewRepository & { repo: string }) => ask<unknown>(at(r.repo, "/validate"), {}, { method: "POST", body: r });

export const refs = (url: string, project: string) => ask<{ branches?: string[]; tags?: string[] }>(at(url, "/refs"), { appProject: project });
export const folders = async (url: string, revision: string, project: string) =>
  (await ask<{ items: { type: string; path: string }[] }>(at(url, "/apps"), { revision, appProject: project })).items;

export const certificates = async () => (await ask<{ items: Certificate[] | null }>("api/v1/certificates")).items ?? [];
export const signingKeys = async () => (await ask<{ items: SigningKey[] | null }>("api/v1/gpgkeys")).items ?? [];
