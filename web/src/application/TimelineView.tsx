import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Key, Timeline, TimelineResult } from "../api/types";
import { keyOf } from "../model/graph";
import type { Tone } from "../model/status";
import { span } from "../model/time";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Icon, type IconName } from "../parts/Icon";
import { Some } from "../parts/Some";
import { Notice } from "../parts/States";
import { Badge, PhaseBadge } from "../parts/Status";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { useNow } from "../state/clock";
import { setParams } from "../state/route";
import { Chart } from "./Chart";
import { Revision } from "./Revision";

const phaseWord: Record<string, string> = { PreSync: "Before", Sync: "Sync", PostSync: "After", SyncFail: "After the failure" };

/** TimelineView is the running sync, or the last one: phase by phase, and what it waits for. */
export function TimelineView({ name, running }: { name: Name; running: boolean }) {
  const answer = useAsk(part(name, "timeline"), () => api.timeline(name));
  return (
    <Answered answer={answer} what="the last sync">
      {(t) =>
        t.phase ? (
          <div className="timeline">
            <Summary t={t} name={name} running={running} />
            <Chart t={t} running={running} />
            <ol className="phases">
              {t.phases.map((p) => (
                <li key={p.phase} className="panel">
                  <h3>
                    {phaseWord[p.phase] ?? p.phase} <span className="soft">{p.results.length}</span>
                  </h3>
                  <Some of={p.results} within="ul">
                    {(r) => <Result key={keyOf(r) + (r.hook ?? "")} r={r} running={running} />}
                  </Some>
                </li>
              ))}
            </ol>
            <Before t={t} />
          </div>
        ) : (
          <Notice icon="timeline" title="It was never synced">
            Press Sync to see what would happen, and to have it happen.
          </Notice>
        )
      }
    </Answered>
  );
}

function Summary({ t, name, running }: { t: Timeline; name: Name; running: boolean }) {
  const now = useNow();
  const seconds = running && t.startedAt ? (now - Date.parse(t.startedAt)) / 1000 : t.seconds;
  return (
    <header className="panel timeline-head">
      {t.phase && <PhaseBadge phase={t.phase} />}
      <dl className="facts">
        <div>
          <dt>{running ? "For" : "Took"}</dt>
          <dd>{span(seconds)}</dd>
        </div>
        <div>
          <dt>Began</dt>
          <dd>
            <Ago at={t.startedAt} />
          </dd>
        </div>
        <div>
          <dt>Asked for by</dt>
          <dd>{t.automated ? "automated sync" : t.initiatedBy || "somebody"}</dd>
        </div>
        {t.revision && (
          <div>
            <dt>Revision</dt>
            <dd>
              <Revision name={name} revision={t.revision} />
            </dd>
          </div>
        )}
        {(t.retries ?? 0) > 0 && (
          <div>
            <dt>Tries</dt>
            <dd>{(t.retries ?? 0) + 1}</dd>
          </div>
        )}
      </dl>
      {t.message && <p className="message">{t.message}</p>}
      {running && t.waiting && t.waiting.length > 0 && (
        <p className="calm tone-busy">
          <Icon name="wait" /> Waits for {waiting(t.waiting)}
        </p>
      )}
    </header>
  );
}

/** waiting names the first few of what is waited for. */
function waiting(list: readonly Key[]): string {
  const first = list.slice(0, 8).map((k) => `${k.kind}/${k.name}`);
  return [...first, ...(list.length > first.length ? [`${list.length - first.length} more`] : [])].join(", ");
}

function stateOf(r: TimelineResult, running: boolean): [Tone, IconName, string] {
  // What was applied "runs" until its wave is over; of the last wave nobody says that it is.
  if (running && r.hookPhase === "Running") return ["busy", "wait", r.hook ? "Runs" : "Waits for health"];
  if (r.status === "SyncFailed" || r.hookPhase === "Failed" || r.hookPhase === "Error") return ["bad", "degraded", "Failed"];
  if (r.status === "Pruned") return ["none", "trash", "Deleted"];
  if (r.status === "PruneSkipped") return ["none", "minus", "Kept"];
  return ["good", "healthy", r.hook ? "Done" : "Synced"];
}

function Result({ r, running }: { r: TimelineResult; running: boolean }) {
  const [tone, icon, word] = stateOf(r, running);
  return (
    <li className="result">
      <Badge tone={tone} icon={icon} quiet={tone === "good"}>
        {word}
      </Badge>
      <button type="button" className="plainlink" onClick={() => setParams({ resource: keyOf(r) })}>
        {r.hook && <Icon name="hook" size={13} />}
        <span className="soft">{r.kind}</span> {r.name}
      </button>
      <span className="soft grow line" title={r.message}>
        {r.message}
      </span>
    </li>
  );
}

/** Before are the syncs before: how long each took, side by side. */
function Before({ t }: { t: Timeline }) {
  const list = t.history.slice(0, 12);
  const most = Math.max(...list.map((h) => h.seconds ?? 0), 0.001);
  if (list.length < 2) return null;
  return (
    <section className="panel">
      <h3>Before</h3>
      <ul className="past">
        {list.map((h) => (
          <li key={h.id}>
            <span className="mono">{(h.revision ?? h.revisions?.[0] ?? "").slice(0, 7)}</span>
            <span className="past-bar" aria-hidden="true">
              <span style={{ width: `${Math.max(2, ((h.seconds ?? 0) / most) * 100)}%` }} />
            </span>
            <span>{span(h.seconds ?? 0)}</span>
            <span className="soft">
              <Ago at={h.deployedAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
