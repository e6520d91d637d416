import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Key, ObjectAction } from "../api/types";
import { keyOf } from "../model/graph";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { attempt } from "../state/toast";

const titleOf = (a: ObjectAction) => a.displayName || a.name.charAt(0).toUpperCase() + a.name.slice(1).replace(/[-_]/g, " ");

interface Props {
  name: Name;
  about: Key;
  /** managed objects can be synced alone; others came from them. */
  managed: boolean;
  live: boolean;
}

/** ObjectActions is what can be done with one object: its actions, syncing it alone, deleting it, links of the installation. */
export function ObjectActions({ name, about, managed, live }: Props) {
  const key = keyOf(about);
  const actions = useAsk(live ? part(name, `actions:${key}`) : "", () => api.actions(name, about)).data ?? [];
  const links = useAsk(live ? part(name, `links:${key}`) : "", () => api.objectLinks(name, about)).data ?? [];
  const [asking, setAsking] = useState<ObjectAction | undefined>(undefined);
  const [deleting, setDeleting] = useState(false);
  const [how, setHow] = useState<"foreground" | "force" | "orphan">("foreground");
  const run = (a: ObjectAction, params: Record<string, string> = {}) =>
    void attempt(`${titleOf(a)}: done.`, async () => {
      await api.act(name, about, a.name, params);
      return true;
    });
  const sync = () =>
    void attempt("The sync has begun.", () =>
      api.sync(name, { resources: [{ kind: about.kind, name: about.name, ...(about.group ? { group: about.group } : {}), ...(about.namespace ? { namespace: about.namespace } : {}) }] }),
    );
  return (
    <div className="object-actions">
      {actions.map((a) => (
        <Button key={a.name} disabled={a.disabled} onClick={() => ((a.params?.length ?? 0) > 0 ? setAsking(a) : run(a))}>
          {titleOf(a)}
          {(a.params?.length ?? 0) > 0 && " …"}
        </Button>
      ))}
      <Menu label="More to do with it">
        {managed && (
          <Button kind="bare" icon="sync" onClick={sync}>
            Sync it alone
          </Button>
        )}
        {links.map((l) => (
          <a key={l.url} className="button bare" href={l.url} target="_blank" rel="noreferrer">
            <Icon name="external" /> {l.title}
          </a>
        ))}
        {live && (
          <Button kind="bare" icon="trash" onClick={() => setDeleting(true)}>
            Delete …
          </Button>
        )}
      </Menu>
      {asking && <Asked action={asking} onClose={() => setAsking(undefined)} onRun={(p) => run(asking, p)} />}
      {deleting && (
        <Confirm title={`Delete ${about.kind} ${about.name}`} word="Delete" done={`${about.name} is being deleted.`} run={() => api.removeObject(name, about, how)} onClose={() => setDeleting(false)}>
          <p>{managed ? "Git has it: a sync makes it again." : "Whoever made it may make it again."}</p>
          <fieldset className="options">
            <legend className="aside">How</legend>
            {(
              [
                ["foreground", "With what it owns, one after the other"],
                ["force", "At once, without waiting for it to end"],
                ["orphan", "It alone: what it owns stays"],
              ] as const
            ).map(([value, title]) => (
              <label key={value}>
                <input type="radio" name="how" checked={how === value} onChange={() => setHow(value)} /> <span>{title}</span>
              </label>
            ))}
          </fieldset>
        </Confirm>
      )}
    </div>
  );
}

function Asked({ action, onClose, onRun }: { action: ObjectAction; onClose: () => void; onRun: (params: Record<string, string>) => void }) {
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries((action.params ?? []).map((p) => [p.name, p.default ?? ""])));
  return (
    <Dialog
      title={titleOf(action)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="main"
            onClick={() => {
              onClose();
              onRun(values);
            }}
          >
            {titleOf(action)}
          </Button>
        </>
      }
    >
      <div className="form">
        {(action.params ?? []).map((p) => (
          <Field key={p.name} title={p.name} required value={values[p.name] ?? ""} onChange={(v) => setValues({ ...values, [p.name]: v })} />
        ))}
      </div>
    </Dialog>
  );
}
