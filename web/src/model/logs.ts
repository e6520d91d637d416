// What of an object writes logs, and where a word stands in a line. Pure.

interface PodSpec {
  containers?: { name: string }[];
  initContainers?: { name: string }[];
}

/** containersOf are the containers of a pod, or of the pods that an object makes; those that prepare come last. */
export function containersOf(manifest: string | undefined): string[] {
  if (!manifest) return [];
  try {
    const object = JSON.parse(manifest) as { spec?: PodSpec & { template?: { spec?: PodSpec } } };
    const pod = object.spec?.template?.spec ?? object.spec;
    return [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])].map((c) => c.name);
  } catch {
    return [];
  }
}

/** spots are where a word begins in a text, whatever its letters' case. */
export function spots(text: string, word: string): number[] {
  const out: number[] = [];
  if (word === "") return out;
  const [where, what] = [text.toLowerCase(), word.toLowerCase()];
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, at + what.length)) out.push(at);
  return out;
}
