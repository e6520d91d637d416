import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { PlanObject } from "../api/types";
import { keyOf } from "../model/graph";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Some } from "../parts/Some";
import { Notice } from "../parts/States";
import { ActionBadge } from "../parts/Status";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { setParams } from "../state/route";
import { Changes } from "./Changes";
import { Findings } from "./Findings";

/** DiffView is everything that differs from Git, object by object and field by field. */
export function DiffView({ name }: { name: Name }) {
  const answer = useAsk(part(name, "explain"), () => api.explain(name));
  return (
    <Answered answer={answer} what="what differs">
      {(e) => {
        const objects = e.objects.filter((o) => o.sync === "OutOfSync" || (o.changes?.length ?? 0) > 0);
        return (
          <div className="diff">
            <Findings list={e.findings} />
            {objects.length === 0 ? (
              <Notice icon="synced" title="Everything is as Git says">
                What others hold, and what ignore rules leave to them, does not count.
              </Notice>
            ) : (
              <>
                <p className="lead">
                  {objects.length} {objects.length === 1 ? "object differs" : "objects differ"} from Git. A sync would do what stands beside each.
                </p>
                <Some of={objects} step={50} within="div" className="diff">
                  {(o) => <Differing key={keyOf(o)} object={o} />}
                </Some>
              </>
            )}
          </div>
        );
      }}
    </Answered>
  );
}

function Differing({ object }: { object: PlanObject }) {
  const [rule, setRule] = useState(false);
  return (
    <article className="panel differs">
      <header>
        <ActionBadge action={object.action} />
        <h3>
          <span className="soft">{object.kind}</span> {object.namespace && <span className="soft">{object.namespace}/</span>}
          {object.name}
        </h3>
        <span className="soft grow">{object.reason}</span>
        {object.rule && (
          <Button kind="bare" aria-expanded={rule} onClick={() => setRule(!rule)}>
            Leave it to them …
          </Button>
        )}
        <Button kind="bare" icon="diff" onClick={() => setParams({ resource: keyOf(object), tab: "diff" })}>
          Whole object
        </Button>
      </header>
      {object.changes && object.changes.length > 0 && <Changes changes={object.changes} />}
      {rule && object.rule && (
        <div className="rule">
          <p>
            To leave these fields to whoever writes them, commit this to the application's <code>spec.ignoreDifferences</code>:
          </p>
          <div className="code">
            <pre>{object.rule}</pre>
            <Copy text={object.rule} label="Copy the rule" />
          </div>
        </div>
      )}
    </article>
  );
}
