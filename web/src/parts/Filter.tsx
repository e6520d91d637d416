import { setParams, useRoute } from "../state/route";
import { Field } from "./Search";

/** fitting are the items whose text has all words. */
export function fitting<T>(items: readonly T[], words: string, textOf: (item: T) => string): readonly T[] {
  const all = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all.length === 0 ? items : items.filter((i) => all.every((w) => textOf(i).toLowerCase().includes(w)));
}

/** Filter narrows a list that is here already; what it says is in the address. */
export function Filter({ label }: { label: string }) {
  const { params } = useRoute();
  const search = (text: string) => setParams({ search: text }, { replace: true });
  return <Field label={label} placeholder={label} value={params.get("search") ?? ""} onChange={search} />;
}
