import { describe, expect, it } from "vitest";
import { diffLines, folded } from "./lines";

const short = (a: string, b: string) => diffLines(a, b).map((l) => ({ same: " ", removed: "-", added: "+" })[l.kind] + l.text);
const side = (a: string, b: string, kind: "added" | "removed") =>
  diffLines(a, b)
    .filter((l) => l.kind !== kind)
    .map((l) => l.text)
    .join("\n");

describe("diffLines", () => {
  it("finds what changed and nothing else", () => {
    expect(short("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
    expect(short("", "a")).toEqual(["+a"]);
    expect(short("a", "")).toEqual(["-a"]);
    expect(short("a\nb", "a\nb")).toEqual([" a", " b"]);
  });

  it("has both texts in it, whatever they are", () => {
    let seed = 7;
    const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
    for (let round = 0; round < 200; round++) {
      const text = () => Array.from({ length: 1 + Math.floor(random() * 12) }, () => "abc"[Math.floor(random() * 3)]).join("\n");
      const [a, b] = [text(), text()];
      expect(side(a, b, "added")).toBe(a);
      expect(side(a, b, "removed")).toBe(b);
    }
  });
});

it("folds what is the same", () => {
  const same = Array.from({ length: 20 }, (_, i) => `l${i}`).join("\n");
  const out = folded(diffLines(same, same.replace("l10", "other")), 1);
  expect(out.map((l) => (l.kind === "fold" ? l.count : l.kind))).toEqual([9, "same", "removed", "added", "same", 8 + 0]);
});
