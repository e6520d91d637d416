import { ask } from "./client";

export interface Settings {
  url?: string;
  userLoginsDisabled?: boolean;
  oidcConfig?: { name?: string };
  dexConfig?: { connectors?: { name: string; type: string }[] };
  uiBannerContent?: string;
  uiBannerURL?: string;
  help?: { chatUrl?: string; chatText?: string };
}

export interface UserInfo {
  loggedIn: boolean;
  username?: string;
  iss?: string;
  groups?: string[];
}

export const settings = () => ask<Settings>("api/v1/settings");
export const whoAmI = () => ask<UserInfo>("api/v1/session/userinfo");
export const version = () => ask<{ Version: string }>("api/version");
export const signIn = (username: string, password: string) =>
  ask<unknown>("api/v1/session", {}, { method: "POST", body: { username, password } });
export const signOut = () => ask<unknown>("api/v1/session", {}, { method: "DELETE" });
