import { useLayoutEffect, useRef } from "react";

type Bindings = Record<string, (e: KeyboardEvent) => void>;

const typing = (e: KeyboardEvent) =>
  e.target instanceof HTMLElement && (e.target.isContentEditable || /^(input|textarea|select)$/i.test(e.target.tagName));

let before = "";
let beforeAt = 0;

/** chord is the key that was pressed, with the one before it where that begins a chord such as "g a". */
function chord(e: KeyboardEvent): string[] {
  // When it was pressed, and not when a busy page came to it.
  const pair = before === "g" && e.timeStamp - beforeAt < 1200 ? [`g ${e.key}`] : [];
  return [...pair, e.key];
}

// The key that comes up was looked at by everybody.
addEventListener("keyup", (e) => {
  before = typing(e) ? "" : e.key;
  beforeAt = e.timeStamp;
});

/** useKeys binds keys while a component is shown. They do nothing while somebody types, or while a dialog is open. */
export function useKeys(bindings: Bindings, { always = false } = {}): void {
  const current = useRef(bindings);
  current.current = bindings;
  // Before it is painted: what is seen can be used.
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      const mod = e.metaKey || e.ctrlKey;
      const names = mod ? [`mod+${e.key.toLowerCase()}`] : chord(e);
      if (e.altKey || e.defaultPrevented) return;
      if (!mod && (typing(e) || (!always && document.querySelector("dialog[open]")))) return;
      for (const name of names) {
        const does = current.current[name];
        if (!does) continue;
        e.preventDefault();
        does(e);
        return;
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [always]);
}
