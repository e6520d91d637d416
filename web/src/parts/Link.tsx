import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "../state/route";

interface Props extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
  replace?: boolean;
}

/** Link goes elsewhere within the pages; with a key held down the browser does what it always does. */
export function Link({ to, replace = false, onClick, ...rest }: Props) {
  const click = (e: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(e);
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(to, { replace });
  };
  return <a {...rest} href={to} onClick={click} />;
}
