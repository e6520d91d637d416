import { expect, test } from "vitest";
import { waysOf } from "./kubeconfig";

const config = (user: unknown, cluster: unknown = { server: "https://a:6443", "certificate-authority-data": "Q0E=" }) => ({
  contexts: [{ name: "prod", context: { cluster: "c", user: "u" } }],
  clusters: [{ name: "c", cluster }],
  users: [{ name: "u", user }],
});

test("a context becomes a cluster with its login", () => {
  expect(waysOf(config({ token: "t" }))).toEqual([
    { context: "prod", cluster: { server: "https://a:6443", name: "prod", config: { bearerToken: "t", tlsClientConfig: { insecure: false, caData: "Q0E=" } } } },
  ]);
  expect(waysOf(config({ "client-certificate-data": "Yw==", "client-key-data": "aw==" }))[0]?.problem).toBeUndefined();
});

test("what is on somebody's machine is said to be", () => {
  expect(waysOf(config({ "client-key": "/home/ann/key" }))[0]?.problem).toContain("--flatten");
  expect(waysOf(config({ exec: { command: "aws" } }))[0]?.problem).toContain("towline cluster add");
  expect(waysOf(config({}))[0]?.problem).toContain("neither");
  expect(waysOf(config({ token: "t" }, {}))[0]?.problem).toContain("no server");
  expect(waysOf({})).toEqual([]);
});
