import { useState } from "react";
import * as people from "../api/people";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { say } from "../state/toast";

/** PasswordDialog changes a password. Whoever asks shows their own, also for somebody else's. */
export function PasswordDialog({ name, own, onClose }: { name: string; own: boolean; onClose: () => void }) {
  const [now, setNow] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setProblem("");
    try {
      await people.setPassword(name, now, next);
      say(`The password of ${name} is another one now.`);
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Password of ${name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" busy={busy} disabled={!now || !next || next !== again} onClick={() => void run()}>
            Change it
          </Button>
        </>
      }
    >
      <div className="form">
        <Field title={own ? "Password now" : "Your own password"} required type="password" value={now} onChange={setNow} autoComplete="current-password" />
        <Field title="New password" required type="password" value={next} onChange={setNext} autoComplete="new-password" />
        <Field title="Once more" required type="password" value={again} onChange={setAgain} autoComplete="new-password" hint={again && again !== next ? "The two are not the same." : undefined} />
      </div>
      {problem && (
        <p className="problem" role="alert">
          <Icon name="degraded" /> {problem}
        </p>
      )}
    </Dialog>
  );
}
