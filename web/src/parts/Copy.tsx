import { useState } from "react";
import { say } from "../state/toast";
import { Button } from "./Button";

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      say("The browser does not let us copy here.", "problem");
    }
  };
  return <Button kind="bare" icon={done ? "synced" : "copy"} label={done ? "Copied" : label} onClick={() => void copy()} />;
}
