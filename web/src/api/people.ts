import { ask } from "./client";

export interface Settings {
  url?: string;
  userLoginsDisabled?: boolean;
  oidcConfig?: { name?: string; issuer?: string; clientID?: string; scopes?: string[] };
  dexConfig?: { connectors?: { name: string; type: string }[] };
  uiBannerContent?: string;
  uiBannerURL?: string;
  help?: { chatUrl?: string; chatText?: string };
  appLabelKey?: string;
  trackingMethod?: string;
  installationID?: string;
  controllerNamespace?: string;
  appsInAnyNamespaceEnabled?: boolean;
  impersonationEnabled?: boolean;
  kustomizeOptions?: { buildOptions?: string };
  passwordPattern?: string;
}

export interface UserInfo {
  loggedIn: boolean;
  username?: string;
  iss?: string;
  groups?: string[];
}

export interface Token {
  id: string;
  issuedAt: string;
  expiresAt?: string;
}

export interface Account {
  name: string;
  enabled: boolean;
  capabilities: string[];
  tokens: Token[];
}

/** Verdict is whether the caller may do something, and which line of the rules says so. */
export interface Verdict {
  value: "yes" | "no";
  line?: string;
  reason?: string;
}

export const settings = () => ask<Settings>("api/v1/settings");
export const plugins = async () => (await ask<{ plugins: { name: string }[] }>("api/v1/settings/plugins")).plugins;
export const whoAmI = () => ask<UserInfo>("api/v1/session/userinfo");
export const version = () => ask<Record<string, string | undefined>>("api/version");
export const signIn = (username: string, password: string) =>
  ask<unknown>("api/v1/session", {}, { method: "POST", body: { username, password } });
export const signOut = () => ask<unknown>("api/v1/session", {}, { method: "DELETE" });

export const accounts = async () => (await ask<{ items: Account[] }>("api/v1/account")).items;
export const setPassword = (name: string, currentPassword: string, newPassword: string) =>
  ask<unknown>("api/v1/account/password", {}, { method: "PUT", body: { name, currentPassword, newPassword } });
export const makeToken = async (name: string, id: string, expiresIn: number) =>
  (await ask<{ token: string }>(`api/v1/account/${encodeURIComponent(name)}/token`, {}, { method: "POST", body: { id, expiresIn } })).token;
export const dropToken = (name: string, id: string) =>
  ask<unknown>(`api/v1/account/${encodeURIComponent(name)}/token/${encodeURIComponent(id)}`, {}, { method: "DELETE" });

/** canI asks the rules; the object keeps its slashes, and an action such as update/apps/… has its own escaped. */
export const canI = (resource: string, action: string, object: string) =>
  ask<Verdict>(`api/v1/account/can-i/${encodeURIComponent(resource)}/${encodeURIComponent(action)}/${object.split("/").map(encodeURIComponent).join("/")}`);
