import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application } from "../api/types";
import { countOf } from "../model/status";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { go, href } from "../state/route";
import { attempt } from "../state/toast";

/** DeleteDialog has the name typed: what goes is said before. */
export function DeleteDialog({ app, name, onClose }: { app: Application; name: Name; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [cascade, setCascade] = useState(true);
  const [busy, setBusy] = useState(false);
  const count = countOf(app);
  const run = async () => {
    setBusy(true);
    const done = await attempt(`${name.name} is being deleted.`, () => api.remove(name, cascade));
    setBusy(false);
    if (done === undefined) return;
    onClose();
    go(href("applications"));
  };
  return (
    <Dialog
      title={`Delete ${name.name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" icon="trash" busy={busy} disabled={typed !== name.name} onClick={() => void run()}>
            Delete
          </Button>
        </>
      }
    >
      <fieldset className="options">
        <label>
          <input type="radio" name="cascade" checked={cascade} onChange={() => setCascade(true)} />
          <span>
            <strong>The application and its {count} objects</strong>
            <span className="soft">What runs is taken out of the cluster.</span>
          </span>
        </label>
        <label>
          <input type="radio" name="cascade" checked={!cascade} onChange={() => setCascade(false)} />
          <span>
            <strong>The application alone</strong>
            <span className="soft">The objects stay, and nobody looks after them.</span>
          </span>
        </label>
      </fieldset>
      <label className="field">
        Type <strong>{name.name}</strong> to go on
        <input value={typed} onChange={(e) => setTyped(e.target.value)} autoComplete="off" spellCheck={false} />
      </label>
    </Dialog>
  );
}
