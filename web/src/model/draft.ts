// An application as a form has it: fields of an object, read and written without losing what the form does not know. Pure.

export type Draft = Record<string, unknown>;

type Path = readonly (string | number)[];

/** at reads a value; what is not there is undefined. */
export function at(draft: unknown, path: Path): unknown {
  let here: unknown = draft;
  for (const step of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

export const textAt = (draft: unknown, path: Path): string => {
  const v = at(draft, path);
  return typeof v === "string" ? v : typeof v === "number" || typeof v === "boolean" ? String(v) : "";
};

/** put is a copy with a value set; an empty one takes the field away, and what is left empty by that. */
export function put<T>(draft: T, path: Path, value: unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return value as T;
  const list = Array.isArray(draft) || (draft === undefined && typeof step === "number");
  const copy = (list ? [...((draft as unknown[] | undefined) ?? [])] : { ...(draft as object | undefined) }) as Record<string | number, unknown>;
  const next = put(copy[step], rest, value);
  if (next === undefined || next === "" || (rest.length > 0 && isEmpty(next))) {
    if (list) (copy as unknown as unknown[]).splice(Number(step), 1);
    else delete copy[step];
  } else {
    copy[step] = next;
  }
  return copy as T;
}

const isEmpty = (v: unknown) => typeof v === "object" && v !== null && Object.keys(v).length === 0;

/** option says whether a sync option is set, and optioned sets it. */
export const option = (draft: Draft, name: string): boolean => optionsOf(draft).includes(`${name}=true`);

export function optioned(draft: Draft, name: string, on: boolean): Draft {
  const rest = optionsOf(draft).filter((o) => !o.startsWith(`${name}=`));
  const next = on ? [...rest, `${name}=true`] : rest;
  return put(draft, ["spec", "syncPolicy", "syncOptions"], next.length > 0 ? next : undefined);
}

const optionsOf = (draft: Draft): string[] => {
  const list = at(draft, ["spec", "syncPolicy", "syncOptions"]);
  return Array.isArray(list) ? list.map(String) : [];
};

/** pairs are the parameters of a chart as lines of name=value, and back. */
export function pairs(draft: Draft): string {
  const list = at(draft, ["spec", "source", "helm", "parameters"]);
  if (!Array.isArray(list)) return "";
  return list.map((p) => `${textAt(p, ["name"])}=${textAt(p, ["value"])}`).join("\n");
}

export function withPairs(draft: Draft, text: string): Draft {
  const old = at(draft, ["spec", "source", "helm", "parameters"]);
  const forced = new Set((Array.isArray(old) ? old : []).filter((p) => at(p, ["forceString"]) === true).map((p) => textAt(p, ["name"])));
  const list = text
    .split("\n")
    .filter((l) => l.trim() !== "")
    .map((line) => {
      const [name = "", ...value] = line.split("=");
      return { name: name.trim(), value: value.join("="), ...(forced.has(name.trim()) ? { forceString: true } : {}) };
    });
  return put(draft, ["spec", "source", "helm", "parameters"], list.length > 0 ? list : undefined);
}

/** blank is what a new application begins with. */
export const blank: Draft = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "" },
  spec: {
    project: "default",
    source: { repoURL: "", targetRevision: "HEAD" },
    destination: { server: "https://kubernetes.default.svc" },
  },
};

/** declared is what people declare of an application: what else it has is not theirs. */
export function declared(app: { metadata: object; spec: unknown }): Draft {
  const meta = app.metadata as Record<string, unknown>;
  const kept: Draft = {};
  for (const k of ["name", "namespace", "labels", "annotations", "finalizers"]) if (meta[k] !== undefined && !isEmpty(meta[k])) kept[k] = meta[k];
  return { apiVersion: "argoproj.io/v1alpha1", kind: "Application", metadata: kept, spec: app.spec };
}
