import type { Timeline } from "../api/types";
import { gantt } from "../model/gantt";
import { keyOf } from "../model/graph";
import { span } from "../model/time";
import { Icon } from "../parts/Icon";
import { Some } from "../parts/Some";
import { useNow } from "../state/clock";
import { setParams } from "../state/route";

const phaseWord: Record<string, string> = { PreSync: "before", Sync: "", PostSync: "after", SyncFail: "after the failure" };

/** Chart is a sync on a line of time: what was applied when, what ran beside it, and what was waited for. */
export function Chart({ t, running }: { t: Timeline; running: boolean }) {
  const now = useNow();
  const chart = gantt(t, now);
  if (!chart) return null;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return (
    <section className="panel chart" aria-label="The sync on a line of time">
      <div className="chart-row chart-head" aria-hidden="true">
        <span />
        <span className="chart-line">
          {ticks.map((p) => (
            <span key={p} className="tick" style={{ left: `${p * 100}%` }}>
              {p === 0 ? "0 s" : span(chart.seconds * p)}
            </span>
          ))}
        </span>
      </div>
      <Some of={chart.bars} within="ol">
        {(b) => {
          const failed = b.result.status === "SyncFailed" || b.result.hookPhase === "Failed" || b.result.hookPhase === "Error";
          const tone = failed ? "bad" : b.runs && running ? "busy" : b.result.hook ? "idle" : "good";
          return (
            <li key={b.phase + keyOf(b.result)} className="chart-row">
              <button type="button" className="plainlink" onClick={() => setParams({ resource: keyOf(b.result) })}>
                {b.result.hook && <Icon name="hook" size={12} />}
                <span className="line">
                  <span className="soft">{b.result.kind}</span> {b.result.name}
                </span>
              </button>
              <span className="chart-line">
                <span className={`chart-bar tone-${tone}${b.runs && running ? " runs" : ""}`} style={{ left: `${b.from * 100}%`, width: `max(3px, ${(b.to - b.from) * 100}%)` }} />
                <span className="chart-said" style={b.to > 0.8 ? { right: `${(1 - b.from) * 100}%` } : { left: `${b.to * 100}%` }}>
                  {span(b.seconds)} {phaseWord[b.phase] ?? b.phase}
                </span>
              </span>
            </li>
          );
        }}
      </Some>
      <p className="soft">Times are when the server saw it; an object ends when its wave does.</p>
    </section>
  );
}
