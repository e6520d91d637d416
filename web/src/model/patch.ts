// The smallest JSON merge patch from one value to another. Pure.

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** mergePatch is undefined where the two say the same. Lists are set as a whole: that is what the format can say. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isMap(before) || !isMap(after)) return JSON.stringify(before) === JSON.stringify(after) ? undefined : after;
  const out: Record<string, unknown> = {};
  for (const k of Object.keys(before)) if (!(k in after)) out[k] = null;
  for (const [k, v] of Object.entries(after)) {
    const change = k in before ? mergePatch(before[k], v) : v;
    if (change !== undefined) out[k] = change;
  }
  return Object.keys(out).length > 0 ? out : undefined;
}
