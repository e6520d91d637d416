import { useSyncExternalStore } from "react";

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const l of [...listeners]) l();
  }, 1000);
  return () => {
    listeners.delete(tell);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** useNow is the time, moving on by itself every so many seconds; nothing is asked for it. */
export function useNow(seconds = 1): number {
  return useSyncExternalStore(subscribe, () => now - (now % (seconds * 1000)));
}
