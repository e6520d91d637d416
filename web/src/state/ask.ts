import { useEffect, useSyncExternalStore } from "react";
import { ApiError } from "../api/client";

/** Answer is what is known of a question: the last answer stays while a new one is on its way, so that nothing jumps. */
export interface Answer<T> {
  data?: T;
  error?: ApiError;
  loading: boolean;
}

interface Entry {
  answer: Answer<unknown>;
  read: () => Promise<unknown>;
  users: number;
  asked: number;
  again: boolean;
  stale: boolean;
  listeners: Set<() => void>;
}

const entries = new Map<string, Entry>();
/** kept is how many answers that nobody looks at are kept for the way back. */
const kept = 60;

const none: Answer<unknown> = { loading: true };

function tell(e: Entry, answer: Answer<unknown>): void {
  e.answer = answer;
  for (const listener of [...e.listeners]) listener();
}

async function fetchInto(e: Entry): Promise<void> {
  if (e.asked > 0) {
    // One is on its way, which may be older than what happened since.
    e.again = true;
    return;
  }
  e.asked++;
  e.stale = false;
  tell(e, { ...e.answer, loading: true });
  try {
    const data = await e.read();
    tell(e, { data, loading: false });
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(500, String(error));
    const { data } = e.answer;
    tell(e, data === undefined ? { error: problem, loading: false } : { data, error: problem, loading: false });
  } finally {
    e.asked--;
    if (e.again) {
      e.again = false;
      if (e.users > 0) void fetchInto(e);
      else e.stale = true;
    }
  }
}

function forget(): void {
  for (const [key, e] of entries) {
    if (entries.size <= kept) return;
    if (e.users === 0) entries.delete(key);
  }
}

/** invalidate asks again whatever begins with the prefix: at once what is looked at, the rest when it is. */
export function invalidate(prefix: string): void {
  for (const [key, e] of entries) {
    if (!key.startsWith(prefix)) continue;
    if (e.users > 0) void fetchInto(e);
    else e.stale = true;
  }
}

/** clearAnswers forgets everything, for another person at the same browser. */
export const clearAnswers = () => entries.clear();

/** useAsk asks a question that its key names; an empty key asks nothing. Everybody who asks the same shares the answer. */
export function useAsk<T>(key: string, read: () => Promise<T>): Answer<T> & { again: () => void } {
  let e = entries.get(key);
  if (!e && key) {
    e = { answer: none, read, users: 0, asked: 0, again: false, stale: true, listeners: new Set() };
    entries.set(key, e);
  }
  const entry = e;
  if (entry) entry.read = read;
  useEffect(() => {
    if (!entry) return;
    entry.users++;
    if (entry.stale) void fetchInto(entry);
    return () => {
      entry.users--;
      forget();
    };
  }, [entry]);
  const answer = useSyncExternalStore(
    (listener) => {
      entry?.listeners.add(listener);
      return () => entry?.listeners.delete(listener);
    },
    () => entry?.answer ?? none,
  ) as Answer<T>;
  return { ...answer, again: () => entry && void fetchInto(entry) };
}
