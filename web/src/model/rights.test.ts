import { expect, test } from "vitest";
import { actionsOf, appOf } from "./rights";

test("an object of the rules is an application, unless it is a pattern", () => {
  expect(appOf("shop/web")).toEqual({ namespace: "", name: "web" });
  expect(appOf("shop/team-a/web")).toEqual({ namespace: "team-a", name: "web" });
  for (const other of ["shop/*", "web", "", "*", "a/b/c/d", "shop/"]) expect(appOf(other)).toBeUndefined();
});

test("every resource has actions", () => {
  expect(actionsOf("logs")).toEqual(["get"]);
  expect(actionsOf("nothing")).toEqual(["get"]);
});
