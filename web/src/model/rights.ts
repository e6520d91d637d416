// What the rules of an installation are about. Pure.

import type { Name } from "../api/applications";

const actions: Record<string, string[]> = {
  applications: ["get", "create", "update", "delete", "sync", "rollback", "override", "update/*", "delete/*", "action/*"],
  applicationsets: ["get", "create", "update", "delete"],
  logs: ["get"],
  projects: ["get", "create", "update", "delete"],
  clusters: ["get", "create", "update", "delete"],
  repositories: ["get", "create", "update", "delete"],
  accounts: ["get", "update"],
  certificates: ["get", "create", "delete"],
  gpgkeys: ["get", "create", "delete"],
};

export const resources = Object.keys(actions);

export const actionsOf = (resource: string): string[] => actions[resource] ?? ["get"];

/** appOf is the application that rules call PROJECT/NAME, or PROJECT/NAMESPACE/NAME; patterns are none. */
export function appOf(object: string): Name | undefined {
  const parts = object.split("/");
  const name = parts[parts.length - 1];
  if (parts.length < 2 || parts.length > 3 || !name || /[*?[{]/.test(object)) return undefined;
  return { namespace: parts.length === 3 ? parts[1]! : "", name };
}
