import { Icon, type IconName } from "./Icon";
import { Link } from "./Link";

export interface Tab {
  id: string;
  title: string;
  icon: IconName;
  to: string;
  count?: number | undefined;
}

/** Tabs are links: each has an address, and the browser's way back works. */
export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((t) => (
        <Link key={t.id} to={t.to} aria-current={t.id === current ? "page" : undefined}>
          <Icon name={t.icon} />
          {t.title}
          {t.count !== undefined && t.count > 0 && <span className="count">{t.count}</span>}
        </Link>
      ))}
    </nav>
  );
}
