import { ago, exact } from "../model/time";
import { useNow } from "../state/clock";

/** Ago is a time in words that moves on by itself; the exact one is shown on pointing. */
export function Ago({ at }: { at: string | undefined | null }) {
  const now = useNow();
  if (!at) return <span className="soft">never</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at, now)}
    </time>
  );
}
