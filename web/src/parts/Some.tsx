import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "./Button";

interface Props<T> {
  of: readonly T[];
  /** step is how many are drawn at first, and how many more each time the end comes into sight. */
  step?: number;
  /** within is what the list is made of. */
  within: "ul" | "ol" | "div";
  className?: string;
  children: (item: T) => ReactNode;
}

/** Some draws the beginning of a list, and more of it as somebody comes to its end: a plan may have ten thousand objects. */
export function Some<T>({ of, step = 100, within: List, className, children }: Props<T>) {
  const [count, more] = useGrowing(of.length, step);
  return (
    <>
      <List className={className}>{of.slice(0, count).map((item) => children(item))}</List>
      {more}
    </>
  );
}

/** useGrowing is how much of a list to draw, and what to put at its end: it is drawn further once that comes into sight. */
export function useGrowing(length: number, step: number): [count: number, more: ReactNode] {
  const [count, setCount] = useState(step);
  const end = useRef<HTMLDivElement>(null);
  const left = length - count;
  useEffect(() => {
    const el = end.current;
    if (!el || left <= 0) return;
    const watch = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && setCount((n) => n + step), { rootMargin: "400px" });
    watch.observe(el);
    return () => watch.disconnect();
  }, [left, step]);
  if (left <= 0) return [count, null];
  return [
    count,
    <div ref={end}>
      <Button kind="bare" onClick={() => setCount((n) => n + step)}>
        {left.toLocaleString()} more
      </Button>
    </div>,
  ];
}
