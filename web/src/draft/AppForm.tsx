import * as clusters from "../api/clusters";
import * as projects from "../api/projects";
import * as repositories from "../api/repositories";
import { at, option, optioned, pairs, put, textAt, withPairs, type Draft } from "../model/draft";
import { Check, Field } from "../parts/Field";
import { useAsk } from "../state/ask";
import { useTopic } from "../state/topic";

const options = [
  ["CreateNamespace", "Make the namespace"],
  ["ApplyOutOfSyncOnly", "Only what differs"],
  ["PruneLast", "Delete last"],
  ["ServerSideApply", "Apply on the server"],
  ["RespectIgnoreDifferences", "Leave ignored fields alone"],
] as const;

interface Props {
  draft: Draft;
  onChange: (d: Draft) => void;
  /** known says that the application is there: its name does not change. */
  known?: boolean;
}

/** AppForm has the fields of an application that most people set. What it does not know stays as it is. */
export function AppForm({ draft, onChange, known = false }: Props) {
  const set = (...path: (string | number)[]) => (value: unknown) => onChange(put(draft, path, value));
  const text = (...path: (string | number)[]) => textAt(draft, path);
  const several = Array.isArray(at(draft, ["spec", "sources"]));
  const project = text("spec", "project");
  const all = useTopic("projects", "list", projects.list).data?.map((p) => p.metadata.name);
  const places = useTopic("clusters", "list", () => clusters.list()).data ?? [];
  const automated = at(draft, ["spec", "syncPolicy", "automated"]) !== undefined && at(draft, ["spec", "syncPolicy", "automated", "enabled"]) !== false;
  const place = text("spec", "destination", "name") || text("spec", "destination", "server");
  const setPlace = (value: string) => {
    const byName = value !== "" && !value.includes("://");
    onChange(put(put(draft, ["spec", "destination", "name"], byName ? value : undefined), ["spec", "destination", "server"], byName ? undefined : value));
  };
  return (
    <div className="form">
      <h3>What</h3>
      <Field title="Name" required value={text("metadata", "name")} onChange={set("metadata", "name")} disabled={known} placeholder="storefront" />
      <Field title="Project" required value={project} onChange={set("spec", "project")} choices={all} />
      <h3>From</h3>
      {several ? (
        <p className="whole soft">It has several sources: they are edited as YAML.</p>
      ) : (
        <Source draft={draft} onChange={onChange} project={project} />
      )}
      <h3>To</h3>
      <Field title="Cluster" required value={place} onChange={setPlace} choices={places.flatMap((c) => [c.name, c.server])} hint="Its name, or its server." />
      <Field title="Namespace" value={text("spec", "destination", "namespace")} onChange={set("spec", "destination", "namespace")} placeholder="as each object says" />
      <h3>How</h3>
      <fieldset className="whole">
        <legend className="aside">Automation</legend>
        <Check title="Sync by itself" value={automated} onChange={(on) => set("spec", "syncPolicy", "automated")(on ? { prune: false, selfHeal: false } : undefined)} />
        <Check title="Delete what Git no longer has" disabled={!automated} value={at(draft, ["spec", "syncPolicy", "automated", "prune"]) === true} onChange={(on) => onChange(put(draft, ["spec", "syncPolicy", "automated"], { ...(at(draft, ["spec", "syncPolicy", "automated"]) as object), prune: on }))} />
        <Check title="Undo changes in the cluster" disabled={!automated} value={at(draft, ["spec", "syncPolicy", "automated", "selfHeal"]) === true} onChange={(on) => onChange(put(draft, ["spec", "syncPolicy", "automated"], { ...(at(draft, ["spec", "syncPolicy", "automated"]) as object), selfHeal: on }))} />
      </fieldset>
      <fieldset className="whole">
        <legend className="aside">Options</legend>
        {options.map(([name, title]) => (
          <Check key={name} title={title} value={option(draft, name)} onChange={(on) => onChange(optioned(draft, name, on))} />
        ))}
      </fieldset>
    </div>
  );
}

function Source({ draft, onChange, project }: { draft: Draft; onChange: (d: Draft) => void; project: string }) {
  const set = (...path: string[]) => (value: unknown) => onChange(put(draft, ["spec", "source", ...path], value));
  const text = (...path: string[]) => textAt(draft, ["spec", "source", ...path]);
  const repo = text("repoURL");
  const revision = text("targetRevision");
  const chart = text("chart") !== "";
  const known = useTopic("repositories", "list", repositories.list).data ?? [];
  const registered = known.some((r) => r.repo === repo);
  // Only what is registered is looked into: half an address is no question.
  const refs = useAsk(registered ? `refs:${repo}:${project}` : "", () => repositories.refs(repo, project)).data;
  const folders = useAsk(registered && !chart ? `folders:${repo}:${revision}:${project}` : "", () => repositories.folders(repo, revision || "HEAD", project)).data;
  return (
    <>
      <Field title="Repository" required type="url" value={repo} onChange={set("repoURL")} choices={known.map((r) => r.repo)} placeholder="https://github.com/my-org/shop.git" />
      <Field title="Revision" value={revision} onChange={set("targetRevision")} choices={[...(refs?.branches ?? []), ...(refs?.tags ?? [])]} placeholder="HEAD" hint="A branch, a tag, a commit, or the version of a chart." />
      <Field title="Path" value={text("path")} onChange={set("path")} choices={folders?.map((f) => f.path)} placeholder="overlays/production" />
      <Field title="Chart" value={text("chart")} onChange={set("chart")} placeholder="of a repository of charts" />
      <details className="whole">
        <summary>Parameters of Helm and kustomize</summary>
        <div className="form">
          <Field title="Helm values" lines={5} value={text("helm", "values")} onChange={set("helm", "values")} placeholder={"replicas: 2"} />
          <Field title="Helm parameters" lines={5} value={pairs(draft)} onChange={(t) => onChange(withPairs(draft, t))} placeholder={"image.tag=2.4.1"} hint="One on each line." />
          <Field title="Prefix of names" value={text("kustomize", "namePrefix")} onChange={set("kustomize", "namePrefix")} />
          <Field
            title="Images of kustomize"
            lines={3}
            value={((at(draft, ["spec", "source", "kustomize", "images"]) as string[] | undefined) ?? []).join("\n")}
            onChange={(t) => set("kustomize", "images")(t.trim() === "" ? undefined : t.split("\n"))}
            placeholder="example.com/web:2.4.1"
            hint="One on each line."
          />
        </div>
      </details>
    </>
  );
}
