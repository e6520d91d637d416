import { useId, type ReactNode } from "react";

interface Props {
  title: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  placeholder?: string | undefined;
  required?: boolean;
  disabled?: boolean;
  type?: "text" | "password" | "url" | "number";
  /** choices are offered, and others may be typed. */
  choices?: readonly string[] | undefined;
  lines?: number;
  autoComplete?: string;
}

/** Field is a text with its name above and a hint below. */
export function Field({ title, value, onChange, hint, choices, lines, type = "text", autoComplete = "off", ...rest }: Props) {
  const id = useId();
  const about = { id, "aria-describedby": hint ? `${id}-hint` : undefined, spellCheck: false };
  return (
    <div className="field">
      <label htmlFor={id}>
        {title}
        {!rest.required && <span className="soft optional"> optional</span>}
      </label>
      {lines ? (
        <textarea rows={lines} value={value} onChange={(e) => onChange(e.target.value)} {...about} {...rest} />
      ) : (
        <input type={type} value={value} onChange={(e) => onChange(e.target.value)} list={choices ? `${id}-choices` : undefined} autoComplete={autoComplete} {...about} {...rest} />
      )}
      {choices && (
        <datalist id={`${id}-choices`}>
          {choices.map((c) => (
            <option key={c} value={c} />
          ))}
        </datalist>
      )}
      {hint && (
        <span className="soft" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

/** Choice is one of a few. */
export function Choice<T extends string>({ title, value, of, onChange }: { title: string; value: T; of: readonly (readonly [T, string])[]; onChange: (v: T) => void }) {
  return (
    <label className="field">
      {title}
      <select value={value} onChange={(e) => onChange(e.target.value as T)}>
        {of.map(([v, name]) => (
          <option key={v} value={v}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Check({ title, value, onChange, disabled }: { title: ReactNode; value: boolean; onChange: (v: boolean) => void; disabled?: boolean }) {
  return (
    <label className="check">
      <input type="checkbox" checked={value} disabled={disabled} onChange={(e) => onChange(e.target.checked)} /> {title}
    </label>
  );
}
