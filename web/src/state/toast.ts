import { Store } from "./store";

/** Toast is something that happened; problems stay until they are read. */
export interface Toast {
  id: number;
  kind: "done" | "problem";
  text: string;
}

export const toasts = new Store<readonly Toast[]>([]);
let count = 0;

export function dismiss(id: number): void {
  toasts.update((all) => all.filter((t) => t.id !== id));
}

export function say(text: string, kind: Toast["kind"] = "done"): void {
  const toast = { id: ++count, kind, text };
  toasts.update((all) => [...all.slice(-3), toast]);
  if (kind === "done") setTimeout(() => dismiss(toast.id), 5000);
}

/** attempt does something and says what came of it. */
export async function attempt<T>(done: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    const out = await work();
    if (done) say(done);
    return out;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), "problem");
    return undefined;
  }
}
