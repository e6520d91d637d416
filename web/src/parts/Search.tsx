import { useEffect, useRef, useState } from "react";
import { Icon } from "./Icon";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}

/** Search waits for a pause in typing before it says so: what follows asks the server, or lays out thousands anew. */
export function Search({ label, placeholder, value, onChange }: Props) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label className="search">
      <Icon name="search" />
      <span className="aside">{label}</span>
      <input
        data-search
        type="search"
        value={text}
        placeholder={placeholder}
        onChange={(e) => {
          const next = e.target.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onChange(next), 150);
        }}
        onKeyDown={(e) => e.key === "Escape" && e.currentTarget.blur()}
      />
      <kbd>/</kbd>
    </label>
  );
}
