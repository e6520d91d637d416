import { writeFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { accessible, commit, kubectl, signIn, stage } from "./world";

// What is done with the objects of one application: they are narrowed, and synced or deleted with care.

test("the objects are narrowed in the graph, and the list keeps to it", async ({ page }) => {
  await signIn(page, "applications/argocd/storefront");
  const graph = page.getByRole("group", { name: "Objects and what came from them" });
  await expect(graph.getByRole("button", { name: /^Pod / }).first()).toBeVisible();
  const wide = (await graph.getByRole("button", { name: /^Deployment web/ }).boundingBox())?.width ?? 0;
  await page.getByRole("button", { name: "Smaller" }).click();
  await expect.poll(async () => (await graph.getByRole("button", { name: /^Deployment web/ }).boundingBox())?.width ?? 0).toBeLessThan(wide);
  await page.keyboard.press("/");
  await page.keyboard.type("replicaset");
  await expect(page).toHaveURL(/find=replicaset/);
  // What a thing stands below stays, and nothing else.
  await expect(graph.getByRole("button", { name: /^Deployment web/ })).toBeVisible();
  await expect(graph.getByRole("button", { name: /^ReplicaSet / }).first()).toBeVisible();
  await expect(graph.getByRole("button", { name: /^(Pod|Service|ConfigMap) / })).toHaveCount(0);
  await accessible(page);
  await page.getByRole("link", { name: "List" }).click();
  await expect(page.getByLabel("Search objects")).toHaveValue("replicaset");
  await expect(page.getByText(/^[1-9] of \d+ objects$/)).toBeVisible();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Kind").selectOption("Service");
  await expect(page).toHaveURL(/kind=Service/);
  await expect(page.getByRole("row").filter({ hasText: "Deployment" })).toHaveCount(0);
  await page.getByLabel("State").selectOption("Degraded");
  await expect(page.getByRole("heading", { name: "Nothing fits" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page.getByRole("row").filter({ hasText: "Deployment" }).first()).toBeVisible();
});

test("a sync that could stop what runs is asked for by name, and goes by its options", async ({ page }) => {
  await signIn(page, "applications/argocd/shop-south-03");
  // A key does nothing before what it is about is there.
  await expect(page.getByRole("button", { name: "Sync …" })).toBeVisible();
  await page.keyboard.press("s");
  const dialog = page.getByRole("dialog");
  const button = dialog.getByRole("button", { name: "Sync", exact: true });
  await expect(button).toBeEnabled();
  await dialog.getByText("More options").click();
  await dialog.getByLabel("Replace objects as a whole").check();
  await expect(button).toBeDisabled();
  await dialog.getByLabel(/to go on/).fill("shop-south-03");
  await accessible(page);
  await expect(button).toBeEnabled();
  await dialog.getByLabel("Replace objects as a whole").uncheck();
  await dialog.getByLabel("Apply on the server").check();
  await dialog.getByLabel("What a deleted object owns").selectOption("background");
  await dialog.getByLabel("If it fails").selectOption("3");
  const [request] = await Promise.all([page.waitForRequest(/\/sync$/), button.click()]);
  expect(request.postDataJSON()).toMatchObject({ syncOptions: { items: ["ServerSideApply=true", "PrunePropagationPolicy=background"] }, retryStrategy: { limit: 3 } });
  await expect(page).toHaveURL(/view=sync/);
  await expect(page.getByText("Succeeded").first()).toBeVisible();
});

test("what must not go without a word waits for it", async ({ page }) => {
  const map = (name: string, more = "") => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}`;
  const kept = map("kept", "  annotations: {argocd.argoproj.io/sync-options: Prune=confirm}\n");
  commit("Something that is asked for before it goes", "careful/all.yaml", `${map("first")}---\n${kept}`);
  kubectl("apply", "-f", careful());
  await signIn(page, "applications/argocd/careful");
  // What Git had when it was looked at last may be older than the commit.
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("It is as Git says, and well.")).toBeVisible();
  commit("It goes", "careful/all.yaml", map("first"));
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("Somebody has to confirm the deletion")).toBeVisible();
  expect(kubectl("-n", "careful", "get", "configmaps", "-o", "name")).toContain("configmap/kept");
  await accessible(page);
  await page.getByRole("button", { name: "Confirm …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await expect.poll(() => kubectl("-n", "careful", "get", "configmaps", "-o", "name")).not.toContain("configmap/kept");
  await expect(page.getByText("Somebody has to confirm the deletion")).toHaveCount(0);
  kubectl("-n", "argocd", "delete", "application/careful");
});

function careful(): string {
  const file = `${stage().log}.careful.yaml`;
  writeFileSync(
    file,
    `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: careful, namespace: argocd}
spec:
  project: shop
  destination: {server: "https://kubernetes.default.svc", namespace: careful}
  source: {repoURL: "${stage().repository}", path: careful, targetRevision: main}
  syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`,
  );
  return file;
}
