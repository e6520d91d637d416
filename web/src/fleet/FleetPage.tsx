import { useCallback, useEffect, useMemo, useState } from "react";
import { howMany, noFilters, readFilters, views, writeFilters, type Filters, type View } from "../model/filters";
import { Button } from "../parts/Button";
import { Icon, type IconName } from "../parts/Icon";
import { Failure, Loading, Notice, Stale } from "../parts/States";
import { fleet } from "../state/fleet";
import { useKeys } from "../state/keys";
import { appHref, go, href, useRoute } from "../state/route";
import { useStore } from "../state/store";
import { FacetPanel } from "./Facets";
import { Health } from "./Health";
import { FleetMap } from "./FleetMap";
import { Search } from "./Search";
import { Table } from "./Table";
import { Tiles } from "./Tiles";

const viewIcon: Record<View, IconName> = { table: "table", tiles: "tiles", map: "map" };
const viewName: Record<View, string> = { table: "Table", tiles: "Tiles", map: "Map" };

/** FleetPage is all applications that somebody may see, in three forms; what is shown of them is in the address. */
export function FleetPage() {
  const { path, params } = useRoute();
  const filters = useMemo(() => readFilters(params), [params]);
  const state = useStore(fleet.store);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const [panel, setPanel] = useState(false);
  useEffect(() => fleet.start(), []);
  useEffect(() => {
    document.title = "Applications · Towline";
    fleet.ask(filters);
  }, [filters]);
  const change = useCallback((f: Filters, replace = false) => go(href("applications", writeFilters(f)), { replace }), []);
  useEffect(() => setChosen(undefined), [params]);
  const move = (step: number) => setChosen((at) => Math.max(0, Math.min(state.rows.length - 1, at === undefined ? 0 : at + step)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const row = chosen === undefined ? undefined : state.rows[chosen];
      if (row) go(appHref(row.metadata));
    },
    v: () => change({ ...filters, view: views[(views.indexOf(filters.view) + 1) % views.length]! }),
    x: () => change({ ...noFilters, view: filters.view, group: filters.group, sort: filters.sort }),
  });
  const count = howMany(filters);
  return (
    <main className="fleet" data-path={path}>
      <h1 className="aside">Applications</h1>
      <div className="bar">
        <Search value={filters.search} onChange={(search) => change({ ...filters, search }, true)} />
        <Button icon="filter" className="panel-button" aria-expanded={panel} onClick={() => setPanel(!panel)}>
          {count > 0 ? `Filters · ${count}` : "Filters"}
        </Button>
        <div className="choice" role="group" aria-label="Form">
          {views.map((v) => (
            <button key={v} type="button" aria-pressed={filters.view === v} onClick={() => change({ ...filters, view: v })}>
              <Icon name={viewIcon[v]} />
              <span>{viewName[v]}</span>
            </button>
          ))}
        </div>
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
      <Health facets={state.facets} filters={filters} onChange={change} />
      <div className="fleet-body">
        <FacetPanel facets={state.facets} filters={filters} onChange={change} open={panel} onClose={() => setPanel(false)} />
        <section className="fleet-main" aria-label={viewName[filters.view]}>
          {state.error && state.rows.length > 0 && <Stale error={state.error} again={fleet.retry} />}
          <Shown filters={filters} chosen={chosen} onChange={change} />
        </section>
      </div>
    </main>
  );
}

function Shown({ filters, chosen, onChange }: { filters: Filters; chosen: number | undefined; onChange: (f: Filters) => void }) {
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
      <Notice icon="box" title="There are no applications yet">
        An application says what of Git is to be where. Make the first one with <code>kubectl apply</code> or <code>towline app create</code>; it
        appears here by itself. If you expect some, whoever looks after this installation can let you see them.
      </Notice>
    );
  }
  if (filters.view === "tiles") return <Tiles state={state} chosen={chosen} />;
  if (filters.view === "map") return <FleetMap state={state} filters={filters} onChange={onChange} />;
  return <Table state={state} filters={filters} chosen={chosen} onChange={onChange} />;
}
