import { memo } from "react";
import type { Facet, Health as HealthName, Sync } from "../api/types";
import { toggled, type Filters } from "../model/filters";
import { healthTone, syncTone, type Tone } from "../model/status";
import { HealthBadge, SyncBadge } from "../parts/Status";

const healths: HealthName[] = ["Degraded", "Missing", "Progressing", "Suspended", "Unknown", "Healthy"];
const syncs: Sync[] = ["OutOfSync", "Unknown", "Synced"];

const counts = (facets: readonly Facet[], name: string) => new Map(facets.find((f) => f.name === name)?.values.map((v) => [v.value, v.count]));

interface Props {
  facets: readonly Facet[];
  filters: Filters;
  onChange: (f: Filters) => void;
}

/** Health is the state of the whole fleet in two lines; each part of it is a filter. */
export const Health = memo(function Health({ facets, filters, onChange }: Props) {
  const health = counts(facets, "health");
  const sync = counts(facets, "sync");
  if (facets.length > 0 && health.size + sync.size === 0 && !filters.picked.health && !filters.picked.sync) return null;
  return (
    <div className="summary">
      <Line title="Health" of={healths.map((h) => ({ key: h, count: health.get(h) ?? 0, tone: healthTone[h] }))}>
        {healths.map((h) => (
          <Part key={h} count={health.get(h) ?? 0} on={filters.picked.health?.includes(h) ?? false} onClick={() => onChange(toggled(filters, "health", h))}>
            <HealthBadge health={h} quiet />
          </Part>
        ))}
      </Line>
      <Line title="Sync" of={syncs.map((s) => ({ key: s, count: sync.get(s) ?? 0, tone: syncTone[s] }))}>
        {syncs.map((s) => (
          <Part key={s} count={sync.get(s) ?? 0} on={filters.picked.sync?.includes(s) ?? false} onClick={() => onChange(toggled(filters, "sync", s))}>
            <SyncBadge sync={s} quiet />
          </Part>
        ))}
      </Line>
    </div>
  );
});

function Line({ title, of, children }: { title: string; of: { key: string; count: number; tone: Tone }[]; children: React.ReactNode }) {
  return (
    <div className="summary-line">
      <div className="meter" aria-hidden="true">
        {of.map((p) => p.count > 0 && <span key={p.key} className={`tone-${p.tone}`} style={{ flexGrow: p.count }} />)}
      </div>
      <div className="summary-parts" role="group" aria-label={title}>
        {children}
      </div>
    </div>
  );
}

function Part({ count, on, onClick, children }: { count: number; on: boolean; onClick: () => void; children: React.ReactNode }) {
  if (count === 0 && !on) return null;
  return (
    <button type="button" className="part" aria-pressed={on} onClick={onClick}>
      <strong>{count.toLocaleString()}</strong>
      {children}
    </button>
  );
}
