/** Outcome is what came of one of several: it runs, it is done, or what went wrong. */
export type Outcome = "runs" | "done" | { problem: string };

/** several does something with each item, so many at a time, and tells of each. One that fails stops no other. */
export async function several<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<unknown>, tell: (item: T, outcome: Outcome) => void): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++]!;
      tell(item, "runs");
      try {
        await work(item);
        tell(item, "done");
      } catch (error) {
        tell(item, { problem: error instanceof Error ? error.message : String(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
