import { memo, useEffect, useState } from "react";
import type { Facet } from "../api/types";
import { toggled, type Dimension, type Filters } from "../model/filters";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";

const titles: Partial<Record<Dimension, string>> = {
  operation: "Last sync",
  autosync: "Automated sync",
  project: "Project",
  cluster: "Cluster",
  namespace: "Namespace",
  repo: "Repository",
};

/** shortly is the end of an address, where what tells repositories apart stands. */
const shortly = (d: Dimension, value: string) => (d === "repo" ? value.replace(/\.git$/, "").split("/").slice(-2).join("/") : value);

const words: Record<string, string> = { true: "On", false: "Off", None: "None" };

interface Props {
  facets: readonly Facet[];
  filters: Filters;
  onChange: (f: Filters) => void;
  open: boolean;
  onClose: () => void;
}

/** FacetPanel has what else the list can be narrowed by, with how many there would be. */
export const FacetPanel = memo(function FacetPanel({ facets, filters, onChange, open, onClose }: Props) {
  useEffect(() => {
    if (!open) return;
    const press = (e: KeyboardEvent) => e.key === "Escape" && onClose();
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [open, onClose]);
  return (
    <aside className={open ? "facets open" : "facets"} aria-label="Filters">
      <div className="facets-head">
        <h2>Filters</h2>
        <Button kind="bare" icon="close" label="Close the filters" onClick={onClose} />
      </div>
      {(Object.keys(titles) as Dimension[]).map((d) => {
        const facet = facets.find((f) => f.name === d);
        return facet && <One key={d} title={titles[d]!} wordOf={(v) => words[v] ?? shortly(d, v)} facet={facet} picked={filters.picked[d] ?? []} onToggle={(v) => onChange(toggled(filters, d, v))} />;
      })}
      <Labels facets={facets} filters={filters} onChange={onChange} />
    </aside>
  );
});

const few = 6;

interface OneProps {
  title: string;
  facet: Facet;
  picked: readonly string[];
  wordOf: (value: string) => string;
  onToggle: (value: string) => void;
}

function One({ title, facet, picked, wordOf, onToggle }: OneProps) {
  const [all, setAll] = useState(false);
  // What is picked stays in sight, even where nothing is left of it.
  const values = [...picked.filter((p) => !facet.values.some((v) => v.value === p)).map((value) => ({ value, count: 0 })), ...facet.values];
  const shown = all ? values : values.filter((v, i) => i < few || picked.includes(v.value));
  if (values.length === 0) return null;
  return (
    <fieldset className="facet">
      <legend>{title}</legend>
      {shown.map((v) => (
        <label key={v.value}>
          <input type="checkbox" checked={picked.includes(v.value)} onChange={() => onToggle(v.value)} />
          <span className="grow" title={v.value}>
            {wordOf(v.value)}
          </span>
          <span className="soft">{v.count.toLocaleString()}</span>
        </label>
      ))}
      {values.length > few && (
        <Button kind="bare" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `${values.length - few} more`}
        </Button>
      )}
      {all && facet.more > 0 && <p className="soft">and {facet.more.toLocaleString()} more: search for them</p>}
    </fieldset>
  );
}

function Labels({ facets, filters, onChange }: Pick<Props, "facets" | "filters" | "onChange">) {
  const [text, setText] = useState("");
  const keys = facets.find((f) => f.name === "label")?.values ?? [];
  if (keys.length === 0 && filters.labels.length === 0) return null;
  const add = () => {
    const term = text.trim();
    if (term && !filters.labels.includes(term)) onChange({ ...filters, labels: [...filters.labels, term] });
    setText("");
  };
  return (
    <fieldset className="facet">
      <legend>Labels</legend>
      {filters.labels.map((l) => (
        <button key={l} type="button" className="chip" onClick={() => onChange({ ...filters, labels: filters.labels.filter((x) => x !== l) })}>
          {l} <Icon name="close" size={10} />
          <span className="aside">take away</span>
        </button>
      ))}
      <input
        value={text}
        list="label-keys"
        placeholder="team=shop"
        aria-label="Label to filter by, as key or key=value"
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => e.key === "Enter" && add()}
        onBlur={add}
      />
      <datalist id="label-keys">
        {keys.map((k) => (
          <option key={k.value} value={k.value} />
        ))}
      </datalist>
    </fieldset>
  );
}
