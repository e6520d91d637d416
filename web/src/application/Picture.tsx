import { useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { layOut, type Measure, type Placed, type Thing } from "../model/graph";
import { Button } from "../parts/Button";

export const measure: Measure = { width: 224, height: 52, gapX: 56, gapY: 12 };
export const margin = 16;
const spare = 300;
/** stride is how far the picture is moved before it is looked anew what is in sight. */
const stride = 128;

interface Props {
  roots: readonly Thing[];
  label: string;
  card: (at: Placed) => ReactNode;
}

/** Picture draws a forest of things from left to right, to be moved and zoomed. Only what is in sight is drawn. */
export function Picture({ roots, label, card }: Props) {
  const [zoom, setZoom] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ x: 0, y: 0, w: 1600, h: 900 });
  const picture = useMemo(() => layOut(roots, measure), [roots]);
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const step = (n: number) => Math.floor(n / stride) * stride;
    const look = () => {
      const next = { x: step(el.scrollLeft), y: step(el.scrollTop), w: el.clientWidth, h: el.clientHeight };
      setSeen((now) => (now.x === next.x && now.y === next.y && now.w === next.w && now.h === next.h ? now : next));
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(el);
    el.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      el.removeEventListener("scroll", look);
    };
  }, []);
  const drag = useDrag(box);
  const inSight = (p: Placed) => {
    const [x, y] = [p.x * zoom, p.y * zoom];
    return x + measure.width * zoom > seen.x - spare && x < seen.x + seen.w + spare && y + measure.height * zoom > seen.y - spare && y < seen.y + seen.h + spare;
  };
  const fit = () => setZoom(Math.max(0.3, Math.min(1, (seen.w - 2 * margin) / picture.width, (seen.h - 2 * margin) / picture.height)));
  const drawn = useMemo(
    () => ({ placed: picture.placed.filter(inSight), edges: picture.edges.filter(({ from, to }) => inSight(from) || inSight(to)) }),
    [picture, seen, zoom],
  );
  return (
    <div className="graph">
      <div className="graph-tools">
        <Button icon="minus" label="Smaller" onClick={() => setZoom((z) => Math.max(0.3, z - 0.15))} />
        <Button icon="plus" label="Larger" onClick={() => setZoom((z) => Math.min(1.6, z + 0.15))} />
        <Button icon="fit" label="Fit" onClick={fit} />
        <span className="soft">{picture.placed.length} shown</span>
      </div>
      <div className="graph-box" ref={box} tabIndex={0} role="group" aria-label={label} onKeyDown={walk} {...drag}>
        <div className="graph-size" style={{ width: (picture.width + 2 * margin) * zoom, height: (picture.height + 2 * margin) * zoom }}>
          <div className="graph-in" style={{ transform: `scale(${zoom})`, padding: margin }}>
            <svg className="edges" width={picture.width + 2 * margin} height={picture.height + 2 * margin} aria-hidden="true">
              {drawn.edges.map(({ from, to }) => (
                <path key={to.thing.id} d={edge(from, to)} />
              ))}
            </svg>
            {drawn.placed.map(card)}
          </div>
        </div>
      </div>
    </div>
  );
}

function edge(from: Placed, to: Placed): string {
  const x1 = margin + from.x + measure.width;
  const y1 = margin + from.y + measure.height / 2;
  const x2 = margin + to.x;
  const y2 = margin + to.y + measure.height / 2;
  const bend = measure.gapX / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

/** walk moves the focus to the nearest card in a direction. */
function walk(e: KeyboardEvent<HTMLElement>): void {
  const step = { h: [-1, 0], ArrowLeft: [-1, 0], l: [1, 0], ArrowRight: [1, 0], k: [0, -1], ArrowUp: [0, -1], j: [0, 1], ArrowDown: [0, 1] }[e.key];
  if (!step || e.metaKey || e.ctrlKey) return;
  const cards = [...e.currentTarget.querySelectorAll<HTMLElement>(".node")];
  const here = cards.find((c) => c === document.activeElement);
  e.preventDefault();
  if (!here) {
    cards[0]?.focus();
    return;
  }
  const [dx, dy] = step as [number, number];
  let best: { card: HTMLElement; cost: number } | undefined;
  for (const card of cards) {
    const x = card.offsetLeft - here.offsetLeft;
    const y = card.offsetTop - here.offsetTop;
    if (card === here || x * dx + y * dy <= 0 || (dy !== 0 && x !== 0)) continue;
    const cost = Math.abs(x) + Math.abs(y) * (dx === 0 ? 1 : 2);
    if (!best || cost < best.cost) best = { card, cost };
  }
  best?.card.focus();
}

/** useDrag moves the picture with the pointer; fingers scroll by themselves. */
function useDrag(box: React.RefObject<HTMLDivElement | null>) {
  const from = useRef<{ x: number; y: number; left: number; top: number } | undefined>(undefined);
  return {
    onPointerDown: (e: PointerEvent) => {
      const el = box.current;
      if (!el || e.pointerType !== "mouse" || e.button !== 0 || (e.target as Element).closest("button")) return;
      from.current = { x: e.clientX, y: e.clientY, left: el.scrollLeft, top: el.scrollTop };
      el.setPointerCapture(e.pointerId);
    },
    onPointerMove: (e: PointerEvent) => {
      const el = box.current;
      if (!el || !from.current) return;
      el.scrollLeft = from.current.left - (e.clientX - from.current.x);
      el.scrollTop = from.current.top - (e.clientY - from.current.y);
    },
    onPointerUp: () => {
      from.current = undefined;
    },
  };
}
