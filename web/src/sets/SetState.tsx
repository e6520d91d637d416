import type { ApplicationSet } from "../api/sets";
import { Badge } from "../parts/Status";

/** SetState is one word for a set: what stands in its way, or that it does its work. */
export function SetState({ set }: { set: ApplicationSet }) {
  const holds = (type: string) => set.status?.conditions?.find((c) => c.type === type && c.status === "True");
  if (holds("ErrorOccurred")) return <Badge tone="bad" icon="degraded">Fails</Badge>;
  if (holds("RolloutProgressing")) return <Badge tone="busy" icon="progressing">Rolls out</Badge>;
  if (holds("ResourcesUpToDate")) {
    return (
      <Badge tone="good" icon="synced" quiet>
        Up to date
      </Badge>
    );
  }
  return (
    <Badge tone="none" icon="unknown" quiet>
      Not looked at yet
    </Badge>
  );
}
