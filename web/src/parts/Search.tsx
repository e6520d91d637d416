import { useEffect, useRef, useState } from "react";
import { Icon } from "./Icon";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}

/** Field is where people type what they look for; "/" goes there and Escape leaves it. */
export function Field({ label, placeholder, value, onChange }: Props) {
  return (
    <label className="search">
      <Icon name="search" />
      <span className="aside">{label}</span>
      <input
        data-search
        type="search"
        value={value}
        placeholder={placeholder}
        onChange={(e) => onChange(e.target.value)}
        onKeyDown={(e) => e.key === "Escape" && e.currentTarget.blur()}
      />
      <kbd>/</kbd>
    </label>
  );
}

/** Search waits for a pause in typing before it says so: what follows asks the server, or lays out thousands anew. */
export function Search({ value, onChange, ...rest }: Props) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next), 150);
  };
  return <Field {...rest} value={text} onChange={typed} />;
}
