import { useState, type ReactNode } from "react";
import { attempt } from "../state/toast";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  /** word is what the button says. */
  word: string;
  done: string;
  /** typed has a name typed before anything happens. */
  typed?: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  onDone?: () => void;
  children?: ReactNode;
}

/** Confirm asks before something goes that somebody may need. */
export function Confirm({ title, word, done, typed, run, onClose, onDone, children }: Props) {
  const [busy, setBusy] = useState(false);
  const [text, setText] = useState("");
  const go = async () => {
    setBusy(true);
    const out = await attempt(done, async () => (await run()) ?? true);
    setBusy(false);
    if (out === undefined) return;
    onClose();
    onDone?.();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" icon="trash" busy={busy} disabled={typed !== undefined && text !== typed} onClick={() => void go()}>
            {word}
          </Button>
        </>
      }
    >
      {children}
      {typed !== undefined && (
        <label className="field">
          <span>
            Type <strong>{typed}</strong> to go on
          </span>
          <input value={text} onChange={(e) => setText(e.target.value)} autoComplete="off" spellCheck={false} />
        </label>
      )}
    </Dialog>
  );
}
