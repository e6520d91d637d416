import { expect, test } from "vitest";
import type { Timeline } from "../api/types";
import { gantt } from "./gantt";

const at = (s: number) => new Date(1_800_000_000_000 + s * 1000).toISOString();
const line = (results: object[], finished?: number): Timeline =>
  ({ startedAt: at(0), ...(finished ? { finishedAt: at(finished) } : {}), seconds: 0, phases: [{ phase: "Sync", results }], history: [] }) as unknown as Timeline;

test("bars are parts of the whole, in the order in which they began", () => {
  const g = gantt(line([{ kind: "B", name: "b", beganAt: at(5), endedAt: at(10) }, { kind: "A", name: "a", beganAt: at(0), endedAt: at(5) }], 10), 0);
  expect(g?.seconds).toBe(10);
  expect(g?.bars.map((b) => [b.result.name, b.from, b.to, b.seconds, b.runs])).toEqual([
    ["a", 0, 0.5, 5, false],
    ["b", 0.5, 1, 5, false],
  ]);
});

test("what runs ends now, and what nobody saw has no picture", () => {
  const g = gantt(line([{ kind: "A", name: "a", beganAt: at(0) }]), Date.parse(at(4)));
  expect(g?.bars[0]).toMatchObject({ to: 1, seconds: 4, runs: true });
  expect(gantt(line([{ kind: "A", name: "a" }], 3), 0)).toBeUndefined();
});
