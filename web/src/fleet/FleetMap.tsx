import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Row } from "../api/types";
import { groupings, type Filters } from "../model/filters";
import { healthOf, syncOf, toneOf } from "../model/status";
import { regions, type Group } from "../model/treemap";
import { Link } from "../parts/Link";
import { Mark, syncWord } from "../parts/Status";
import { fleet, rowKey, type Fleet } from "../state/fleet";
import { appHref } from "../state/route";
import { placeName } from "./Table";

interface Props {
  state: Fleet;
  filters: Filters;
  onChange: (f: Filters) => void;
}

const sizeOf = (app: Row) => Math.max(1, app.status.summary?.resources ?? 1);

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
    const group = groups.get(name) ?? { name, items: [] };
    group.items.push({ item: app, size: Math.sqrt(sizeOf(app)) });
    groups.set(name, group);
  }
  return [...groups.values()].sort((a, b) => b.items.length - a.items.length || a.name.localeCompare(b.name));
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
  const areas = useMemo(
    () => regions(grouped(state.rows, filters.group), { x: 0, y: 0, w: size.w, h: size.h }, 26, 3),
    [state.rows, filters.group, size],
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
        <p className="soft">Size: number of objects. Colour: health first, then sync.</p>
      </div>
      <div className="map-area" ref={box}>
        {areas.map((r) => (
          <section key={r.name} aria-label={`${r.name}: ${r.tiles.length}`}>
            <h2 style={{ left: r.box.x, top: r.box.y, width: r.box.w }}>
              {r.name} <span className="soft">{r.tiles.length}</span>
            </h2>
            {r.tiles.map(({ item: app, box: b }) => (
              <Link
                key={rowKey(app)}
                to={appHref(app.metadata)}
                className={`map-tile tone-${toneOf(app)}`}
                style={{ left: b.x, top: b.y, width: Math.max(b.w - 2, 0), height: Math.max(b.h - 2, 0) }}
                title={`${app.metadata.name}: ${healthOf(app)}, ${syncWord[syncOf(app)]}, ${sizeOf(app)} objects`}
                aria-label={`${app.metadata.name}: ${healthOf(app)}, ${syncWord[syncOf(app)]}`}
              >
                {b.w > 34 && b.h > 22 && (
                  <span className="map-name" aria-hidden="true">
                    <Mark health={healthOf(app)} size={13} />
                    {syncOf(app) !== "Synced" && <Mark sync={syncOf(app)} size={13} />}
                    {b.w > 74 && <span className="map-text">{app.metadata.name}</span>}
                  </span>
                )}
              </Link>
            ))}
          </section>
        ))}
      </div>
    </div>
  );
}
