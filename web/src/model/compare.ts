// Two renders of an application, object by object. Pure.

import { tidy, toYAML } from "./yaml";

export interface Compared {
  name: string;
  fate: "added" | "removed" | "changed";
  before: string;
  after: string;
}

interface Named {
  kind?: string;
  metadata?: { name?: string; namespace?: string };
}

function byName(manifests: readonly string[]): Map<string, string> {
  const out = new Map<string, string>();
  for (const text of manifests) {
    const object = tidy(text, true);
    if (!object) continue;
    const { kind = "", metadata } = object as Named;
    out.set(`${kind} ${metadata?.namespace ? `${metadata.namespace}/` : ""}${metadata?.name ?? ""}`, toYAML(object));
  }
  return out;
}

/** compared are the objects that differ, in the order of their names. */
export function compared(before: readonly string[], after: readonly string[]): Compared[] {
  const [a, b] = [byName(before), byName(after)];
  const out: Compared[] = [];
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    const [was, is] = [a.get(name), b.get(name)];
    if (was === is) continue;
    out.push({ name, fate: was === undefined ? "added" : is === undefined ? "removed" : "changed", before: was ?? "", after: is ?? "" });
  }
  return out.sort((x, y) => x.name.localeCompare(y.name));
}
