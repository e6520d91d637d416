import { useState } from "react";
import type { Action, Plan, PlanObject } from "../api/types";
import { keyOf } from "../model/graph";
import { Icon } from "../parts/Icon";
import { Some } from "../parts/Some";
import { ActionBadge } from "../parts/Status";
import { Changes } from "./Changes";

const order: Action[] = ["create", "update", "prune", "run", "deny", "skip"];
const phaseWord: Record<string, string> = { PreSync: "Before the sync", Sync: "Sync", PostSync: "After the sync", SyncFail: "If it fails" };

interface Props {
  plan: Plan;
  without: ReadonlySet<string>;
  onToggle: (key: string) => void;
  prune: boolean;
}

/** PlanWaves is a plan in its order: each wave is done before the next begins. */
export function PlanWaves({ plan, without, onToggle, prune }: Props) {
  if (plan.waves.length === 0) {
    return (
      <p className="calm tone-good">
        <Icon name="synced" /> Nothing would change.
      </p>
    );
  }
  return (
    <div className="plan">
      <p className="badges">
        {order.map((a) => {
          const count = plan.summary[a] ?? 0;
          return count > 0 && <ActionBadge key={a} action={a} count={count} />;
        })}
        {(plan.summary.unchanged ?? 0) > 0 && <span className="soft">{plan.summary.unchanged} stay as they are</span>}
      </p>
      <ol className="waves">
        {plan.waves.map((w) => (
          <li key={`${w.phase}/${w.wave}`}>
            <h4>
              {phaseWord[w.phase] ?? w.phase}
              <span className="wave">wave {w.wave}</span>
            </h4>
            <Some of={w.objects} within="ul">
              {(o) => <One key={keyOf(o)} object={o} on={!without.has(keyOf(o))} onToggle={() => onToggle(keyOf(o))} prune={prune} />}
            </Some>
          </li>
        ))}
      </ol>
    </div>
  );
}

function One({ object: o, on, onToggle, prune }: { object: PlanObject; on: boolean; onToggle: () => void; prune: boolean }) {
  const [open, setOpen] = useState(false);
  const changes = o.changes ?? [];
  const kept = o.action === "prune" && !prune;
  return (
    <li className={on ? "planned" : "planned off"}>
      <div className="planned-line">
        {o.hook || o.aside ? (
          <span className="check-space" />
        ) : (
          <input type="checkbox" checked={on} onChange={onToggle} aria-label={`Sync ${o.kind} ${o.name}`} />
        )}
        <ActionBadge action={kept ? "skip" : o.action} />
        <span className="planned-name">
          <span className="soft">{o.kind}</span> {o.name}
        </span>
        <span className="soft grow line" title={o.reason}>
          {kept ? "Git no longer has it; it stays, because nothing is to be deleted" : o.reason}
        </span>
        {changes.length > 0 && (
          <button type="button" className="plainlink" aria-expanded={open} onClick={() => setOpen(!open)}>
            {changes.length} {changes.length === 1 ? "field" : "fields"} <Icon name={open ? "down" : "right"} size={12} />
          </button>
        )}
      </div>
      {open && <Changes changes={changes} />}
    </li>
  );
}
