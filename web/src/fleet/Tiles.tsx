import { useCallback, useLayoutEffect, useRef, useState } from "react";
import type { Row } from "../api/types";
import { healthOf, runs, shortRevision, sourcesOf, syncOf, toneOf } from "../model/status";
import { Ago } from "../parts/Ago";
import { Link } from "../parts/Link";
import { Rows } from "../parts/Rows";
import { HealthBadge, PhaseBadge, SyncBadge } from "../parts/Status";
import { fleet, rowKey, type Fleet } from "../state/fleet";
import { appHref } from "../state/route";
import { placeName, type Marking } from "./Table";

const least = 280;
const tileHeight = 138;

/** Tiles are rows of as many as there is room for. */
export function Tiles({ state, chosen, marked, onMark }: Marking & { state: Fleet; chosen: number | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const [across, setAcross] = useState(3);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setAcross(Math.max(1, Math.floor(el.clientWidth / least))));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  const range = useCallback((_: number, last: number) => fleet.need((last + 10) * across), [across]);
  return (
    <div className="tiles-box" ref={box}>
      <Rows
        role="list"
        label="Applications"
        count={Math.ceil(state.total / across)}
        height={tileHeight}
        chosen={chosen === undefined ? undefined : Math.floor(chosen / across)}
        onRange={range}
        idOf={(line) => `${line}`}
        row={(line, { key, style }) => (
          <div key={key} className="tile-row" role="presentation" style={{ ...style, gridTemplateColumns: `repeat(${across}, 1fr)` }}>
            {state.rows.slice(line * across, (line + 1) * across).map((app, i) => (
              <Tile key={rowKey(app)} app={app} chosen={line * across + i === chosen} marked={marked.has(rowKey(app))} onMark={() => onMark(rowKey(app))} />
            ))}
          </div>
        )}
      />
    </div>
  );
}

function Tile({ app, chosen, marked, onMark }: { app: Row; chosen: boolean; marked: boolean; onMark: () => void }) {
  const source = sourcesOf(app)[0];
  const operation = app.status.operationState;
  return (
    <article role="listitem" className={`tile tone-${toneOf(app)}${chosen ? " chosen" : ""}`}>
      <h2>
        <Link to={appHref(app.metadata)}>{app.metadata.name}</Link>
        <input type="checkbox" checked={marked} onChange={onMark} aria-label={`Mark ${app.metadata.name}`} />
      </h2>
      <p className="badges">
        <HealthBadge health={healthOf(app)} full />
        <SyncBadge sync={syncOf(app)} full />
        {runs(app) && operation && <PhaseBadge phase={operation.phase} />}
      </p>
      <p className="soft line">
        {app.spec.project} · {app.spec.destination.namespace ?? "–"} · {placeName(app.spec.destination)}
      </p>
      <p className="soft line">
        <span className="mono">{shortRevision(app.status.sync.revision) || source?.targetRevision || "HEAD"}</span>
        {" · "}
        {operation?.finishedAt ? (
          <>
            synced <Ago at={operation.finishedAt} />
          </>
        ) : (
          "never synced"
        )}
      </p>
    </article>
  );
}
