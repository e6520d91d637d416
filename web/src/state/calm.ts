import { useEffect, useRef, useState } from "react";

/** useCalm is a value that changes at most once in so many milliseconds; the last one always arrives. */
export function useCalm<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const at = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, at.current + ms - performance.now());
    const timer = setTimeout(() => {
      at.current = performance.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return ms === 0 ? value : shown;
}
