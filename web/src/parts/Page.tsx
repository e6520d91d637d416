import { useEffect, type ReactNode } from "react";
import { Icon } from "./Icon";
import { Link } from "./Link";

interface Props {
  title: string;
  /** above is the way back up. */
  above?: readonly { title: string; to: string }[];
  lead?: ReactNode;
  actions?: ReactNode;
  badges?: ReactNode;
  children: ReactNode;
}

/** Page is the frame of the pages that are read from top to bottom. */
export function Page({ title, above = [], lead, actions, badges, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Towline`;
  }, [title]);
  return (
    <main className="page sheet">
      <header className="sheet-head">
        {above.length > 0 && (
          <nav aria-label="Where you are">
            {above.map((a) => (
              <span key={a.to}>
                <Link to={a.to}>{a.title}</Link> <Icon name="right" size={12} />{" "}
              </span>
            ))}
          </nav>
        )}
        <h1>{title}</h1>
        {badges && <div className="badges">{badges}</div>}
        {actions && <div className="actions">{actions}</div>}
        {lead && <p className="sheet-lead soft">{lead}</p>}
      </header>
      {children}
    </main>
  );
}

/** Section is a part of such a page. */
export function Section({ title, count, actions, children }: { title: string; count?: number | undefined; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel section" aria-label={title}>
      <header>
        <h2>
          {title} {count !== undefined && <span className="soft">{count}</span>}
        </h2>
        {actions}
      </header>
      {children}
    </section>
  );
}
