import { useRef, type KeyboardEvent } from "react";

interface Props {
  label: string;
  value: string;
  onChange: (text: string) => void;
  problem?: string | undefined;
  lines?: number;
}

/** Editor is for YAML: a plain field with numbers of lines, which every keyboard and every reader knows how to use. */
export function Editor({ label, value, onChange, problem, lines = 22 }: Props) {
  const numbers = useRef<HTMLPreElement>(null);
  const count = value.split("\n").length;
  const wrong = Number(/line (\d+)/.exec(problem ?? "")?.[1] ?? 0);
  // Tab goes on to the next field, as everywhere; two spaces are quickly typed, and Enter keeps the indent.
  const press = (e: KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.key !== "Enter" || e.metaKey || e.ctrlKey || e.nativeEvent.isComposing) return;
    const field = e.currentTarget;
    const before = value.slice(0, field.selectionStart);
    const indent = /(?:^|\n)([ ]*)[^\n]*$/.exec(before)?.[1] ?? "";
    if (!indent) return;
    e.preventDefault();
    field.setRangeText(`\n${indent}`, field.selectionStart, field.selectionEnd, "end");
    onChange(field.value);
  };
  return (
    <div className="editor">
      <div className="editor-in">
        <pre className="editor-numbers" ref={numbers} aria-hidden="true">
          {Array.from({ length: count }, (_, i) => (
            <span key={i} className={i + 1 === wrong ? "wrong" : undefined}>
              {i + 1}
              {"\n"}
            </span>
          ))}
        </pre>
        <textarea
          aria-label={label}
          aria-invalid={problem ? true : undefined}
          rows={lines}
          value={value}
          wrap="off"
          spellCheck={false}
          autoCapitalize="none"
          onChange={(e) => onChange(e.target.value)}
          onKeyDown={press}
          onScroll={(e) => numbers.current && (numbers.current.scrollTop = e.currentTarget.scrollTop)}
        />
      </div>
      {problem && (
        <p className="editor-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
