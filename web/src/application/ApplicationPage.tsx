import { lazy, Suspense, useEffect, useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application, Tree } from "../api/types";
import { parseKey } from "../model/graph";
import { runs } from "../model/status";
import { Link } from "../parts/Link";
import { Failure, Loading, Notice, Stale } from "../parts/States";
import { Tabs, type Tab } from "../parts/Tabs";
import { useApplication } from "../state/application";
import { useCommands } from "../state/commands";
import { useKeys } from "../state/keys";
import { appHref, currentRoute, go, href, setParams, useRoute } from "../state/route";
import { attempt } from "../state/toast";
import { DiffView } from "./DiffView";
import { DriftView } from "./DriftView";
import { EventsView } from "./EventsView";
import { GraphView } from "./GraphView";
import { Head } from "./Head";
import { HistoryView } from "./HistoryView";
import { ListView } from "./ListView";
import { LogsView } from "./LogsView";
import { NetworkView } from "./NetworkView";
import { PodsView } from "./PodsView";
import { ResourceDrawer } from "./ResourceDrawer";
import { SyncDialog } from "./SyncDialog";
import { TimelineView } from "./TimelineView";

const AppEditor = lazy(async () => ({ default: (await import("../draft/AppEditor")).AppEditor }));

const viewList = [
  { id: "graph", title: "Graph", icon: "graph" },
  { id: "list", title: "List", icon: "table" },
  { id: "pods", title: "Pods", icon: "tiles" },
  { id: "network", title: "Network", icon: "network" },
  { id: "diff", title: "Diff", icon: "diff" },
  { id: "sync", title: "Last sync", icon: "timeline" },
  { id: "history", title: "History", icon: "history" },
  { id: "drift", title: "Drift", icon: "drift" },
  { id: "events", title: "Events", icon: "events" },
  { id: "logs", title: "Logs", icon: "logs" },
] as const;

/** ApplicationPage is one application: what is to be known of it, and ten ways to look at it. */
export function ApplicationPage({ name }: { name: Name }) {
  const { answer, tree, gone } = useApplication(name);
  useEffect(() => {
    document.title = `${name.name} · Towline`;
  }, [name.name]);
  const { data: app, error, again } = answer;
  if (gone) {
    return (
      <main className="page">
        <Notice icon="trash" title={`${name.name} is gone`} action={<Link className="button plain" to={href("applications")}>To the applications</Link>}>
          It was deleted while you looked at it.
        </Notice>
      </main>
    );
  }
  if (!app) return <main className="page">{error ? <Failure error={error} what={`application ${name.name}`} again={again} /> : <Loading what={name.name} />}</main>;
  return (
    <main className="page application">
      {error && <Stale error={error} again={again} />}
      <Inside app={app} tree={tree} />
    </main>
  );
}

/** narrowing is what graph and list share of the address. */
const narrowing = () => Object.fromEntries([...currentRoute().params].filter(([key]) => ["find", "kind", "state", "orphans"].includes(key)));

function Inside({ app, tree }: { app: Application; tree: Tree | undefined }) {
  const { params } = useRoute();
  const view = viewList.find((v) => v.id === params.get("view"))?.id ?? "graph";
  const [syncing, setSyncing] = useState(false);
  const name: Name = { namespace: app.metadata.namespace, name: app.metadata.name };
  const at = (id: string) => appHref(name, { ...(id === "graph" ? {} : { view: id }), ...(id === "graph" || id === "list" ? narrowing() : {}) });
  const show = (id: string) => go(at(id));
  const refresh = (kind: "normal" | "hard") => void attempt(kind === "hard" ? "Everything was rendered anew and compared." : "Git and the cluster were looked at.", () => api.get(name, kind));
  useKeys({
    ...Object.fromEntries(viewList.map((v, i) => [String((i + 1) % 10), () => show(v.id)])),
    s: () => setSyncing(true),
    e: () => setParams({ edit: "form" }),
    r: () => refresh("normal"),
  });
  useCommands(
    [
      { id: "app-sync", title: `Sync ${name.name}: see the plan`, hint: "s", icon: "sync", run: () => setSyncing(true) },
      { id: "app-edit", title: `Edit ${name.name}`, hint: "e", icon: "settings", run: () => setParams({ edit: "form" }) },
      { id: "app-refresh", title: `Refresh ${name.name}`, hint: "r", icon: "refresh", run: () => refresh("normal") },
      { id: "app-hard", title: `Hard refresh ${name.name}`, icon: "refresh", run: () => refresh("hard") },
      ...viewList.map((v, i) => ({ id: `view-${v.id}`, title: `${name.name}: ${v.title}`, hint: String((i + 1) % 10), icon: v.icon, run: () => show(v.id) })),
    ],
    name.namespace,
    name.name,
  );
  const differ = (app.status.resources ?? []).filter((r) => r.status === "OutOfSync").length;
  const tabs: Tab[] = viewList.map((v) => ({
    ...v,
    to: at(v.id),
    count: v.id === "diff" ? differ : undefined,
  }));
  const opened = parseKey(params.get("resource") ?? "");
  return (
    <>
      <Head app={app} tree={tree} name={name} onSync={() => setSyncing(true)} onRefresh={refresh} />
      <Tabs tabs={tabs} current={view} label="Views of the application" />
      <section className={`view view-${view}`} aria-label={viewList.find((v) => v.id === view)?.title}>
        {view === "graph" && <GraphView app={app} tree={tree} />}
        {view === "pods" && <PodsView tree={tree} />}
        {view === "network" && <NetworkView tree={tree} />}
        {view === "list" && <ListView app={app} tree={tree} />}
        {view === "diff" && <DiffView name={name} />}
        {view === "sync" && <TimelineView name={name} running={runs(app)} />}
        {view === "history" && <HistoryView app={app} name={name} />}
        {view === "drift" && <DriftView name={name} />}
        {view === "events" && <EventsView name={name} />}
        {view === "logs" && <LogsView name={name} tree={tree} />}
      </section>
      {opened && <ResourceDrawer key={params.get("resource")} app={app} name={name} tree={tree} about={opened} onClose={() => setParams({ resource: undefined, tab: undefined })} />}
      {params.get("edit") === "form" && (
        <Suspense>
          <AppEditor app={app} onClose={() => setParams({ edit: undefined })} />
        </Suspense>
      )}
      {syncing && <SyncDialog app={app} name={name} onClose={() => setSyncing(false)} onStarted={() => show("sync")} />}
    </>
  );
}
