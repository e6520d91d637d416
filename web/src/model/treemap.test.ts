import { describe, expect, it } from "vitest";
import { regions, squarify, type Box } from "./treemap";

const area = (b: Box) => b.w * b.h;
const overlap = (a: Box, b: Box) =>
  Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) * Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));

describe("squarify", () => {
  const within = { x: 10, y: 20, w: 600, h: 400 };

  it("gives each size its share, inside the box, without overlap", () => {
    const sizes = [1, 40, 3, 3, 12, 0.5, 9, 40, 2];
    const boxes = squarify(sizes, within);
    const total = sizes.reduce((a, b) => a + b, 0);
    boxes.forEach((b, i) => {
      expect(area(b)).toBeCloseTo((sizes[i]! / total) * area(within), 3);
      expect(b.x).toBeGreaterThanOrEqual(within.x - 1e-6);
      expect(b.y + b.h).toBeLessThanOrEqual(within.y + within.h + 1e-6);
      for (const other of boxes.slice(i + 1)) expect(overlap(b, other)).toBeLessThan(1e-3);
    });
  });

  it("makes equal sizes nearly square", () => {
    for (const b of squarify(Array(24).fill(1), within)) expect(Math.max(b.w / b.h, b.h / b.w)).toBeLessThan(2);
  });

  it("gives nothing to what has no size", () => {
    expect(squarify([0, 5], within).map(area)).toEqual([0, area(within)]);
    expect(squarify([], within)).toEqual([]);
    expect(squarify([0, 0], within).map(area)).toEqual([0, 0]);
  });

  it("lays out ten thousand within a blink", () => {
    const began = performance.now();
    squarify(Array.from({ length: 10_000 }, (_, i) => 1 + (i % 37)), within);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe("regions", () => {
  it("keeps the items of a group inside it, below its heading", () => {
    const groups = [
      { name: "a", items: [{ item: 1, size: 3 }, { item: 2, size: 5 }] },
      { name: "b", items: [{ item: 3, size: 8 }] },
    ];
    for (const r of regions(groups, { x: 0, y: 0, w: 400, h: 300 }, 24, 2)) {
      for (const t of r.tiles) {
        expect(t.box.y).toBeGreaterThanOrEqual(r.box.y + 24 - 1e-6);
        expect(t.box.x + t.box.w).toBeLessThanOrEqual(r.box.x + r.box.w + 1e-6);
      }
    }
  });
});
