import { describe, expect, it } from "vitest";
import { seated } from "./seats";

const after = (...steps: string[][]) => [...steps.reduce<Map<string, number>>((seats, ids) => seated(seats, ids), new Map())];

describe("seats", () => {
  it("are given in order", () => expect(after(["a", "b", "c"])).toEqual([["a", 0], ["b", 1], ["c", 2]]));
  it("are kept by those who stay, and taken over by those who come", () =>
    expect(after(["a", "b", "c", "d"], ["c", "d", "e", "f"])).toEqual([["c", 2], ["d", 3], ["e", 0], ["f", 1]]));
  it("stay few on the way back", () => expect(after(["c", "d"], ["b", "c"], ["a", "b"])).toEqual([["a", 0], ["b", 1]]));
  it("become more where more is in sight", () => expect(after(["b"], ["a", "b", "c"])).toEqual([["a", 1], ["b", 0], ["c", 2]]));
  it("go with a row that moved", () => expect(after(["a", "b"], ["new", "a", "b"])).toEqual([["new", 2], ["a", 0], ["b", 1]]));
});
