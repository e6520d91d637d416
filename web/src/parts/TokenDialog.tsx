import { useState } from "react";
import { attempt } from "../state/toast";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Choice, Field } from "./Field";

const day = 24 * 60 * 60;
const spans = [
  ["604800", "A week"],
  ["2592000", "30 days"],
  ["7776000", "90 days"],
  ["31536000", "A year"],
  ["0", "For ever"],
] as const;

interface Props {
  of: string;
  /** named says that the token may be given a name. */
  named?: boolean;
  make: (id: string, seconds: number) => Promise<string>;
  onClose: () => void;
  onMade: (token: string) => void;
}

/** TokenDialog makes a token that ends by itself, unless somebody wants otherwise. */
export function TokenDialog({ of, named = false, make, onClose, onMade }: Props) {
  const [id, setId] = useState("");
  const [lasts, setLasts] = useState<(typeof spans)[number][0]>(String(90 * day) as "7776000");
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    const token = await attempt("", () => make(id.trim(), Number(lasts)));
    setBusy(false);
    if (!token) return;
    onClose();
    onMade(token);
  };
  return (
    <Dialog
      title={`New token of ${of}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" icon="plus" busy={busy} onClick={() => void run()}>
            Make it
          </Button>
        </>
      }
    >
      <div className="form">
        {named && <Field title="Name" value={id} onChange={setId} placeholder="build-server" hint="So that it is known later what uses it." />}
        <Choice title="Good for" value={lasts} of={spans} onChange={setLasts} />
      </div>
    </Dialog>
  );
}
