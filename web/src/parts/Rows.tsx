import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

interface Props {
  count: number;
  height: number;
  row: (index: number) => ReactNode;
  /** onRange is told which rows are in sight, so that they can be read. */
  onRange?: (first: number, last: number) => void;
  /** chosen is kept in sight. */
  chosen?: number | undefined;
  head?: ReactNode;
  label: string;
  role?: "table" | "list";
}

const spare = 8;

/** Rows draws of many rows of one height those that are in sight. */
export function Rows({ count, height, row, onRange, chosen, head, label, role = "table" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const look = () => setSeen({ top: el.scrollTop, height: el.clientHeight });
    look();
    const watch = new ResizeObserver(look);
    watch.observe(el);
    el.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      el.removeEventListener("scroll", look);
    };
  }, []);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || chosen === undefined) return;
    const top = chosen * height;
    const headed = head ? 36 : 0;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + height + headed > el.scrollTop + el.clientHeight) el.scrollTop = top + height + headed - el.clientHeight;
  }, [chosen, height, head]);
  const first = Math.max(0, Math.floor(seen.top / height) - spare);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / height) + spare);
  useLayoutEffect(() => onRange?.(first, last), [first, last, onRange]);
  const shown = [];
  for (let i = first; i < last; i++) shown.push(row(i));
  return (
    <div className="rows" ref={box} role={role} aria-label={label} aria-rowcount={role === "table" ? count : undefined} tabIndex={-1}>
      {head}
      <div className="rows-all" role={role === "table" ? "rowgroup" : "presentation"} style={{ height: count * height }}>
        <div role="presentation" style={{ transform: `translateY(${first * height}px)` }}>
          {shown}
        </div>
      </div>
    </div>
  );
}
