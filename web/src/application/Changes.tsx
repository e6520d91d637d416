import type { FieldChange } from "../api/types";
import { toYAML } from "../model/yaml";
import { Ago } from "../parts/Ago";
import { Icon } from "../parts/Icon";

function Value({ value, side }: { value: unknown; side: "live" | "desired" }) {
  if (value === undefined) return <span className="soft open">{side === "live" ? "not there" : "Git leaves it open"}</span>;
  return <pre className={`value of-${side}`}>{toYAML(value)}</pre>;
}

/** Changes are the fields that differ: both values, who wrote the live one, and when at the latest. */
export function Changes({ changes }: { changes: readonly FieldChange[] }) {
  return (
    <div className="changes" role="table" aria-label="Fields that differ">
      <div className="change head" role="row">
        <span role="columnheader">Field</span>
        <span role="columnheader">In the cluster</span>
        <span role="columnheader">In Git</span>
        <span role="columnheader">Written by</span>
      </div>
      {changes.map((c) => (
        <div key={c.path} className="change" role="row">
          <span role="cell" className="mono path">
            {c.path}
          </span>
          <span role="cell" data-title="In the cluster">
            <Value value={c.live} side="live" />
          </span>
          <span role="cell" data-title="In Git">
            <Value value={c.desired} side="desired" />
          </span>
          <span role="cell" data-title="Written by">
            {c.heldBy?.map((h) => (
              <span key={h.manager + h.operation + (h.subresource ?? "")} className="holder">
                <Icon name="user" size={13} /> <strong>{h.manager}</strong>
                <span className="soft">
                  {h.subresource && `${h.subresource}, `}
                  {h.wroteLast && (
                    <>
                      at the latest <Ago at={h.wroteLast} />
                    </>
                  )}
                </span>
              </span>
            )) ?? <span className="soft">nobody else holds it</span>}
          </span>
        </div>
      ))}
    </div>
  );
}
