import type { CDPSession, Page } from "@playwright/test";

/** Event is one of chromium's trace; times are microseconds. */
interface Event {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  /** tdur is what the thread itself was busy for: on a machine that others use too, that is what a page costs. */
  tdur?: number;
  pid: number;
  tid: number;
  args?: { name?: string; data?: { type?: string } };
}

/** Trace is what chromium says of its own work between a beginning and an end. */
export class Trace {
  readonly #events: Event[] = [];

  private constructor(private readonly session: CDPSession) {}

  static async begin(page: Page): Promise<Trace> {
    const session = await page.context().newCDPSession(page);
    const trace = new Trace(session);
    session.on("Tracing.dataCollected", ({ value }) => trace.#events.push(...(value as unknown as Event[])));
    await session.send("Tracing.start", {
      transferMode: "ReportEvents",
      traceConfig: { includedCategories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-devtools.timeline.frame"] },
    });
    return trace;
  }

  async end(): Promise<void> {
    const complete = new Promise<void>((resolve) => this.session.once("Tracing.tracingComplete", () => resolve()));
    await this.session.send("Tracing.end");
    await complete;
    await this.session.detach();
  }

  /** #main are the events of the thread that runs the page's scripts: the one with most of them. */
  #main(): Event[] {
    const names = new Map<string, number>();
    for (const e of this.#events) if (e.name === "FunctionCall" || e.name === "Layout") names.set(`${e.pid}/${e.tid}`, (names.get(`${e.pid}/${e.tid}`) ?? 0) + 1);
    const [thread] = [...names].sort((a, b) => b[1] - a[1])[0] ?? [""];
    return this.#events.filter((e) => `${e.pid}/${e.tid}` === thread).sort((a, b) => a.ts - b.ts);
  }

  /** tasks are how long the main thread was busy in one go, in ms, the longest first. */
  tasks(): number[] {
    const all = this.#main().filter((e) => e.ph === "X" && (e.name === "RunTask" || e.name === "ThreadControllerImpl::RunTask" || e.name === "ThreadPool_RunTask"));
    return all.map((e) => (e.tdur ?? e.dur ?? 0) / 1000).sort((a, b) => b - a);
  }

  /** frames are script, style and layout of each frame, in ms. What ran within another counts once. */
  frames(): number[] {
    const events = this.#main();
    const begins = events.filter((e) => e.name === "BeginMainThreadFrame").map((e) => e.ts);
    const work = new Set(["FunctionCall", "EvaluateScript", "TimerFire", "FireAnimationFrame", "EventDispatch", "UpdateLayoutTree", "Layout", "RunMicrotasks", "HitTest"]);
    const out = begins.map(() => 0);
    let until = 0;
    let frame = 0;
    for (const e of events) {
      if (e.ph !== "X" || !work.has(e.name)) continue;
      const from = Math.max(e.ts, until);
      const to = e.ts + (e.dur ?? 0);
      if (to <= from) continue;
      until = to;
      // Work belongs to the frame that it comes before or is a part of.
      while (frame < begins.length - 1 && (begins[frame + 1] ?? Infinity) <= e.ts) frame++;
      const part = e.tdur !== undefined && e.dur ? e.tdur / e.dur : 1;
      if (out[frame] !== undefined) out[frame]! += ((to - from) * part) / 1000;
    }
    return out;
  }
}

export const round = (n: number) => Math.round(n * 10) / 10;

/** quantile of numbers in any order. */
export function quantile(list: readonly number[], q: number): number {
  if (list.length === 0) return 0;
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
