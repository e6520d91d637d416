import { expect, test } from "vitest";
import { several, type Outcome } from "./several";

test("some at a time, and one that fails stops no other", async () => {
  let running = 0;
  let most = 0;
  const told = new Map<number, Outcome>();
  await several([1, 2, 3, 4, 5], 2, async (n) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    if (n === 3) throw new Error("no");
  }, (n, o) => told.set(n, o));
  expect(most).toBe(2);
  expect([...told]).toEqual([[1, "done"], [2, "done"], [3, { problem: "no" }], [4, "done"], [5, "done"]]);
});
