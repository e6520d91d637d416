import { Choice } from "../parts/Field";

export interface Options {
  prune: boolean;
  dryRun: boolean;
  applyOnly: boolean;
  force: boolean;
  /** items take the place of the application's own options. */
  items: string[];
  /** propagation is how what an object owns is deleted with it; empty is as the application says. */
  propagation: "" | "foreground" | "background" | "orphan";
  /** retries is how often a sync that fails is tried again; empty is as the application says. */
  retries: string;
}

export const noOptions: Options = { prune: false, dryRun: false, applyOnly: false, force: false, items: [], propagation: "", retries: "" };

/** itemsOf are the options as a sync names them. */
export const itemsOf = (o: Options) => [...o.items, ...(o.propagation ? [`PrunePropagationPolicy=${o.propagation}`] : [])];

/** risky says that running parts may be deleted and made anew. */
export const risky = (o: Options) => !o.dryRun && (o.force || o.items.includes("Replace=true"));

const flags = [
  ["prune", "Delete what Git no longer has"],
  ["dryRun", "Dry run: change nothing"],
  ["applyOnly", "Without hooks"],
  ["force", "Delete and make anew what cannot be changed"],
] as const;

const items = [
  ["ApplyOutOfSyncOnly=true", "Only what differs"],
  ["CreateNamespace=true", "Make the namespace"],
  ["PruneLast=true", "Delete last"],
  ["RespectIgnoreDifferences=true", "Leave ignored fields alone"],
  ["ServerSideApply=true", "Apply on the server"],
  ["Validate=false", "Do not check manifests"],
  ["Replace=true", "Replace objects as a whole"],
] as const;

export function SyncOptions({ value, onChange }: { value: Options; onChange: (o: Options) => void }) {
  const toggle = (item: string) => {
    const has = value.items.includes(item);
    onChange({ ...value, items: has ? value.items.filter((i) => i !== item) : [...value.items, item] });
  };
  return (
    <div className="sync-options">
      <fieldset>
        <legend className="aside">How</legend>
        {flags.map(([name, title]) => (
          <label key={name} className="check">
            <input type="checkbox" checked={value[name]} onChange={(e) => onChange({ ...value, [name]: e.target.checked })} /> {title}
          </label>
        ))}
      </fieldset>
      <details>
        <summary>More options{itemsOf(value).length > 0 && ` · ${itemsOf(value).length}`}</summary>
        <p className="soft">If any is chosen, these take the place of the application's own options.</p>
        <fieldset>
          <legend className="aside">Options in place of the application's own</legend>
          {items.map(([item, title]) => (
            <label key={item} className="check">
              <input type="checkbox" checked={value.items.includes(item)} onChange={() => toggle(item)} /> {title}
            </label>
          ))}
          <Choice
            title="What a deleted object owns"
            value={value.propagation}
            of={[
              ["", "as the application says"],
              ["foreground", "goes first"],
              ["background", "goes after it"],
              ["orphan", "stays"],
            ]}
            onChange={(propagation) => onChange({ ...value, propagation })}
          />
          <Choice
            title="If it fails"
            value={value.retries}
            of={[
              ["", "as the application says"],
              ["0", "do not try again"],
              ["3", "try 3 times more"],
              ["5", "try 5 times more"],
            ]}
            onChange={(retries) => onChange({ ...value, retries })}
          />
        </fieldset>
      </details>
    </div>
  );
}
