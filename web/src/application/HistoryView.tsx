import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application, HistoryEntry } from "../api/types";
import { isAutomated } from "../model/status";
import { span } from "../model/time";
import { toYAML } from "../model/yaml";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Notice } from "../parts/States";
import { appHref, go } from "../state/route";
import { attempt } from "../state/toast";
import { Compare } from "./Compare";
import { Revision } from "./Revision";

/** HistoryView has the revisions that were synced, the newest first, and the way back to each. */
export function HistoryView({ app, name }: { app: Application; name: Name }) {
  const [back, setBack] = useState<HistoryEntry | undefined>(undefined);
  const [compare, setCompare] = useState<HistoryEntry | undefined>(undefined);
  const list = [...(app.status.history ?? [])].sort((a, b) => b.id - a.id);
  if (list.length === 0) {
    return (
      <Notice icon="history" title="There is no history yet">
        Each sync that ends well is written down here.
      </Notice>
    );
  }
  return (
    <>
      <ol className="history">
        {list.map((h, i) => (
          <li key={h.id} className="panel">
            <span className="number">#{h.id}</span>
            <div className="grow">
              <Revision name={name} revision={h.revision ?? h.revisions?.[0] ?? ""} />
              <Made of={h} />
            </div>
            <span className="soft">
              <Ago at={h.deployedAt} />
              {h.deployStartedAt && `, took ${span((Date.parse(h.deployedAt) - Date.parse(h.deployStartedAt)) / 1000)}`}
            </span>
            <span className="soft">{h.initiatedBy?.automated ? "by itself" : h.initiatedBy?.username ? `by ${h.initiatedBy.username}` : ""}</span>
            {list.length > 1 && (
              <Button kind="bare" icon="diff" onClick={() => setCompare(h)}>
                Compare …
              </Button>
            )}
            {i === 0 ? (
              <span className="now">now</span>
            ) : (
              <Button icon="back" onClick={() => setBack(h)}>
                Back to this …
              </Button>
            )}
          </li>
        ))}
      </ol>
      {compare && <Compare name={name} list={list} from={compare} onClose={() => setCompare(undefined)} />}
      {back && <Rollback app={app} name={name} to={back} onClose={() => setBack(undefined)} />}
    </>
  );
}

/** Made is what a revision was rendered from, with its parameters. */
function Made({ of: h }: { of: HistoryEntry }) {
  const from = h.sources ?? h.source;
  if (!from) return null;
  return (
    <details className="made">
      <summary>Source and parameters</summary>
      <div className="code">
        <pre tabIndex={0}>{toYAML(from)}</pre>
      </div>
    </details>
  );
}

function Rollback({ app, name, to, onClose }: { app: Application; name: Name; to: HistoryEntry; onClose: () => void }) {
  const [prune, setPrune] = useState(false);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    const done = await attempt("On the way back.", () => api.rollback(name, to.id, prune));
    setBusy(false);
    if (!done) return;
    onClose();
    go(appHref(name, { view: "sync" }));
  };
  return (
    <Dialog
      title={`Back to #${to.id}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Stay</Button>
          <Button kind="main" icon="back" busy={busy} onClick={() => void run()}>
            Go back
          </Button>
        </>
      }
    >
      <div className="panel">
        <Revision name={name} revision={to.revision ?? to.revisions?.[0] ?? ""} />
      </div>
      <p>
        The cluster gets what Git had then. {isAutomated(app) ? "Automated sync stays on: the revision that is left is not synced by itself again, and the next commit is." : "Git itself is not changed."}
      </p>
      <label className="check">
        <input type="checkbox" checked={prune} onChange={(e) => setPrune(e.target.checked)} /> Delete what was not there then
      </label>
    </Dialog>
  );
}
