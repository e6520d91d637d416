import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: IconName;
  kind?: "plain" | "main" | "danger" | "bare";
  busy?: boolean;
  /** label names a button that shows an icon only. */
  label?: string;
}

export function Button({ icon, kind = "plain", busy = false, label, children, className, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind}${children ? "" : " only"} ${className ?? ""}`}
      aria-label={label}
      title={label ?? rest.title}
      disabled={rest.disabled || busy}
    >
      {busy ? <Icon name="progressing" spin /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
