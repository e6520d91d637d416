import { expect, test } from "vitest";
import { containersOf, spots } from "./logs";

test("containers of a pod, and of what makes pods", () => {
  const spec = { initContainers: [{ name: "prepare" }], containers: [{ name: "main" }, { name: "proxy" }] };
  expect(containersOf(JSON.stringify({ kind: "Pod", spec }))).toEqual(["main", "proxy", "prepare"]);
  expect(containersOf(JSON.stringify({ kind: "Deployment", spec: { template: { spec } } }))).toEqual(["main", "proxy", "prepare"]);
  expect(containersOf(undefined)).toEqual([]);
  expect(containersOf("{")).toEqual([]);
});

test("a word is found wherever it stands", () => {
  expect(spots("GET get gEt", "get")).toEqual([0, 4, 8]);
  expect(spots("aaa", "aa")).toEqual([0]);
  expect(spots("x", "")).toEqual([]);
});
