// JSON values as YAML that people read, and edit: it means the same when it is read again.

const plain = /^(?:[A-Za-z_/]|\.\.?\/)[\w ./:@%+=,()-]*$/;
/** blockable texts survive as a block of lines; others are written with their signs. */
const blockable = /^[^\s][^\t\r\0-\x08\x0b-\x1f\x7f]*[^\n]\n?$/;
const special = /^(true|false|null|yes|no|on|off|~|y|n)$/i;

function scalar(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value !== "string") return String(value);
  if (value === "") return '""';
  if (plain.test(value) && !special.test(value) && !value.includes(": ") && !value.includes(" #") && !/[\s:]$/.test(value)) return value;
  return JSON.stringify(value);
}

const isMap = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
const isEmpty = (v: unknown) => (Array.isArray(v) ? v.length === 0 : isMap(v) && Object.keys(v).length === 0);

function entry(key: string, value: unknown, pad: string): string[] {
  const head = `${pad}${scalar(key)}:`;
  if (isEmpty(value)) return [`${head} ${Array.isArray(value) ? "[]" : "{}"}`];
  if (Array.isArray(value)) return [head, ...block(value, pad)];
  if (isMap(value)) return [head, ...block(value, pad + "  ")];
  if (typeof value === "string" && value.includes("\n") && blockable.test(value) && !/[ ]\n/.test(value)) {
    return [`${head} |${value.endsWith("\n") ? "" : "-"}`, ...value.replace(/\n$/, "").split("\n").map((l) => `${pad}  ${l}`)];
  }
  return [`${head} ${scalar(value)}`];
}

function block(value: unknown, pad: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if ((isMap(item) || Array.isArray(item)) && !isEmpty(item)) {
        const inner = block(item, pad + "  ");
        return [`${pad}- ${inner[0]!.slice(pad.length + 2)}`, ...inner.slice(1)];
      }
      return [`${pad}- ${isEmpty(item) ? (Array.isArray(item) ? "[]" : "{}") : scalar(item)}`];
    });
  }
  if (isMap(value)) return Object.entries(value).flatMap(([k, v]) => entry(k, v, pad));
  return [pad + scalar(value)];
}

export function toYAML(value: unknown): string {
  return block(value, "").join("\n");
}

const first = ["apiVersion", "kind", "metadata", "spec", "data"];

/** counted is what the server counts up by itself: between two states of an object it says nothing. */
const counted = ["generation", "resourceVersion", "uid", "creationTimestamp"];

/** tidy is an object without what nobody reads, in the order that people write it in; compared also leaves out what is not of Git. */
export function tidy(text: string | undefined, compared = false): Record<string, unknown> | undefined {
  if (!text || text === "null") return undefined;
  const object = JSON.parse(text) as Record<string, unknown>;
  const out: Record<string, unknown> = {};
  for (const k of first) if (k in object) out[k] = object[k];
  for (const [k, v] of Object.entries(object)) if (!(k in out)) out[k] = v;
  if (compared) delete out["status"];
  if (isMap(out["metadata"])) {
    const meta = { ...out["metadata"] };
    delete meta["managedFields"];
    if (compared) for (const k of counted) delete meta[k];
    if (isMap(meta["annotations"])) {
      const annotations = { ...meta["annotations"] };
      delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
      meta["annotations"] = annotations;
      if (isEmpty(annotations)) delete meta["annotations"];
    }
    out["metadata"] = meta;
  }
  return out;
}
