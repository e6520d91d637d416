import { memo, useCallback } from "react";
import type { Row } from "../api/types";
import type { Filters, Sort } from "../model/filters";
import { healthOf, isAutomated, runs, shortRevision, sourcesOf, syncOf } from "../model/status";
import { Ago } from "../parts/Ago";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Rows } from "../parts/Rows";
import { HealthBadge, PhaseBadge, SyncBadge } from "../parts/Status";
import { fleet, rowKey, type Fleet } from "../state/fleet";
import { appHref } from "../state/route";

export const rowHeight = 44;

const columns: { title: string; sort?: Sort; name: string }[] = [
  { title: "Name", sort: "name", name: "name" },
  { title: "Health", sort: "-health", name: "health" },
  { title: "Sync", sort: "sync", name: "sync" },
  { title: "Last sync", sort: "-lastSync", name: "last" },
  { title: "Revision", name: "revision" },
  { title: "Source", name: "source" },
  { title: "Destination", name: "destination" },
];

/** Marking is which applications somebody wants to do something with. */
export interface Marking {
  marked: ReadonlySet<string>;
  onMark: (key: string) => void;
}

interface Props extends Marking {
  state: Fleet;
  filters: Filters;
  chosen: number | undefined;
  onChange: (f: Filters) => void;
}

export function Table({ state, filters, chosen, onChange, marked, onMark }: Props) {
  const range = useCallback((_: number, last: number) => fleet.need(last + 100), []);
  const head = (
    <div className="row head" role="row">
      <span role="columnheader" className="c-mark">
        <span className="aside">Marked</span>
      </span>
      {columns.map((c) => (
        <span key={c.name} role="columnheader" className={`c-${c.name}`} aria-sort={c.sort === filters.sort ? (c.sort.startsWith("-") ? "descending" : "ascending") : undefined}>
          {c.sort ? (
            <button type="button" onClick={() => onChange({ ...filters, sort: c.sort! })}>
              {c.title}
              {c.sort === filters.sort && <Icon name="down" size={12} />}
            </button>
          ) : (
            c.title
          )}
        </span>
      ))}
    </div>
  );
  return (
    <Rows
      label="Applications"
      count={state.total}
      height={rowHeight}
      head={head}
      chosen={chosen}
      onRange={range}
      row={(i) => {
        const app = state.rows[i];
        return app ? <Line key={rowKey(app)} app={app} index={i} chosen={i === chosen} marked={marked.has(rowKey(app))} onMark={onMark} /> : <div key={i} className="row blank" role="row" aria-hidden="true" />;
      }}
    />
  );
}

const repoName = (url: string) => url.replace(/\.git$/, "").split("/").slice(-1)[0] ?? url;

interface LineProps {
  app: Row;
  index: number;
  chosen: boolean;
  marked: boolean;
  onMark: (key: string) => void;
}

/** Line is drawn again only when something of it changed: most of a list stays as it is. */
const Line = memo(function Line({ app, index, chosen, marked, onMark }: LineProps) {
  const source = sourcesOf(app)[0];
  const operation = app.status.operationState;
  const place = app.spec.destination;
  const warns = (app.status.conditions ?? []).filter((c) => /(Error|Warning)$/.test(c.type));
  return (
    <div className={`row${chosen ? " chosen" : ""}${marked ? " on" : ""}`} role="row" aria-rowindex={index + 1}>
      <span role="cell" className="c-mark">
        <input type="checkbox" checked={marked} onChange={() => onMark(rowKey(app))} aria-label={`Mark ${app.metadata.name}`} />
      </span>
      <span role="cell" className="c-name">
        <Link to={appHref(app.metadata)}>{app.metadata.name}</Link>
        <span className="soft">{app.spec.project}</span>
        {warns.length > 0 && (
          <span className="mark tone-warn" title={warns.map((w) => w.type).join(", ")}>
            <Icon name="degraded" size={13} />
            <span className="aside">{warns.map((w) => w.type).join(", ")}</span>
          </span>
        )}
      </span>
      <span role="cell" className="c-health">
        <HealthBadge health={healthOf(app)} />
      </span>
      <span role="cell" className="c-sync">
        <SyncBadge sync={syncOf(app)} />
      </span>
      <span role="cell" className="c-last">
        {runs(app) && operation ? <PhaseBadge phase={operation.phase} /> : <Ago at={operation?.finishedAt} />}
        {operation && (operation.phase === "Failed" || operation.phase === "Error") && <PhaseBadge phase={operation.phase} />}
      </span>
      <span role="cell" className="c-revision mono" title={app.status.sync.revision}>
        {shortRevision(app.status.sync.revision ?? app.status.sync.revisions?.[0]) || <span className="soft">–</span>}
      </span>
      <span role="cell" className="c-source" title={source?.repoURL}>
        <span className="line">{source ? `${repoName(source.repoURL)}/${source.path ?? source.chart ?? ""}` : ""}</span>
        {isAutomated(app) && <span className="auto">auto</span>}
      </span>
      <span role="cell" className="c-destination" title={place.server ?? place.name}>
        {place.namespace ?? "–"}
        <span className="soft"> · {placeName(place)}</span>
      </span>
    </div>
  );
});

export function placeName(d: Row["spec"]["destination"]): string {
  if (d.name) return d.name;
  if (!d.server || d.server === "https://kubernetes.default.svc") return "in-cluster";
  return d.server.replace(/^https?:\/\//, "");
}
