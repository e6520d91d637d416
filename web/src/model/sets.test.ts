import { expect, test } from "vitest";
import type { Application } from "../api/types";
import { generatorWords, preview } from "./sets";

const app = (name: string, path = "a"): Application => ({
  metadata: { name, namespace: "argocd" },
  spec: { project: "shop", destination: { namespace: name }, source: { repoURL: "https://x/a.git", path } },
  status: { sync: {}, health: {} },
});

test("generators are named, those within others too", () => {
  expect(generatorWords([{ list: {} }, { matrix: { generators: [{ git: {} }, { clusters: {} }] } }])).toEqual(["list", "matrix of git and clusters"]);
  expect(generatorWords(undefined)).toEqual([]);
});

test("a preview says what comes, changes and goes, what goes first", () => {
  const got = preview([app("stays"), app("moves"), app("goes")], [app("stays"), app("moves", "b"), app("comes")]);
  expect(got.map((p) => `${p.name} ${p.fate}`)).toEqual(["goes gone", "moves changed", "comes new", "stays same"]);
});
