import { memo, useCallback } from "react";
import type { Row } from "../api/types";
import type { Filters, Sort } from "../model/filters";
import { ago, exact } from "../model/time";
import { healthOf, isAutomated, runs, shortRevision, sourcesOf, syncOf } from "../model/status";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Rows, type Seat } from "../parts/Rows";
import { HealthBadge, PhaseBadge, SyncBadge } from "../parts/Status";
import { useNow } from "../state/clock";
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
  // One clock for all rows: most of them say "3 d ago" for a day.
  const now = useNow();
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
      idOf={(i) => (state.rows[i] ? rowKey(state.rows[i]) : `${i}`)}
      row={(i, { key, style }) => {
        const app = state.rows[i];
        if (!app) return <div key={key} style={style} className="row blank" role="row" aria-hidden="true" />;
        return <Line key={key} top={style.transform} app={app} index={i} synced={ago(app.status.operationState?.finishedAt, now)} chosen={i === chosen} marked={marked.has(rowKey(app))} onMark={onMark} />;
      }}
    />
  );
}

const repoName = (url: string) => url.replace(/\.git$/, "").split("/").slice(-1)[0] ?? url;

interface LineProps {
  app: Row;
  index: number;
  top: Seat["style"]["transform"];
  /** synced is when it was synced last, in words. */
  synced: string;
  chosen: boolean;
  marked: boolean;
  onMark: (key: string) => void;
}

/** Line is drawn again only when something of it changed: most of a list stays as it is. */
const Line = memo(function Line({ app, index, top, synced, chosen, marked, onMark }: LineProps) {
  const source = sourcesOf(app)[0];
  const taken = source?.path ?? source?.chart ?? "";
  const operation = app.status.operationState;
  const place = app.spec.destination;
  const warns = (app.status.conditions ?? []).filter((c) => /(Error|Warning)$/.test(c.type));
  return (
    <div className={`row${chosen ? " chosen" : ""}${marked ? " on" : ""}`} role="row" aria-rowindex={index + 1} style={{ transform: top }}>
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
      <HealthBadge health={healthOf(app)} cell="c-health" />
      <SyncBadge sync={syncOf(app)} cell="c-sync" />
      <span role="cell" className="c-last" title={exact(operation?.finishedAt)}>
        {operation && runs(app) ? <PhaseBadge phase={operation.phase} /> : synced || <span className="soft">never</span>}
        {operation && (operation.phase === "Failed" || operation.phase === "Error") && <PhaseBadge phase={operation.phase} />}
      </span>
      <span role="cell" className="c-revision mono" title={app.status.sync.revision}>
        {shortRevision(app.status.sync.revision ?? app.status.sync.revisions?.[0]) || <span className="soft">–</span>}
      </span>
      <span role="cell" className="c-source" title={source && `${source.repoURL} ${taken}`}>
        <span className="line">
          <bdi dir="ltr">{source && `${repoName(source.repoURL)}/${taken}`}</bdi>
        </span>
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
