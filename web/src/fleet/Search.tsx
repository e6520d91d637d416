import { useEffect, useRef, useState } from "react";
import { Icon } from "../parts/Icon";

/** Search waits for a pause in typing before it changes the address. */
export function Search({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label className="search">
      <Icon name="search" />
      <span className="aside">Search applications</span>
      <input
        data-search
        type="search"
        value={text}
        placeholder="Name, project, repository or label"
        onChange={(e) => {
          const next = e.target.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onChange(next.trim()), 150);
        }}
        onKeyDown={(e) => e.key === "Escape" && e.currentTarget.blur()}
      />
      <kbd>/</kbd>
    </label>
  );
}
