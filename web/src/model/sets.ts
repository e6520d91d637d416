// What is said of ApplicationSets. Pure.

import type { Application } from "../api/types";

/** generatorWords are the kinds of the generators of a set, those within a matrix or a merge too. */
export function generatorWords(generators: readonly Record<string, unknown>[] | undefined): string[] {
  const out: string[] = [];
  for (const g of generators ?? []) {
    for (const [kind, value] of Object.entries(g)) {
      if (kind === "selector" || value === undefined || value === null) continue;
      const inner = (value as { generators?: Record<string, unknown>[] }).generators;
      out.push(inner ? `${kind} of ${generatorWords(inner).join(" and ")}` : kind);
    }
  }
  return out;
}

export type Fate = "new" | "changed" | "same" | "gone";

export interface Preview {
  name: string;
  fate: Fate;
  app?: Application;
}

type Known = Pick<Application, "metadata" | "spec">;

/** preview holds what a set would make against what there is. What is not known of now counts as the same. */
export function preview(now: readonly Known[], next: readonly Application[]): Preview[] {
  const before = new Map(now.map((a) => [a.metadata.name, a]));
  const out: Preview[] = next.map((app) => {
    const old = before.get(app.metadata.name);
    before.delete(app.metadata.name);
    if (!old) return { name: app.metadata.name, fate: "new", app };
    return { name: app.metadata.name, fate: alike(old, app) ? "same" : "changed", app };
  });
  for (const name of before.keys()) out.push({ name, fate: "gone" });
  const order: Fate[] = ["gone", "changed", "new", "same"];
  return out.sort((a, b) => order.indexOf(a.fate) - order.indexOf(b.fate) || a.name.localeCompare(b.name));
}

/** alike compares what lists know of an application: its project, where from and where to. */
function alike(a: Known, b: Known): boolean {
  const brief = (x: Known) =>
    JSON.stringify([
      x.spec.project,
      x.spec.destination.server ?? "",
      x.spec.destination.name ?? "",
      x.spec.destination.namespace ?? "",
      (x.spec.sources ?? (x.spec.source ? [x.spec.source] : [])).map((s) => [s.repoURL, s.path ?? "", s.chart ?? "", s.targetRevision ?? ""]),
    ]);
  return brief(a) === brief(b);
}
