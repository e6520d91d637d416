import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

/** Menu opens below its button, and closes when something in it was pressed or the focus leaves it. */
export function Menu({ label, icon = "more", text, keep = false, children }: { label: string; icon?: IconName; text?: ReactNode; keep?: boolean; children: ReactNode }) {
  return (
    <details
      className="menu"
      onBlur={(e) => !e.currentTarget.contains(e.relatedTarget) && (e.currentTarget.open = false)}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || !e.currentTarget.open) return;
        e.currentTarget.open = false;
        e.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary aria-label={text ? undefined : label}>
        <Icon name={icon} />
        {text}
      </summary>
      <div
        className="menu-in"
        onClick={(e) => {
          if (!keep && e.target !== e.currentTarget) (e.currentTarget.parentElement as HTMLDetailsElement).open = false;
        }}
      >
        {children}
      </div>
    </details>
  );
}
