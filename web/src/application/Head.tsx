import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application, Tree } from "../api/types";
import { placeName } from "../fleet/Table";
import { awaited, healthOf, isAutomated, liveRevision, runs, sentence, sourcesOf, syncOf } from "../model/status";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Menu } from "../parts/Menu";
import { HealthBadge, PhaseBadge, SyncBadge } from "../parts/Status";
import { useNow } from "../state/clock";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { href, setParams } from "../state/route";
import { attempt } from "../state/toast";
import { DeleteDialog } from "./DeleteDialog";
import { Revision } from "./Revision";

interface Props {
  app: Application;
  tree: Tree | undefined;
  name: Name;
  onSync: () => void;
  onRefresh: (kind: "normal" | "hard") => void;
}

/** Head is what matters of an application: how it is, why, what Git says and what is there. */
export function Head({ app, tree, name, onSync, onRefresh }: Props) {
  const operation = app.status.operationState;
  return (
    <header className="app-head">
      <div className="app-title">
        <nav aria-label="Where you are">
          <Link to={href("applications")}>Applications</Link> <Icon name="right" size={12} />{" "}
          <Link to={href("applications", { project: app.spec.project })}>{app.spec.project}</Link>
        </nav>
        <h1>{name.name}</h1>
        <div className="badges">
          <HealthBadge health={healthOf(app)} quiet={false} full />
          <SyncBadge sync={syncOf(app)} quiet={false} full />
          {operation && operation.phase !== "Succeeded" && <PhaseBadge phase={operation.phase} />}
        </div>
        <Actions app={app} name={name} onSync={onSync} onRefresh={onRefresh} />
      </div>
      <Sentence app={app} tree={tree} />
      <Facts app={app} name={name} />
      <Conditions app={app} name={name} />
    </header>
  );
}

function Sentence({ app, tree }: Pick<Props, "app" | "tree">) {
  const now = useNow();
  const { tone, text } = sentence(app, tree, now);
  return (
    <p className={`sentence tone-${tone}`} role="status">
      {text}
    </p>
  );
}

function Facts({ app, name }: Pick<Props, "app" | "name">) {
  const sources = sourcesOf(app);
  const source = sources[0];
  const desired = app.status.sync.revision ?? app.status.sync.revisions?.[0];
  const live = liveRevision(app);
  const [open, setOpen] = useState(false);
  return (
    <div className="facts-box">
      <dl id="facts" className={open ? "facts open" : "facts"}>
        <div>
          <dt>Git says</dt>
          <dd>{desired ? <Revision name={name} revision={desired} /> : <span className="soft">not looked at yet</span>}</dd>
        </div>
        <div>
          <dt>Synced last</dt>
          <dd>{live ? live === desired ? <span className="as-desired"><Icon name="synced" size={14} /> the same revision</span> : <Revision name={name} revision={live} /> : <span className="soft">never</span>}</dd>
        </div>
        <div>
          <dt>Looked at Git</dt>
          <dd>
            <Ago at={app.status.reconciledAt} />
          </dd>
        </div>
        <div>
          <dt>From</dt>
          <dd>
            <span className="line" title={source?.repoURL}>
              {source?.repoURL.replace(/^https?:\/\//, "").replace(/\.git$/, "")}
            </span>
            <span className="soft line">
              {source?.path ?? source?.chart} at {source?.targetRevision ?? "HEAD"}
              {sources.length > 1 && ` and ${sources.length - 1} more`}
            </span>
          </dd>
        </div>
        <div>
          <dt>To</dt>
          <dd>
            <span className="line">{app.spec.destination.namespace ?? "as each object says"}</span>
            <span className="soft line">{placeName(app.spec.destination)}</span>
          </dd>
        </div>
        <div>
          <dt>Automation</dt>
          <dd>
            <span className="line">{isAutomated(app) ? "Syncs itself" : "Waits for people"}</span>
            <span className="soft line" title={automation(app)}>
              {automation(app)}
            </span>
          </dd>
        </div>
      </dl>
      {/* Where there is little room, what Git says stands for all of it. */}
      <Button kind="bare" icon={open ? "up" : "down"} label={open ? "Less about it" : "More about it"} className="small-only" aria-expanded={open} aria-controls="facts" onClick={() => setOpen(!open)} />
    </div>
  );
}

function automation(app: Application): string {
  const a = app.spec.syncPolicy?.automated;
  if (!isAutomated(app)) return "until somebody syncs";
  const parts = [a?.prune && "prunes", a?.selfHeal && "heals drift"].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "new revisions only";
}

function Conditions({ app, name }: Pick<Props, "app" | "name">) {
  const all = app.status.conditions ?? [];
  // Windows open and close without the application changing: they are read with it, and whenever somebody wants to sync.
  const windows = useAsk(part(name, "windows"), () => api.windows(name)).data;
  const held = windows && !windows.canSync;
  const asked = awaited(app);
  if (all.length === 0 && !held && !asked) return null;
  return (
    <ul className="conditions" aria-label="What should be known">
      {held && (
        <li className="tone-idle">
          <Icon name="wait" />
          <div>
            <strong>Nobody can sync now</strong>
            <p>{windows.reason}</p>
          </div>
        </li>
      )}
      {asked && <Awaited what={asked} name={name} />}
      {all.map((c) => (
        <li key={c.type + c.message} className={`tone-${c.type.endsWith("Error") ? "bad" : "warn"}`}>
          <Icon name="degraded" />
          <div>
            <strong>{c.type}</strong>
            <p>{c.message}</p>
          </div>
          <span className="soft">
            <Ago at={c.lastTransitionTime} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Awaited asks for the word without which some objects are not deleted. */
function Awaited({ what, name }: { what: string; name: Name }) {
  const [asking, setAsking] = useState(false);
  return (
    <li className="tone-warn">
      <Icon name="wait" />
      <div>
        <strong>Somebody has to confirm the deletion</strong>
        <p>{what} would be deleted. Git asks for a word of somebody before.</p>
      </div>
      <Button kind="danger" icon="trash" onClick={() => setAsking(true)}>
        Confirm …
      </Button>
      {asking && (
        <Confirm title="Confirm the deletion" word="Delete" done="It is confirmed." run={() => api.approveDeletion(name, new Date())} onClose={() => setAsking(false)}>
          <p>
            <strong>{what}</strong> will be deleted from the cluster. This cannot be taken back.
          </p>
        </Confirm>
      )}
    </li>
  );
}

function Actions({ app, name, onSync, onRefresh }: Omit<Props, "tree">) {
  const [deleting, setDeleting] = useState(false);
  const links = useAsk(part(name, "links"), () => api.links(name)).data ?? [];
  const outside = app.status.summary?.externalURLs ?? [];
  const automated = isAutomated(app);
  const toggle = () =>
    void attempt(automated ? "It waits for people now." : "It syncs itself now.", () =>
      api.patch(name, { spec: { syncPolicy: { automated: automated ? { enabled: false } : { enabled: true } } } }),
    );
  const end = () => void attempt("The sync is being ended.", () => api.terminate(name));
  return (
    <div className="actions">
      {runs(app) ? (
        <Button icon="stop" kind="danger" onClick={end}>
          End the sync
        </Button>
      ) : (
        <Button icon="sync" kind="main" onClick={onSync}>
          Sync …
        </Button>
      )}
      <Button icon="refresh" className="wide-only" onClick={() => onRefresh("normal")}>
        Refresh
      </Button>
      <Menu label="More">
        <Button kind="bare" icon="refresh" className="small-only" onClick={() => onRefresh("normal")}>
          Refresh
        </Button>
        <Button kind="bare" icon="refresh" onClick={() => onRefresh("hard")}>
          Hard refresh
        </Button>
        <Button kind="bare" icon="settings" onClick={() => setParams({ edit: "form" })}>
          Edit …
        </Button>
        <Button kind="bare" icon="sync" onClick={toggle}>
          {automated ? "Turn automated sync off" : "Turn automated sync on"}
        </Button>
        {[...links, ...outside.filter((u) => /^https?:\/\//.test(u)).map((url) => ({ title: url.replace(/^https?:\/\//, ""), url }))].map((l) => (
          <a key={l.url} className="button bare" href={l.url} target="_blank" rel="noreferrer">
            <Icon name="external" /> {l.title}
          </a>
        ))}
        <Button kind="bare" icon="trash" onClick={() => setDeleting(true)}>
          Delete …
        </Button>
      </Menu>
      {deleting && <DeleteDialog app={app} name={name} onClose={() => setDeleting(false)} />}
    </div>
  );
}
