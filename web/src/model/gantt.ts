// The objects of a sync on a line of time. Pure.

import type { Timeline, TimelineResult } from "../api/types";

export interface Bar {
  result: TimelineResult;
  phase: string;
  /** from and to are parts of the whole, from 0 to 1. */
  from: number;
  to: number;
  /** seconds is how long it took, or has taken until now. */
  seconds: number;
  runs: boolean;
}

export interface Gantt {
  seconds: number;
  bars: Bar[];
}

/** gantt is nothing where nobody saw the sync run: then there are no times to draw. */
export function gantt(t: Timeline, now: number): Gantt | undefined {
  const began = Date.parse(t.startedAt ?? "");
  const timed = t.phases.flatMap((p) => p.results.map((result) => ({ result, phase: p.phase }))).filter(({ result }) => result.beganAt);
  if (Number.isNaN(began) || timed.length === 0) return undefined;
  const ends = timed.map(({ result }) => Date.parse(result.endedAt ?? "") || now);
  const end = Math.max(t.finishedAt ? Date.parse(t.finishedAt) : now, ...ends, began + 1);
  const whole = end - began;
  const part = (at: number) => Math.min(1, Math.max(0, (at - began) / whole));
  const bars = timed.map(({ result, phase }, i): Bar => {
    const from = Date.parse(result.beganAt ?? "");
    const to = ends[i] ?? end;
    return { result, phase, from: part(from), to: part(to), seconds: Math.max(0, (to - from) / 1000), runs: !result.endedAt };
  });
  return { seconds: whole / 1000, bars: bars.sort((a, b) => a.from - b.from) };
}
