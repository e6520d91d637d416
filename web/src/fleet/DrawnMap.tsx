import { useEffect, useRef, useState, type MouseEvent } from "react";
import type { Row } from "../api/types";
import { toneOf, type Tone } from "../model/status";
import type { Region } from "../model/treemap";
import { appHref, go } from "../state/route";
import { useStore } from "../state/store";
import { theme } from "../state/theme";
import { said, sizeOf } from "./FleetMap";

const tones: Tone[] = ["good", "busy", "warn", "bad", "idle", "none"];

type Spot = Region<Row>["tiles"][number];

/** DrawnMap draws thousands of tiles on one surface. It is for pointers: keys and readers go by the groups' headings. */
export function DrawnMap({ areas, size }: { areas: readonly Region<Row>[]; size: { w: number; h: number } }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [over, setOver] = useState<Spot | undefined>(undefined);
  const look = useStore(theme);
  const dark = useDark();
  useEffect(() => {
    const el = canvas.current;
    if (el) draw(el, areas, size);
  }, [areas, size, look, dark]);
  const spot = (e: MouseEvent<HTMLCanvasElement>) => {
    const { left, top } = e.currentTarget.getBoundingClientRect();
    return find(areas, e.clientX - left, e.clientY - top);
  };
  const ill = areas.reduce((n, r) => n + r.tiles.filter((t) => toneOf(t.item) === "bad").length, 0);
  const all = areas.reduce((n, r) => n + r.tiles.length, 0);
  return (
    <>
      <canvas
        ref={canvas}
        className="map-drawn"
        role="img"
        aria-label={`${all} applications in ${areas.length} groups, ${ill} of them degraded`}
        onMouseMove={(e) => setOver(spot(e))}
        onMouseLeave={() => setOver(undefined)}
        onClick={(e) => {
          const at = spot(e);
          if (at) go(appHref(at.item.metadata));
        }}
      />
      {over && (
        <div className="map-tip" style={{ left: Math.min(over.box.x, size.w - 240), top: over.box.y + over.box.h + 4 > size.h - 40 ? over.box.y - 34 : over.box.y + over.box.h + 4 }}>
          {said(over.item)}, {sizeOf(over.item)} objects
        </div>
      )}
    </>
  );
}

function useDark(): boolean {
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const change = () => setDark(media.matches);
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, []);
  return dark;
}

function find(areas: readonly Region<Row>[], x: number, y: number): Spot | undefined {
  const inside = (b: { x: number; y: number; w: number; h: number }) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h;
  return areas.find((r) => inside(r.box))?.tiles.find((t) => inside(t.box));
}

/** draw fills the tiles of one tone at a time: the pen is changed six times and not ten thousand. */
function draw(el: HTMLCanvasElement, areas: readonly Region<Row>[], { w, h }: { w: number; h: number }): void {
  const pen = el.getContext("2d");
  if (!pen || w === 0 || h === 0) return;
  const scale = devicePixelRatio || 1;
  el.width = Math.round(w * scale);
  el.height = Math.round(h * scale);
  pen.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const by = new Map<Tone, Spot[]>(tones.map((t) => [t, []]));
  for (const r of areas) for (const t of r.tiles) by.get(toneOf(t.item))?.push(t);
  for (const [tone, spots] of by) {
    if (spots.length === 0) continue;
    const fill = new Path2D();
    const rim = new Path2D();
    for (const { box: b } of spots) {
      const gap = Math.min(b.w, b.h) > 5 ? 1.5 : 0.5;
      fill.rect(b.x, b.y, Math.max(b.w - gap, 0.5), Math.max(b.h - gap, 0.5));
      if (b.w > 8 && b.h > 8) rim.rect(b.x + 0.5, b.y + 0.5, b.w - gap - 1, b.h - gap - 1);
    }
    pen.fillStyle = style.getPropertyValue(`--${tone}-fill`);
    pen.strokeStyle = style.getPropertyValue(`--${tone}-solid`);
    pen.fill(fill);
    pen.globalAlpha = 0.5;
    pen.stroke(rim);
    pen.globalAlpha = 1;
  }
}
