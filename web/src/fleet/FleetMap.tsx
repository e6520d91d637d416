import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Row } from "../api/types";
import { groupings, toggled, type Filters } from "../model/filters";
import { healthOf, syncOf, toneOf } from "../model/status";
import { regions, type Box, type Group, type Region } from "../model/treemap";
import { Link } from "../parts/Link";
import { Mark, syncWord } from "../parts/Status";
import { fleet, rowKey, type Fleet } from "../state/fleet";
import { appHref } from "../state/route";
import { useCalm } from "../state/calm";
import { DrawnMap } from "./DrawnMap";
import { placeName } from "./Table";

interface Props {
  state: Fleet;
  filters: Filters;
  onChange: (f: Filters) => void;
}

/** linked is up to how many applications each is a link of its own. More are drawn, and a group leads to its own map. */
const linked = 400;
const heading = 26;

export const sizeOf = (app: Row) => Math.max(1, app.status.summary?.resources ?? 1);
export const said = (app: Row) => `${app.metadata.name}: ${healthOf(app)}, ${syncWord[syncOf(app)]}`;

function groupName(app: Row, by: string): string {
  if (by === "cluster") return placeName(app.spec.destination);
  if (by === "namespace") return app.spec.destination.namespace ?? "none";
  if (by.startsWith("label:")) return app.metadata.labels?.[by.slice(6)] ?? "without the label";
  return app.spec.project;
}

/** grouped puts the applications into groups, the largest first; sizes grow slower than counts, so that small ones stay visible. */
function grouped(rows: readonly Row[], by: string): Group<Row>[] {
  const groups = new Map<string, Group<Row>>();
  for (const app of rows) {
    const name = groupName(app, by);
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, items: [] }));
    group.items.push({ item: app, size: Math.sqrt(sizeOf(app)) });
  }
  return [...groups.values()].sort((a, b) => b.items.length - a.items.length || a.name.localeCompare(b.name));
}

/** into are the filters that leave a group alone, where there are such. */
function into(filters: Filters, group: string): Filters | undefined {
  const by = filters.group;
  if (by.startsWith("label:")) return group === "without the label" ? undefined : { ...filters, labels: [...filters.labels, `${by.slice(6)}=${group}`] };
  const dimension = by as "project" | "cluster" | "namespace";
  if (filters.picked[dimension]?.length === 1) return undefined;
  return toggled({ ...filters, picked: { ...filters.picked, [dimension]: [] } }, dimension, group);
}

/** FleetMap is the whole fleet at once: how large each application is, and how it is with it. */
export function FleetMap({ state, filters, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ w: 0, h: 0 });
  useEffect(() => fleet.need(Infinity), [state.rows.length, state.total]);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const watch = new ResizeObserver(() => setSize({ w: el.clientWidth, h: el.clientHeight }));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  const drawn = state.rows.length > linked;
  // Thousands are laid out anew twice a second at most: nobody sees more, and everything else goes on meanwhile.
  const rows = useCalm(state.rows, drawn ? 500 : 0);
  const areas = useMemo(
    () => regions(grouped(rows, filters.group), { x: 0, y: 0, w: size.w, h: size.h }, heading, 3),
    [rows, filters.group, size],
  );
  const labels = state.facets.find((f) => f.name === "label")?.values ?? [];
  return (
    <div className="map">
      <div className="map-head">
        <label>
          Group by{" "}
          <select value={filters.group} onChange={(e) => onChange({ ...filters, group: e.target.value })}>
            {groupings.map((g) => (
              <option key={g} value={g}>
                {g}
              </option>
            ))}
            {labels.map((l) => (
              <option key={l.value} value={`label:${l.value}`}>
                label {l.value}
              </option>
            ))}
          </select>
        </label>
        <p className="soft">Size: number of objects. Colour: health first, then sync.{drawn && " The name of a group leads into it."}</p>
        {state.rows.length < state.total && <p className="soft">{state.rows.length.toLocaleString()} of {state.total.toLocaleString()} read …</p>}
      </div>
      <div className="map-area" ref={box}>
        {drawn && <DrawnMap areas={areas} size={size} />}
        {areas.map((r) => (
          <section key={r.name} aria-label={`${r.name}: ${r.tiles.length}`}>
            <Heading region={r} to={into(filters, r.name)} onChange={onChange} />
            {!drawn && r.tiles.map(({ item, box: b }) => <Tile key={rowKey(item)} app={item} box={b} />)}
          </section>
        ))}
      </div>
    </div>
  );
}

function Heading({ region: r, to, onChange }: { region: Region<Row>; to: Filters | undefined; onChange: (f: Filters) => void }) {
  // A group without room for a heading would have it across its tiles.
  if (r.box.h <= heading * 2 || r.box.w < 24) return null;
  return (
    <h2 style={{ left: r.box.x, top: r.box.y, width: r.box.w }}>
      {to ? (
        <button type="button" className="plainlink" onClick={() => onChange(to)}>
          {r.name} <span className="soft">{r.tiles.length}</span>
        </button>
      ) : (
        <>
          {r.name} <span className="soft">{r.tiles.length}</span>
        </>
      )}
    </h2>
  );
}

function Tile({ app, box: b }: { app: Row; box: Box }) {
  return (
    <Link
      to={appHref(app.metadata)}
      className={`map-tile tone-${toneOf(app)}`}
      style={{ left: b.x, top: b.y, width: Math.max(b.w - 2, 0), height: Math.max(b.h - 2, 0) }}
      title={`${said(app)}, ${sizeOf(app)} objects`}
      aria-label={said(app)}
    >
      {b.w > 34 && b.h > 22 && (
        <span className="map-name" aria-hidden="true">
          <Mark health={healthOf(app)} size={13} />
          {syncOf(app) !== "Synced" && <Mark sync={syncOf(app)} size={13} />}
          {b.w > 74 && <span className="map-text">{app.metadata.name}</span>}
        </span>
      )}
    </Link>
  );
}
