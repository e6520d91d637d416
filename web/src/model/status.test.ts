import { describe, expect, it } from "vitest";
import type { Application } from "../api/types";
import { awaited, countOf, liveRevision, sentence, shortRevision, toneOf } from "./status";

const app = (status: Partial<Application["status"]>): Application => ({
  metadata: { name: "web", namespace: "argocd" },
  spec: { project: "shop", destination: {} },
  status: { sync: { status: "Synced" }, health: { status: "Healthy" }, ...status },
});
const now = Date.parse("2026-01-02T15:04:05Z");
const say = (status: Partial<Application["status"]>) => sentence(app(status), undefined, now).text;

describe("sentence", () => {
  it("says what matters most", () => {
    expect(say({})).toBe("It is as Git says, and well.");
    expect(say({ resources: [{ kind: "Deployment", name: "web", status: "OutOfSync" }, { kind: "Service", name: "web", status: "Synced" }] })).toBe(
      "Deployment/web differs from Git.",
    );
    expect(say({ health: { status: "Degraded" }, resources: [{ kind: "Deployment", name: "web", health: { status: "Degraded", message: "no quota" } }] })).toBe(
      "Deployment/web is degraded: no quota",
    );
    expect(say({ conditions: [{ type: "ComparisonError", message: "no such folder" }], sync: { status: "Unknown" } })).toMatch(/in the way/);
    expect(say({ operationState: { phase: "Running", startedAt: "2026-01-02T15:03:00Z", message: "waiting for Job/migrate" } })).toBe(
      "Syncing for 1 min: waiting for Job/migrate",
    );
    expect(say({ resources: [{ kind: "A", name: "a", status: "OutOfSync", health: { status: "Missing" } }], sync: { status: "OutOfSync" } })).toBe(
      "Nothing of it is in the cluster yet.",
    );
  });
});

it("counts the objects that a status has no room for", () => {
  const abridged = {
    resources: [{ kind: "A", name: "a", status: "OutOfSync" as const, health: { status: "Missing" as const } }],
    conditions: [{ type: "AbridgedWarning", message: "status.resources lists 1 of 9000 objects, those that are not Synced" }],
  };
  expect(countOf(app(abridged))).toBe(9000);
  expect(countOf(app({ resources: abridged.resources }))).toBe(1);
  expect(say(abridged)).toBe("A/a differs from Git.");
});

it("shows drift yellow, and illness before it", () => {
  expect(toneOf(app({ sync: { status: "OutOfSync" } }))).toBe("warn");
  expect(toneOf(app({ sync: { status: "OutOfSync" }, health: { status: "Degraded" } }))).toBe("bad");
  expect(toneOf(app({}))).toBe("good");
});

it("shortens commits alone", () => {
  expect(shortRevision("0123456789012345678901234567890123456789")).toBe("0123456");
  expect(shortRevision("v1.2.3")).toBe("v1.2.3");
  expect(liveRevision(app({ history: [{ id: 1, revision: "a", deployedAt: "" }, { id: 3, revision: "c", deployedAt: "" }] }))).toBe("c");
});

it("knows what waits for a word of somebody", () => {
  const message = "waiting for a confirmation to prune ConfigMap shop/kept; set the annotation argocd.argoproj.io/deletion-approved …";
  expect(awaited(app({ operationState: { phase: "Running", startedAt: "2026-01-02T15:03:00Z", message } }))).toBe("ConfigMap shop/kept");
  expect(awaited(app({ operationState: { phase: "Failed", startedAt: "2026-01-02T15:03:00Z", message } }))).toBeUndefined();
  expect(awaited(app({}))).toBeUndefined();
  const going = app({ conditions: [{ type: "DeletionError", message: "waiting for a confirmation to delete PersistentVolumeClaim shop/data; set …" }] });
  expect(awaited({ ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-02T15:03:00Z" } })).toBe("PersistentVolumeClaim shop/data");
});
