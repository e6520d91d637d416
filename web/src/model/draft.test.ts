import { expect, test } from "vitest";
import { blank, declared, option, optioned, pairs, put, textAt, withPairs } from "./draft";

test("a value is set without touching the rest, and taken away with what it leaves empty", () => {
  const a = { spec: { source: { path: "a", kustomize: { namePrefix: "x-" } } } };
  const b = put(a, ["spec", "source", "path"], "b");
  expect(textAt(b, ["spec", "source", "path"])).toBe("b");
  expect(textAt(a, ["spec", "source", "path"])).toBe("a");
  expect(put(a, ["spec", "source", "kustomize", "namePrefix"], "")).toEqual({ spec: { source: { path: "a" } } });
  expect(put({}, ["metadata", "labels", "a/b"], "c")).toEqual({ metadata: { labels: { "a/b": "c" } } });
  expect(put({ l: ["a", "b"] }, ["l", 1], "c")).toEqual({ l: ["a", "c"] });
});

test("sync options", () => {
  const on = optioned(blank, "CreateNamespace", true);
  expect(option(on, "CreateNamespace")).toBe(true);
  expect(optioned(on, "CreateNamespace", false)).toEqual(blank);
  expect(option(optioned({ spec: { syncPolicy: { syncOptions: ["A=false"] } } }, "A", true), "A")).toBe(true);
});

test("parameters of a chart are lines", () => {
  const d = withPairs({ spec: { source: { helm: { parameters: [{ name: "a", value: "1", forceString: true }] } } } }, "a=2\n\nurl=http://x?y=z");
  expect(d).toEqual({ spec: { source: { helm: { parameters: [{ name: "a", value: "2", forceString: true }, { name: "url", value: "http://x?y=z" }] } } } });
  expect(pairs(d)).toBe("a=2\nurl=http://x?y=z");
  expect(withPairs(d, "")).toEqual({});
});

test("what the server keeps is not declared", () => {
  expect(declared({ metadata: { name: "a", uid: "1", labels: {}, resourceVersion: "3" }, spec: { project: "p" } })).toEqual({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "a" },
    spec: { project: "p" },
  });
});
