import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application, Key, Plan, SyncWish } from "../api/types";
import { keyOf } from "../model/graph";
import { isAutomated } from "../model/status";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { attempt } from "../state/toast";
import { Findings } from "./Findings";
import { PlanWaves } from "./PlanWaves";
import { itemsOf, noOptions, risky, SyncOptions, type Options } from "./SyncOptions";

interface Props {
  app: Application;
  name: Name;
  onClose: () => void;
  onStarted: () => void;
}

/** SyncDialog shows what a sync would do before anybody presses. */
export function SyncDialog({ app, name, onClose, onStarted }: Props) {
  const [options, setOptions] = useState<Options>({ ...noOptions, prune: app.spec.syncPolicy?.automated?.prune ?? false });
  const [revision, setRevision] = useState("");
  const [without, setWithout] = useState<ReadonlySet<string>>(new Set());
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState("");
  const unsure = risky(options) && typed !== name.name;
  const plan = useAsk(part(name, `plan:${revision}`), () => api.plan(name, revision || undefined));
  const why = useAsk(part(name, "why:sync"), () => api.why(name, "sync"));
  const stopped = why.data?.allowed === false;
  const objects = plan.data ? objectsOf(plan.data) : [];
  const chosen = objects.filter((o) => !without.has(keyOf(o)));
  const run = async () => {
    setBusy(true);
    const started = await attempt(options.dryRun ? "The dry run has begun." : "The sync has begun.", () => api.sync(name, wishOf({ options, revision, without, chosen })));
    setBusy(false);
    if (!started) return;
    onClose();
    onStarted();
  };
  const toggle = (key: string) => setWithout(without.has(key) ? new Set([...without].filter((k) => k !== key)) : new Set([...without, key]));
  return (
    <Dialog
      title={`Sync ${name.name}`}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <span className="soft grow">{plan.data ? summary(plan.data, chosen.length, objects.length, options.prune) : ""}</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind={risky(options) ? "danger" : "main"} icon="sync" busy={busy} disabled={stopped || unsure || (objects.length > 0 && chosen.length === 0)} onClick={() => void run()}>
            {options.dryRun ? "Dry run" : "Sync"}
          </Button>
        </>
      }
    >
      {why.data && stopped && <Stopped checks={why.data.checks} />}
      <div className="sync-top">
        <RevisionField value={revision} fallback={app.spec.source?.targetRevision ?? "HEAD"} onChange={setRevision} disabled={isAutomated(app)} />
        <SyncOptions value={options} onChange={setOptions} />
      </div>
      {risky(options) && (
        <label className="field">
          <span>
            What cannot be changed in place is deleted and made anew, and what runs in it stops meanwhile. Type <strong>{name.name}</strong> to go on.
          </span>
          <input value={typed} onChange={(e) => setTyped(e.target.value)} autoComplete="off" spellCheck={false} />
        </label>
      )}
      <header className="plan-head">
        <h3>What would happen</h3>
        {objects.length > 1 && (
          <span>
            <Button kind="bare" onClick={() => setWithout(new Set())}>
              All
            </Button>
            <Button kind="bare" onClick={() => setWithout(new Set(objects.map(keyOf)))}>
              None
            </Button>
          </span>
        )}
      </header>
      <Answered answer={plan} what="the plan">
        {(p) => (
          <>
            <Findings list={p.findings} />
            <PlanWaves plan={p} without={without} onToggle={toggle} prune={options.prune} />
          </>
        )}
      </Answered>
    </Dialog>
  );
}

const objectsOf = (p: Plan) => p.waves.flatMap((w) => w.objects).filter((o) => !o.hook && !o.aside);

function wishOf({ options, revision, without, chosen }: { options: Options; revision: string; without: ReadonlySet<string>; chosen: readonly Key[] }): SyncWish {
  const wish: SyncWish = { prune: options.prune, dryRun: options.dryRun };
  if (revision) wish.revision = revision;
  if (options.applyOnly) wish.strategy = { apply: { force: options.force } };
  else if (options.force) wish.strategy = { hook: { force: true } };
  if (without.size > 0) {
    wish.resources = chosen.map(({ group, kind, namespace, name }) => ({ kind, name, ...(group ? { group } : {}), ...(namespace ? { namespace } : {}) }));
  }
  const items = itemsOf(options);
  if (items.length > 0) wish.syncOptions = { items };
  if (options.retries) wish.retryStrategy = { limit: Number(options.retries) };
  return wish;
}

function summary(p: Plan, chosen: number, all: number, prune: boolean): string {
  if (all === 0) return "Everything is as Git says. A sync would change nothing.";
  const deletes = p.summary.prune ?? 0;
  const kept = !prune && deletes > 0 ? ` ${deletes} that Git no longer has would stay.` : "";
  const count = chosen === all ? `${all}` : `${chosen} of ${all}`;
  return `${count} ${all === 1 ? "object" : "objects"} would be synced.${kept}`;
}

function Stopped({ checks }: { checks: readonly { name: string; passed: boolean; why: string; line?: string }[] }) {
  return (
    <ul className="conditions" aria-label="What is in the way">
      {checks
        .filter((c) => !c.passed)
        .map((c) => (
          <li key={c.name} className="tone-bad">
            <Icon name="lock" />
            <div>
              <strong>You can not sync now: {c.name}</strong>
              <p>{c.why}</p>
              {c.line && <code>{c.line}</code>}
            </div>
          </li>
        ))}
    </ul>
  );
}

function RevisionField({ value, fallback, onChange, disabled }: { value: string; fallback: string; onChange: (v: string) => void; disabled: boolean }) {
  const [text, setText] = useState(value);
  return (
    <label className="field">
      Revision
      <input
        value={text}
        placeholder={fallback}
        disabled={disabled}
        spellCheck={false}
        onChange={(e) => setText(e.target.value)}
        onBlur={() => onChange(text.trim())}
        onKeyDown={(e) => e.key === "Enter" && onChange(text.trim())}
      />
      <span className="soft">{disabled ? "It syncs itself, so another revision would be undone at once." : "Empty is what the application says."}</span>
    </label>
  );
}
