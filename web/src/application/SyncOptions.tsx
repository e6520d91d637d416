export interface Options {
  prune: boolean;
  dryRun: boolean;
  applyOnly: boolean;
  force: boolean;
  /** items take the place of the application's own options. */
  items: string[];
}

export const noOptions: Options = { prune: false, dryRun: false, applyOnly: false, force: false, items: [] };

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
        <summary>More options{value.items.length > 0 && ` · ${value.items.length}`}</summary>
        <p className="soft">If any is chosen, these take the place of the application's own options.</p>
        <fieldset>
          <legend className="aside">Options in place of the application's own</legend>
          {items.map(([item, title]) => (
            <label key={item} className="check">
              <input type="checkbox" checked={value.items.includes(item)} onChange={() => toggle(item)} /> {title}
            </label>
          ))}
        </fieldset>
      </details>
    </div>
  );
}
