import { useEffect } from "react";
import type { IconName } from "../parts/Icon";
import { Store } from "./store";

/** Command is something that can be done here and now, for the palette. */
export interface Command {
  id: string;
  title: string;
  hint?: string;
  icon: IconName;
  run: () => void;
}

export const commands = new Store<readonly Command[]>([]);
export const paletteOpen = new Store(false);
export const helpOpen = new Store(false);

/** useCommands offers commands while a component is shown. */
export function useCommands(list: readonly Command[], ...depends: readonly unknown[]): void {
  useEffect(() => {
    commands.update((all) => [...all, ...list]);
    return () => commands.update((all) => all.filter((c) => !list.includes(c)));
    // The list is made anew with each drawing; what it depends on says when it is another.
    // eslint-disable-next-line
  }, depends);
}
