import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { ClusterEvent, Key } from "../api/types";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Some } from "../parts/Some";
import { Notice } from "../parts/States";
import { Badge } from "../parts/Status";
import { part } from "../state/application";
import { useAsk, type Answer } from "../state/ask";

const seen = (e: ClusterEvent) => e.lastTimestamp ?? e.eventTime ?? e.firstTimestamp ?? "";

/** EventsView is what Kubernetes and Towline said about an application, or about one of its objects. */
export function EventsView({ name, about, uid }: { name: Name; about?: Key; uid?: string | undefined }) {
  const key = about ? `events:${about.kind}/${about.namespace ?? ""}/${about.name}` : "events";
  const answer = useAsk(part(name, key), () => api.events(name, about, uid));
  return <Events answer={answer} />;
}

/** Events are what was said about something, the newest first. */
export function Events({ answer }: { answer: Answer<ClusterEvent[]> & { again: () => void } }) {
  return (
    <Answered answer={answer} what="the events">
      {(list) =>
        list.length === 0 ? (
          <Notice icon="events" title="Nothing was said lately">
            Kubernetes keeps events for about an hour.
          </Notice>
        ) : (
          <Some of={list.toReversed()} within="ol" className="events">
            {(e) => (
              <li key={e.metadata.name}>
                <Badge tone={e.type === "Warning" ? "warn" : "none"} icon={e.type === "Warning" ? "degraded" : "events"} quiet={e.type !== "Warning"}>
                  {e.reason ?? "Event"}
                </Badge>
                <span className="grow">{e.message}</span>
                {(e.count ?? 1) > 1 && <span className="soft">{e.count} times</span>}
                <span className="soft when">
                  <Ago at={seen(e)} />
                </span>
              </li>
            )}
          </Some>
        )
      }
    </Answered>
  );
}
