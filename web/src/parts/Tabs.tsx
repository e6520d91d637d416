import { useEffect, useRef } from "react";
import { Icon, type IconName } from "./Icon";
import { Link } from "./Link";

export interface Tab {
  id: string;
  title: string;
  icon: IconName;
  to: string;
  count?: number | undefined;
  /** plain counts say how many there are, and not that somebody should look. */
  plain?: boolean;
}

/** Tabs are links: each has an address, and the browser's way back works. */
export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow screen the current one may be out of sight; the page itself must not move for it.
    const at = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (at && bar.current) bar.current.scrollLeft = at.offsetLeft - bar.current.clientWidth / 2 + at.clientWidth / 2;
  }, [current]);
  return (
    <nav className="tabs" aria-label={label} ref={bar}>
      {tabs.map((t) => (
        <Link key={t.id} to={t.to} aria-current={t.id === current ? "page" : undefined}>
          <Icon name={t.icon} />
          {t.title}
          {t.count !== undefined && t.count > 0 && <span className={t.plain ? "count plain" : "count"}>{t.count}</span>}
        </Link>
      ))}
    </nav>
  );
}
