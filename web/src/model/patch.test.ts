import { expect, test } from "vitest";
import { mergePatch } from "./patch";

test("a patch has what changed, and null for what went", () => {
  expect(mergePatch({ a: 1, b: { c: 2, d: 3 }, l: [1] }, { a: 1, b: { c: 4 }, l: [1, 2] })).toEqual({ b: { c: 4, d: null }, l: [1, 2] });
  expect(mergePatch({ a: { b: [1] } }, { a: { b: [1] } })).toBeUndefined();
  expect(mergePatch({}, { a: {} })).toEqual({ a: {} });
});
