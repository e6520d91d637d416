import { useLayoutEffect, useRef, useState, type CSSProperties, type FocusEvent, type ReactNode, type RefObject } from "react";
import { seated } from "../model/seats";

/** Seat is where a row is drawn, and by which key: the elements of a row that went out of sight are used again. */
export interface Seat {
  key: number;
  style: CSSProperties;
}

interface Props {
  count: number;
  height: number;
  row: (index: number, seat: Seat) => ReactNode;
  /** idOf tells rows apart, whatever their place. */
  idOf: (index: number) => string;
  /** onRange is told which rows are in sight, so that they can be read. */
  onRange?: (first: number, last: number) => void;
  /** chosen is kept in sight. */
  chosen?: number | undefined;
  head?: ReactNode;
  label: string;
  role?: "table" | "list";
}

const spare = 8;
const headHeight = 36;
/** settle is how long nothing scrolls until the rows are put in order. */
const settle = 200;

/** Rows draws of many rows of one height those that are in sight. */
export function Rows({ count, height, row, idOf, onRange, chosen, head, label, role = "table" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { first, last, still } = useRange(box, count, height);
  const headed = head ? headHeight : 0;
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || chosen === undefined) return;
    const top = chosen * height;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + height + headed > el.scrollTop + el.clientHeight) el.scrollTop = top + height + headed - el.clientHeight;
  }, [chosen, height, headed]);
  useLayoutEffect(() => onRange?.(first, last), [first, last, onRange]);

  const ids = [];
  for (let i = first; i < last; i++) ids.push(idOf(i));
  // To draw twice gives the same seats: a ref is enough to remember them.
  const seats = useRef<ReadonlyMap<string, number>>(new Map());
  seats.current = seated(seats.current, ids);
  const shown = ids.map((id, at) => ({ index: first + at, key: seats.current.get(id) ?? at }));
  // While rows come and go, nothing is moved but what is new. Whoever reads or tabs through them finds them in order.
  if (!still) shown.sort((a, b) => a.key - b.key);
  const held = useRef<string>(undefined);
  // Whoever was at a row that left is no longer at any: the one that took its seat is another.
  useLayoutEffect(() => {
    if (held.current === undefined || seats.current.has(held.current)) return;
    held.current = undefined;
    box.current?.focus({ preventScroll: true });
  });
  const hold = (e: FocusEvent) => {
    const at = e.target.closest("[aria-rowindex]")?.getAttribute("aria-rowindex");
    held.current = at ? idOf(Number(at) - 1) : undefined;
  };
  return (
    <div className="rows" ref={box} onFocus={hold} onBlur={() => (held.current = undefined)} role={role} aria-label={label} aria-rowcount={role === "table" ? count : undefined} tabIndex={-1}>
      {head}
      <div className="rows-all" role={role === "table" ? "rowgroup" : "presentation"} style={{ height: count * height }}>
        {shown.map(({ index, key }) => row(index, { key, style: { transform: `translateY(${index * height}px)` } }))}
      </div>
    </div>
  );
}

/** useRange is which rows are in sight and a few around them, and whether that has not changed for a while. */
function useRange(box: RefObject<HTMLDivElement | null>, count: number, height: number) {
  // Rows, and not how far down we are: within a row nothing is drawn again.
  const [seen, setSeen] = useState({ from: 0, to: Math.ceil(800 / height), still: true });
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const from = Math.floor(el.scrollTop / height);
      const to = Math.ceil((el.scrollTop + el.clientHeight) / height);
      setSeen((before) => (before.from === from && before.to === to ? before : { from, to, still: false }));
      clearTimeout(timer);
      timer = setTimeout(() => setSeen((before) => (before.still ? before : { ...before, still: true })), settle);
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(el);
    el.addEventListener("scroll", look, { passive: true });
    return () => {
      clearTimeout(timer);
      watch.disconnect();
      el.removeEventListener("scroll", look);
    };
  }, [box, height]);
  return { first: Math.max(0, seen.from - spare), last: Math.min(count, seen.to + spare), still: seen.still };
}
