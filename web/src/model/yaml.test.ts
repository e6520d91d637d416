import { expect, it } from "vitest";
import { tidy, toYAML } from "./yaml";

it("writes what people read", () => {
  const text = toYAML({
    kind: "ConfigMap",
    metadata: { name: "web", labels: {}, annotations: { "a/b": "yes" } },
    data: { on: "true", empty: "", "a.b": "x: y", lines: "one\ntwo\n" },
    list: [{ name: "a", ports: [80, 443] }, "plain", []],
    none: null,
  });
  expect(text).toBe(`kind: ConfigMap
metadata:
  name: web
  labels: {}
  annotations:
    a/b: "yes"
data:
  "on": "true"
  empty: ""
  a.b: "x: y"
  lines: |
    one
    two
list:
- name: a
  ports:
  - 80
  - 443
- plain
- []
none: null`);
});

it("means the same when it is read again", () => {
  const text = toYAML({ a: ".5", b: "./x", c: "two\n\n", d: " first\nsecond", e: "tab\there\nx", f: "one\ntwo", g: "trailing \nx", h: ".inf" });
  expect(text).toBe(`a: ".5"
b: ./x
c: "two\\n\\n"
d: " first\\nsecond"
e: "tab\\there\\nx"
f: |-
  one
  two
g: "trailing \\nx"
h: ".inf"`);
});

it("leaves out what nobody reads", () => {
  const text = JSON.stringify({
    spec: {},
    metadata: { name: "a", managedFields: [1], annotations: { "kubectl.kubernetes.io/last-applied-configuration": "x" } },
    kind: "A",
  });
  expect(Object.keys(tidy(text)!)).toEqual(["kind", "metadata", "spec"]);
  expect(tidy(text)!["metadata"]).toEqual({ name: "a" });
  const counted = JSON.stringify({ metadata: { name: "a", uid: "1", resourceVersion: "2" }, status: {} });
  expect(tidy(counted, true)).toEqual({ metadata: { name: "a" } });
  expect(tidy("null")).toBeUndefined();
});
