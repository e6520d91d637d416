import type { Finding } from "../api/types";
import { Icon } from "../parts/Icon";

/** Findings are what people should know before they go on. */
export function Findings({ list }: { list: readonly Finding[] }) {
  if (list.length === 0) return null;
  return (
    <ul className="conditions" aria-label="What was found">
      {list.map((f) => (
        <li key={f.reason + f.message} className={`tone-${/error|fatal/i.test(f.severity) ? "bad" : "warn"}`}>
          <Icon name="degraded" />
          <div>
            <strong>
              {f.reason}
              {f.object && ` · ${f.object.kind}/${f.object.name}`}
            </strong>
            <p>{f.message}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}
