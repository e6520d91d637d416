import { useState } from "react";
import * as api from "../api/projects";
import { Events } from "../application/EventsView";
import type { GroupKind, Project } from "../api/projects";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Facts, Items } from "../parts/Facts";
import { Link } from "../parts/Link";
import { Page, Section } from "../parts/Page";
import { Failure, Loading, Stale } from "../parts/States";
import { Tabs } from "../parts/Tabs";
import { go, href, useRoute } from "../state/route";
import { topicChanged, useTopic } from "../state/topic";
import { ProjectEditor } from "./ProjectEditor";
import { projectHref } from "./ProjectsPage";
import { Roles } from "./Roles";
import { Windows } from "./Windows";

const above = [{ title: "Projects", to: href("projects") }];

const views = [
  { id: "summary", title: "What it allows", icon: "plan" },
  { id: "roles", title: "Roles", icon: "user" },
  { id: "windows", title: "Sync windows", icon: "wait" },
  { id: "events", title: "Events", icon: "events" },
] as const;

/** ProjectPage is one project, part by part. */
export function ProjectPage({ name }: { name: string }) {
  const { params } = useRoute();
  const { data: project, error, again } = useTopic("projects", `one:${name}`, () => api.get(name));
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const view = views.find((v) => v.id === params.get("view"))?.id ?? "summary";
  if (!project) return <Page title={name} above={above}>{error ? <Failure error={error} what={`project ${name}`} again={again} /> : <Loading what={name} />}</Page>;
  const counts: Record<string, number | undefined> = { roles: project.spec.roles?.length, windows: project.spec.syncWindows?.length };
  return (
    <Page
      title={name}
      above={above}
      lead={project.spec.description}
      actions={
        <>
          <Link className="button plain" to={href("applications", { project: name })}>
            Its applications
          </Link>
          <Button icon="settings" onClick={() => setEditing(true)}>
            Change …
          </Button>
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete …
          </Button>
        </>
      }
    >
      {error && <Stale error={error} again={again} />}
      <Tabs label="Parts of the project" current={view} tabs={views.map((v) => ({ ...v, to: projectHref(name, v.id === "summary" ? {} : { view: v.id }), plain: true, count: counts[v.id] }))} />
      {view === "summary" && <Summary project={project} />}
      {view === "roles" && <Roles project={project} />}
      {view === "windows" && <Windows project={project} />}
      {view === "events" && <ProjectEvents name={name} />}
      {editing && <ProjectEditor project={project} onClose={() => setEditing(false)} />}
      {deleting && (
        <Confirm
          title={`Delete ${name}`}
          word="Delete"
          typed={name}
          done={`${name} was deleted.`}
          run={() => api.remove(name)}
          onClose={() => setDeleting(false)}
          onDone={() => {
            topicChanged("projects");
            go(href("projects"));
          }}
        >
          <p>A project that has applications is not deleted; the server says so.</p>
        </Confirm>
      )}
    </Page>
  );
}

function ProjectEvents({ name }: { name: string }) {
  const answer = useTopic("projects", `events:${name}`, () => api.events(name));
  return <Events answer={answer} />;
}

const kinds = (list: readonly GroupKind[] | undefined) => list?.map((k) => `${k.group ? `${k.group}/` : ""}${k.kind}${k.name ? ` ${k.name}` : ""}`);

function Summary({ project }: { project: Project }) {
  const s = project.spec;
  const globals = useTopic("projects", `globals:${project.metadata.name}`, () => api.globals(project.metadata.name)).data ?? [];
  return (
    <div className="columns">
      <Section title="Where from">
        <Facts
          of={[
            ["Repositories", <Items of={s.sourceRepos} none="none: nothing can be deployed" />],
            ["Signed by", s.signatureKeys && s.signatureKeys.length > 0 ? <Items of={s.signatureKeys.map((k) => k.keyID)} /> : undefined],
            ["Applications may be in", <Items of={s.sourceNamespaces} none="the namespace of the installation" />],
          ]}
        />
      </Section>
      <Section title="Where to">
        <Facts
          of={[
            ["Destinations", <Items of={s.destinations?.map((d) => `${d.namespace ?? "*"} on ${d.name ?? d.server ?? "*"}`)} none="none: nothing can be deployed" />],
            ["Clusters", s.permitOnlyProjectScopedClusters ? "its own alone" : undefined],
            ["Acts as", s.destinationServiceAccounts && <Items of={s.destinationServiceAccounts.map((a) => `${a.defaultServiceAccount} in ${a.namespace ?? "*"} on ${a.server}`)} />],
          ]}
        />
      </Section>
      <Section title="What kinds of objects">
        <Facts
          of={[
            ["Of the cluster", <Items of={kinds(s.clusterResourceWhitelist)} none="none" />],
            ["Never of the cluster", s.clusterResourceBlacklist && <Items of={kinds(s.clusterResourceBlacklist)} />],
            ["In namespaces", s.namespaceResourceWhitelist ? <Items of={kinds(s.namespaceResourceWhitelist)} none="none" /> : "all"],
            ["Never in namespaces", s.namespaceResourceBlacklist && <Items of={kinds(s.namespaceResourceBlacklist)} />],
          ]}
        />
      </Section>
      <Section title="What else counts">
        <Facts
          of={[
            ["Rules of other projects", globals.length > 0 ? <Items of={globals.map((g) => g.metadata.name)} /> : "none"],
            ["Objects that nobody owns", s.orphanedResources ? (s.orphanedResources.warn === false ? "are shown" : "are shown, with a warning") : "are not looked for"],
          ]}
        />
      </Section>
    </div>
  );
}
