import { useState } from "react";
import * as api from "../api/applications";
import type { Row } from "../api/types";
import { several, type Outcome } from "../model/several";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Check } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Some } from "../parts/Some";
import { HealthBadge, SyncBadge } from "../parts/Status";
import { healthOf, syncOf } from "../model/status";
import { rowKey } from "../state/fleet";
import { appHref } from "../state/route";

export type Doing = "sync" | "refresh" | "hard";

const words: Record<Doing, { title: string; button: string; running: string }> = {
  sync: { title: "Sync", button: "Sync them", running: "Begun" },
  refresh: { title: "Refresh", button: "Refresh them", running: "Looked at" },
  hard: { title: "Hard refresh", button: "Render them anew", running: "Rendered anew" },
};

/** Bulk does one thing with several applications, some at a time, and says of each what came of it. */
export function Bulk({ doing, apps, onClose }: { doing: Doing; apps: readonly Row[]; onClose: () => void }) {
  const [prune, setPrune] = useState(false);
  const [dryRun, setDryRun] = useState(false);
  const [differing, setDiffering] = useState(false);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [state, setState] = useState<"asks" | "runs" | "over">("asks");
  const chosen = doing === "sync" && differing ? apps.filter((a) => syncOf(a) === "OutOfSync") : apps;
  const one = async (app: Row): Promise<unknown> => {
    if (doing !== "sync") return api.get(app.metadata, doing === "hard" ? "hard" : "normal");
    return api.sync(app.metadata, { prune, dryRun });
  };
  const run = async () => {
    setState("runs");
    await several(chosen, 4, one, (app, outcome) => setOutcomes((all) => new Map(all).set(rowKey(app), outcome)));
    setState("over");
  };
  const done = [...outcomes.values()].filter((o) => o !== "runs");
  const failed = done.filter((o) => typeof o === "object").length;
  return (
    <Dialog
      title={`${words[doing].title} ${chosen.length} ${chosen.length === 1 ? "application" : "applications"}`}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <span className="soft grow" role="status">
            {state !== "asks" && `${done.length} of ${chosen.length} done${failed > 0 ? `, ${failed} failed` : ""}`}
          </span>
          <Button onClick={onClose}>{state === "over" ? "Close" : "Cancel"}</Button>
          {state !== "over" && (
            <Button kind="main" icon={doing === "sync" ? "sync" : "refresh"} busy={state === "runs"} disabled={chosen.length === 0} onClick={() => void run()}>
              {words[doing].button}
            </Button>
          )}
        </>
      }
    >
      {doing === "sync" && (
        <fieldset className="checks-line" disabled={state !== "asks"}>
          <legend className="aside">How</legend>
          <Check title="Only those that differ from Git" value={differing} onChange={setDiffering} />
          <Check title="Delete what Git no longer has" value={prune} onChange={setPrune} />
          <Check title="Dry run: change nothing" value={dryRun} onChange={setDryRun} />
        </fieldset>
      )}
      <Some of={chosen} within="ul" className="bulk">
        {(a) => (
          <li key={rowKey(a)} className="result">
            <Said outcome={outcomes.get(rowKey(a))} word={words[doing].running} />
            <Link to={appHref(a.metadata)}>{a.metadata.name}</Link>
            <span className="soft grow">{a.spec.project}</span>
            <HealthBadge health={healthOf(a)} quiet />
            <SyncBadge sync={syncOf(a)} quiet />
          </li>
        )}
      </Some>
    </Dialog>
  );
}

function Said({ outcome, word }: { outcome: Outcome | undefined; word: string }) {
  if (outcome === undefined) return <span className="said soft">waits</span>;
  if (outcome === "runs") {
    return (
      <span className="said tone-busy">
        <Icon name="progressing" size={14} spin /> …
      </span>
    );
  }
  if (outcome === "done") {
    return (
      <span className="said tone-good">
        <Icon name="healthy" size={14} /> {word}
      </span>
    );
  }
  return (
    <span className="said tone-bad" title={outcome.problem}>
      <Icon name="degraded" size={14} /> {outcome.problem}
    </span>
  );
}
