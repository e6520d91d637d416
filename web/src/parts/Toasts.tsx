import { useStore } from "../state/store";
import { dismiss, toasts } from "../state/toast";
import { Button } from "./Button";
import { Icon } from "./Icon";

export function Toasts() {
  const all = useStore(toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((t) => (
        <div key={t.id} className={`toast tone-${t.kind === "done" ? "good" : "bad"}`}>
          <Icon name={t.kind === "done" ? "healthy" : "degraded"} />
          <span>{t.text}</span>
          <Button kind="bare" icon="close" label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  );
}
