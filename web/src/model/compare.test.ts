import { expect, test } from "vitest";
import { compared } from "./compare";

const map = (name: string, value: string) => JSON.stringify({ kind: "ConfigMap", metadata: { name }, data: { a: value } });

test("what came, went and changed between two renders", () => {
  const got = compared([map("stays", "1"), map("changes", "1"), map("goes", "1")], [map("stays", "1"), map("changes", "2"), map("comes", "1")]);
  expect(got.map((c) => `${c.name} ${c.fate}`)).toEqual(["ConfigMap changes changed", "ConfigMap comes added", "ConfigMap goes removed"]);
  expect(got[0]?.after).toContain('a: "2"');
});
