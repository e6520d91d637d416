/** ago is a time in words: short, for columns. */
export function ago(then: string | undefined | null, now: number): string {
  if (!then) return "";
  const seconds = Math.round((now - Date.parse(then)) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 5) return "now";
  return `${span(seconds)} ago`;
}

/** span is a length of time, with its two largest units at most. */
export function span(seconds: number): string {
  const s = Math.max(0, seconds);
  // Many times have no parts of a second.
  if (s === 0) return "under 1 s";
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s < 10 && !Number.isInteger(s) ? s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

// Made once: to make one takes longer than all that it does for a row.
const inFull = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** exact is a time for a tooltip. */
export function exact(then: string | undefined | null): string {
  if (!then) return "";
  const at = new Date(then);
  return Number.isNaN(at.getTime()) ? "" : inFull.format(at);
}
