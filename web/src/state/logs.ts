import { useEffect, useState } from "react";
import * as api from "../api/applications";
import type { LogWish, Name } from "../api/applications";
import { ApiError } from "../api/client";
import type { LogLine } from "../api/types";
import { parseKey } from "../model/graph";

/** most is how many lines are kept; older ones go. */
const most = 5000;

export interface Wanted {
  /** of names the pod, or what makes pods. */
  of: string | undefined;
  container: string;
  previous: boolean;
  follow: boolean;
  filter: string;
  matchCase: boolean;
  since: number;
}

/** Numbered is a line and which one it is, so that it stays the same when older ones go. */
export type Numbered = LogLine & { number: number };

function wishOf(w: Wanted, tailLines: number): LogWish | undefined {
  const key = parseKey(w.of ?? "");
  if (!key) return undefined;
  const about = key.kind === "Pod" ? { podName: key.name, namespace: key.namespace } : { group: key.group, kind: key.kind, namespace: key.namespace, resourceName: key.name };
  return { ...about, follow: w.follow, tailLines, filter: w.filter, matchCase: w.matchCase || undefined, container: w.container, previous: w.previous, sinceSeconds: w.since || undefined };
}

/** useLogs reads what is written, and goes on while it is followed. */
export function useLogs(name: Name, wanted: Wanted) {
  const [lines, setLines] = useState<readonly Numbered[]>([]);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [reading, setReading] = useState(true);
  const [round, setRound] = useState(0);
  const key = JSON.stringify(wanted);
  useEffect(() => {
    const wish = wishOf(JSON.parse(key) as Wanted, 500);
    if (!wish) return;
    const stop = new AbortController();
    let waiting: Numbered[] = [];
    let frame = 0;
    let number = 0;
    setLines([]);
    setReading(true);
    // A log that is followed and has nothing never says so.
    const patience = setTimeout(() => setReading(false), 2000);
    setError(undefined);
    const flush = () => {
      frame = 0;
      const more = waiting;
      waiting = [];
      setReading(false);
      setLines((all) => [...all, ...more].slice(-most));
    };
    api
      .logs(name, wish, stop.signal, (line) => {
        if (line.last) return;
        waiting.push({ ...line, number: number++ });
        // Lines come in crowds: they are drawn once a frame.
        frame ||= requestAnimationFrame(flush);
      })
      .then(() => !stop.signal.aborted && setReading(false))
      .catch((e: unknown) => {
        if (!stop.signal.aborted) setError(e instanceof ApiError ? e : new ApiError(500, String(e)));
      });
    return () => {
      stop.abort();
      clearTimeout(patience);
      cancelAnimationFrame(frame);
    };
  }, [name.namespace, name.name, key, round]);
  /** all is everything that there is, and not only what is shown. */
  const all = async (): Promise<LogLine[]> => {
    const wish = wishOf(wanted, 0);
    const out: LogLine[] = [];
    if (wish) await api.logs(name, { ...wish, follow: false }, new AbortController().signal, (l) => !l.last && out.push(l));
    return out;
  };
  return { lines, error, reading, again: () => setRound((r) => r + 1), all };
}
