import * as api from "../api/applications";
import type { Name } from "../api/applications";
import { keyOf } from "../model/graph";
import { span } from "../model/time";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Icon } from "../parts/Icon";
import { Some } from "../parts/Some";
import { Notice } from "../parts/States";
import { Badge } from "../parts/Status";
import { part } from "../state/application";
import { useAsk } from "../state/ask";

/** DriftView is what somebody changed in the cluster, and how long it stood. */
export function DriftView({ name }: { name: Name }) {
  const answer = useAsk(part(name, "drift"), () => api.drift(name));
  return (
    <Answered answer={answer} what="the drift">
      {(list) =>
        list.length === 0 ? (
          <Notice icon="synced" title="Nobody changed anything in the cluster">
            What drifts and is set right is written down here: the field, who wrote it, and for how long it stood.
          </Notice>
        ) : (
          <Some of={list} within="ol" className="drifts">
            {(e) => (
              <li key={keyOf(e) + (e.field ?? "") + e.seen} className="panel">
                {e.healed ? (
                  <Badge tone="good" icon="synced" quiet>
                    Set right
                  </Badge>
                ) : (
                  <Badge tone="warn" icon="drift">
                    Stands
                  </Badge>
                )}
                <div className="grow">
                  <strong>
                    {e.kind}/{e.name}
                  </strong>{" "}
                  <span className="mono">{e.field}</span>
                  <p className="soft line">
                    {e.manager && (
                      <>
                        <Icon name="user" size={13} /> {e.manager},{" "}
                      </>
                    )}
                    seen <Ago at={e.seen} />
                    {e.healed && `, set right after ${span((Date.parse(e.healed) - Date.parse(e.seen)) / 1000)}`}
                  </p>
                </div>
              </li>
            )}
          </Some>
        )
      }
    </Answered>
  );
}
