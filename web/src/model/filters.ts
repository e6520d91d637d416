// What is shown of the fleet, as it stands in the address: the same link shows the same to everybody.

export const dimensions = ["health", "sync", "operation", "autosync", "project", "cluster", "namespace", "repo"] as const;
export type Dimension = (typeof dimensions)[number];

export const views = ["table", "tiles", "map"] as const;
export type View = (typeof views)[number];

export const sorts = ["name", "-health", "sync", "-lastSync", "-created"] as const;
export type Sort = (typeof sorts)[number];

export const groupings = ["project", "cluster", "namespace"] as const;

export interface Filters {
  search: string;
  view: View;
  sort: Sort;
  /** group is what the map is grouped by: one of groupings, or label:KEY. */
  group: string;
  picked: Partial<Record<Dimension, string[]>>;
  /** labels are terms of a selector: KEY=VALUE or KEY. */
  labels: string[];
}

export const noFilters: Filters = { search: "", view: "table", sort: "name", group: "project", picked: {}, labels: [] };

function oneOf<T extends string>(all: readonly T[], text: string | null, otherwise: T): T {
  return all.find((v) => v === text) ?? otherwise;
}

export function readFilters(params: URLSearchParams): Filters {
  const picked: Filters["picked"] = {};
  for (const d of dimensions) {
    const values = params.getAll(d).filter((v) => v !== "");
    if (values.length > 0) picked[d] = [...new Set(values)];
  }
  const group = params.get("group") ?? "";
  return {
    search: params.get("search") ?? "",
    view: oneOf(views, params.get("view"), noFilters.view),
    sort: oneOf(sorts, params.get("sort"), noFilters.sort),
    group: /^label:./.test(group) ? group : oneOf(groupings, group, "project"),
    picked,
    labels: params.getAll("label").filter((v) => v !== ""),
  };
}

/** writeFilters leaves out what is as usual, so that links stay short. */
export function writeFilters(f: Filters): URLSearchParams {
  const params = new URLSearchParams();
  if (f.search) params.set("search", f.search);
  if (f.view !== noFilters.view) params.set("view", f.view);
  if (f.sort !== noFilters.sort) params.set("sort", f.sort);
  if (f.group !== noFilters.group) params.set("group", f.group);
  for (const d of dimensions) for (const v of f.picked[d] ?? []) params.append(d, v);
  for (const l of f.labels) params.append("label", l);
  return params;
}

/** toggled picks a value, or no more. */
export function toggled(f: Filters, d: Dimension, value: string): Filters {
  const now = f.picked[d] ?? [];
  // The server is asked for one repository at a time.
  const next = now.includes(value) ? now.filter((v) => v !== value) : d === "repo" ? [value] : [...now, value];
  const picked = { ...f.picked };
  if (next.length > 0) picked[d] = next;
  else delete picked[d];
  return { ...f, picked };
}

export const howMany = (f: Filters) =>
  f.labels.length + dimensions.reduce((n, d) => n + (f.picked[d]?.length ?? 0), 0) + (f.search ? 1 : 0);

/** queryOf is what the server is asked. */
export function queryOf(f: Filters): Record<string, string | string[]> {
  const q: Record<string, string | string[]> = { sort: f.sort };
  if (f.search) q["search"] = f.search;
  for (const d of dimensions) {
    const values = f.picked[d];
    if (values) q[d === "project" ? "projects" : d] = d === "repo" ? values.slice(0, 1) : values;
  }
  if (f.labels.length > 0) q["selector"] = f.labels.join(",");
  return q;
}
