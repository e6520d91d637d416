import { ask } from "./client";
import type { Settings, UserInfo } from "./types";

export const settings = () => ask<Settings>("api/v1/settings");
export const whoAmI = () => ask<UserInfo>("api/v1/session/userinfo");
export const version = () => ask<{ Version: string }>("api/version");
export const signIn = (username: string, password: string) =>
  ask<unknown>("api/v1/session", {}, { method: "POST", body: { username, password } });
export const signOut = () => ask<unknown>("api/v1/session", {}, { method: "DELETE" });
