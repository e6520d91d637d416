import { describe, expect, it } from "vitest";
import { howMany, noFilters, queryOf, readFilters, toggled, writeFilters, type Filters } from "./filters";

const full: Filters = {
  search: "web shop",
  view: "map",
  sort: "-health",
  group: "label:team",
  picked: { health: ["Degraded", "Missing"], project: ["shop & co"] },
  labels: ["tier=back"],
};

describe("filters in the address", () => {
  it("come back as they were", () => {
    expect(readFilters(writeFilters(full))).toEqual(full);
    expect(readFilters(new URLSearchParams(writeFilters(full).toString()))).toEqual(full);
  });

  it("leave nothing behind when they are as usual", () => {
    expect(writeFilters(noFilters).toString()).toBe("");
    expect(readFilters(new URLSearchParams())).toEqual(noFilters);
  });

  it("do not take what they do not know", () => {
    const f = readFilters(new URLSearchParams("view=nonsense&sort=;drop&group=x&health=&other=1"));
    expect(f).toEqual(noFilters);
  });

  it("toggle", () => {
    const once = toggled(noFilters, "sync", "OutOfSync");
    expect(once.picked).toEqual({ sync: ["OutOfSync"] });
    expect(toggled(once, "sync", "OutOfSync")).toEqual(noFilters);
    const repo = toggled(toggled(noFilters, "repo", "https://a"), "repo", "https://b");
    expect(repo.picked).toEqual({ repo: ["https://b"] });
    expect(queryOf(repo)).toEqual({ sort: "name", repo: ["https://b"] });
  });

  it("are counted and asked of the server", () => {
    expect(howMany(full)).toBe(5);
    expect(queryOf(full)).toEqual({
      sort: "-health",
      search: "web shop",
      health: ["Degraded", "Missing"],
      projects: ["shop & co"],
      selector: "tier=back",
    });
  });
});
