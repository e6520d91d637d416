import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { howMany, noFilters, readFilters, views, writeFilters, type Filters, type View } from "../model/filters";
import { Button } from "../parts/Button";
import { Icon, type IconName } from "../parts/Icon";
import { Failure, Loading, Notice, Stale } from "../parts/States";
import { Search } from "../parts/Search";
import { fleet, rowKey } from "../state/fleet";
import { useKeys } from "../state/keys";
import { appHref, go, href, setParams, useRoute } from "../state/route";
import { useStore } from "../state/store";
import { Bulk, type Doing } from "./Bulk";
import { FacetPanel } from "./Facets";
import { Health } from "./Health";
import { FleetMap } from "./FleetMap";
import { Table, type Marking } from "./Table";
import { Tiles } from "./Tiles";
import { Views } from "./Views";

const AppEditor = lazy(async () => ({ default: (await import("../draft/AppEditor")).AppEditor }));

const viewIcon: Record<View, IconName> = { table: "table", tiles: "tiles", map: "map" };
const viewName: Record<View, string> = { table: "Table", tiles: "Tiles", map: "Map" };

/** FleetPage is all applications that somebody may see, in three forms; what is shown of them is in the address. */
export function FleetPage() {
  const { path, params } = useRoute();
  const filters = useMemo(() => readFilters(params), [params]);
  const state = useStore(fleet.store);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const [panel, setPanel] = useState(false);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [doing, setDoing] = useState<Doing | undefined>(undefined);
  const making = params.get("new") === "form";
  useEffect(() => fleet.start(), []);
  useEffect(() => {
    document.title = "Applications · Towline";
    fleet.ask(filters);
  }, [filters]);
  const change = useCallback((f: Filters, replace = false) => go(href("applications", writeFilters(f)), { replace }), []);
  const closePanel = useCallback(() => setPanel(false), []);
  useEffect(() => setChosen(undefined), [params]);
  const mark = useCallback((key: string) => setMarked((all) => (all.has(key) ? new Set([...all].filter((k) => k !== key)) : new Set([...all, key]))), []);
  const picked = marked.size === 0 ? [] : state.rows.filter((r) => marked.has(rowKey(r)));
  const move = (step: number) => setChosen((at) => Math.max(0, Math.min(state.rows.length - 1, at === undefined ? 0 : at + step)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const row = chosen === undefined ? undefined : state.rows[chosen];
      if (row) go(appHref(row.metadata));
    },
    m: () => {
      const row = chosen === undefined ? undefined : state.rows[chosen];
      if (row) mark(rowKey(row));
    },
    n: () => setParams({ new: "form" }),
    v: () => change({ ...filters, view: views[(views.indexOf(filters.view) + 1) % views.length]! }),
    x: () => change({ ...noFilters, view: filters.view, group: filters.group, sort: filters.sort }),
  });
  const count = howMany(filters);
  return (
    <main className="fleet" data-path={path}>
      <h1 className="aside">Applications</h1>
      <div className="bar">
        <Search label="Search applications" placeholder="Name, project, repository or label" value={filters.search} onChange={(search) => change({ ...filters, search: search.trim() }, true)} />
        <Button icon="filter" className="panel-button" aria-expanded={panel} onClick={() => setPanel(!panel)}>
          {count > 0 ? `Filters · ${count}` : "Filters"}
        </Button>
        <div className="choice" role="group" aria-label="Form">
          {views.map((v) => (
            <button key={v} type="button" aria-pressed={filters.view === v} onClick={() => change({ ...filters, view: v })}>
              <Icon name={viewIcon[v]} />
              <span className="small-aside">{viewName[v]}</span>
            </button>
          ))}
        </div>
        <Views />
        <Button icon="plus" onClick={() => setParams({ new: "form" })}>
          <span className="small-aside">New …</span>
        </Button>
        <p className="total" role="status">
          {state.read ? (
            <>
              <strong>{state.total.toLocaleString()}</strong> {state.total === 1 ? "application" : "applications"}
            </>
          ) : (
            "Reading …"
          )}
          {count > 0 && (
            <Button kind="bare" icon="close" onClick={() => change({ ...noFilters, view: filters.view, group: filters.group, sort: filters.sort })}>
              Clear
            </Button>
          )}
        </p>
      </div>
      {picked.length > 0 && (
        <div className="marked" role="region" aria-label="What was marked">
          <strong>{picked.length} marked</strong>
          <Button icon="sync" kind="main" onClick={() => setDoing("sync")}>
            Sync …
          </Button>
          <Button icon="refresh" onClick={() => setDoing("refresh")}>
            Refresh …
          </Button>
          <Button icon="refresh" onClick={() => setDoing("hard")}>
            Hard refresh …
          </Button>
          <Button kind="bare" onClick={() => setMarked(new Set(state.rows.map(rowKey)))}>
            Mark all {state.rows.length}
          </Button>
          <Button kind="bare" icon="close" onClick={() => setMarked(new Set())}>
            None
          </Button>
        </div>
      )}
      <Health facets={state.facets} filters={filters} onChange={change} />
      <div className="fleet-body">
        <FacetPanel facets={state.facets} filters={filters} onChange={change} open={panel} onClose={closePanel} />
        <section className="fleet-main" aria-label={viewName[filters.view]}>
          {state.error && state.rows.length > 0 && <Stale error={state.error} again={fleet.retry} />}
          <Shown filters={filters} chosen={chosen} onChange={change} marked={marked} onMark={mark} />
        </section>
      </div>
      {doing && <Bulk doing={doing} apps={picked} onClose={() => setDoing(undefined)} />}
      {making && (
        <Suspense>
          <AppEditor onClose={() => setParams({ new: undefined })} />
        </Suspense>
      )}
    </main>
  );
}

interface ShownProps extends Marking {
  filters: Filters;
  chosen: number | undefined;
  onChange: (f: Filters) => void;
}

function Shown({ filters, chosen, onChange, marked, onMark }: ShownProps) {
  const state = useStore(fleet.store);
  if (state.rows.length === 0) {
    if (state.error) return <Failure error={state.error} what="the applications" again={fleet.retry} />;
    if (!state.read) return <Loading what="the applications" />;
    if (howMany(filters) > 0) {
      return (
        <Notice icon="search" title="Nothing fits" action={<Button onClick={() => onChange({ ...noFilters, view: filters.view })}>Show all</Button>}>
          No application that you may see has all that is asked for.
        </Notice>
      );
    }
    return (
      <Notice icon="box" title="There are no applications yet" action={<Button kind="main" icon="plus" onClick={() => setParams({ new: "form" })}>New application …</Button>}>
        An application says what of Git is to be where. Make the first one here, or with <code>kubectl apply</code> or <code>towline app create</code>; it
        appears here by itself. If you expect some, whoever looks after this installation can let you see them.
      </Notice>
    );
  }
  if (filters.view === "tiles") return <Tiles state={state} chosen={chosen} marked={marked} onMark={onMark} />;
  if (filters.view === "map") return <FleetMap state={state} filters={filters} onChange={onChange} />;
  return <Table state={state} filters={filters} chosen={chosen} onChange={onChange} marked={marked} onMark={onMark} />;
}
