import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

// docs/ui/parity.md says of each feature by which test it is shown: here is what keeps that true.

interface Feature {
  name: string;
  must: boolean;
  here: string;
  shownBy: string;
}

/** features are the rows of the tables of a page of Markdown. */
function features(page: string): Feature[] {
  let section = "";
  const out: Feature[] = [];
  for (const line of page.split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3);
    const [, name, here, shownBy] = line.split("|").map((cell) => cell.trim());
    if (!line.startsWith("| ") || name === "Feature") continue;
    out.push({ name: name ?? "", must: section === "Must", here: here ?? "", shownBy: shownBy ?? "" });
  }
  return out;
}

/** proofs are the tests that a cell names, as file and beginning of a title: `a.spec.ts`: one; another. */
function proofs(cell: string): { file: string; title: string }[] {
  const out: { file: string; title: string }[] = [];
  let file = "";
  // Several files stand side by side with a comma between them.
  for (const part of cell.replaceAll("`, `", "`; `").split(";").map((p) => p.trim())) {
    const [, named, title] = /^`([^`]+\.ts)`(?:: (.*))?/.exec(part) ?? [];
    if (named) file = named;
    if (file) out.push({ file, title: named ? (title ?? "") : part });
  }
  return out;
}

const titles = (source: string) => [...source.matchAll(/^\s*test\(\s*["`](.+?)["`]/gm)].map(([, title]) => title ?? "");
const root = new URL("..", import.meta.url);
const known = features(readFileSync(new URL("../docs/ui/parity.md", root), "utf8"));

describe("what people know from Argo CD", () => {
  it("is written down", () => {
    expect(known.filter((f) => f.must).length).toBeGreaterThan(30);
  });
  it.each(known.filter((f) => f.must))("must have a test, or a reason why it is not there: $name", ({ here, shownBy }) => {
    if (shownBy === "") expect(here).toMatch(/^no: ./);
    else expect(proofs(shownBy)).not.toEqual([]);
  });
  it.each(known.flatMap((f) => proofs(f.shownBy).map((p) => ({ ...p, feature: f.name }))))("is shown by $file: $title", ({ file, title }) => {
    const path = new URL(file.endsWith(".spec.ts") ? `e2e/${file}` : `src/${file}`, root);
    expect(existsSync(path), `${file} is not there`).toBe(true);
    if (title === "") return;
    const all = titles(readFileSync(path, "utf8"));
    expect(all.filter((t) => t.startsWith(title)), `no test of ${file} begins with "${title}"`).not.toEqual([]);
  });
});
