import { expect, test } from "@playwright/test";
import { accessible, commit, kubectl, signIn } from "./world";

test("drift appears when somebody edits, with who did it, and a sync sets it right", async ({ page }) => {
  await signIn(page, "applications/argocd/catalog");
  await expect(page.getByRole("button", { name: /Deployment catalog/ })).toBeVisible();
  await expect(page.getByText("Synced", { exact: true }).first()).toBeVisible();
  await accessible(page);
  kubectl("-n", "catalog", "patch", "deployment/catalog", "--field-manager=carol", "--type=merge", "--patch", '{"spec":{"replicas":4}}');
  const began = Date.now();
  await expect(page.getByText("Deployment/catalog differs from Git.")).toBeVisible();
  console.log(`drift was shown ${Date.now() - began} ms after the edit`);

  await page.getByRole("link", { name: /Diff/ }).click();
  const change = page.getByRole("row").filter({ hasText: "replicas" });
  await expect(change).toContainText("4");
  await expect(change).toContainText("2");
  await expect(change).toContainText("carol");
  await accessible(page);
  await page.getByRole("button", { name: "Whole object" }).click();
  const drawer = page.getByRole("dialog");
  await expect(drawer.locator(".dl.removed")).toContainText("replicas: 4");
  await drawer.getByLabel("Side by side").check();
  await expect(drawer.locator(".pair").filter({ hasText: "replicas: 4" })).toContainText("replicas: 2");
  await accessible(page);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Sync …" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("Change 1")).toBeVisible();
  await expect(dialog.getByRole("checkbox", { name: "Sync Deployment catalog" })).toBeChecked();
  await dialog.getByRole("button", { name: "1 field" }).click();
  await expect(dialog.getByRole("cell", { name: /replicas/ })).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Sync", exact: true }).click();
  await expect(page).toHaveURL(/view=sync/);
  await expect(page.getByText("It is as Git says, and well.")).toBeVisible();
  await accessible(page);
  expect(kubectl("-n", "catalog", "get", "deployment/catalog", "-o", "jsonpath={.spec.replicas}")).toBe("2");
});

test("an object: what it is, its YAML, its difference, its log", async ({ page }) => {
  await signIn(page, "applications/argocd/storefront");
  await page.getByRole("button", { name: /Deployment web/ }).click();
  const drawer = page.getByRole("dialog");
  await expect(drawer.getByText("example.com/storefront:2.4.1")).toBeVisible();
  await accessible(page);
  await drawer.getByRole("button", { name: "YAML" }).click();
  await expect(drawer.getByText("kind: Deployment")).toBeVisible();
  await drawer.getByRole("button", { name: "Logs" }).click();
  await expect(drawer.getByText("connected to the database").first()).toBeVisible();
  await expect(page).toHaveURL(/resource=/);
  await page.reload();
  await expect(drawer).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(drawer).toHaveCount(0);
});

test("the secret stays one", async ({ page }) => {
  await signIn(page, `applications/argocd/storefront?resource=${encodeURIComponent("/Secret/storefront/session")}&tab=yaml`);
  await expect(page.getByText("kind: Secret")).toBeVisible();
  await expect(page.getByText("not-a-real-key")).toHaveCount(0);
});

test("history: a commit is synced, and the way back is taken", async ({ page }) => {
  await signIn(page, "applications/argocd/mailer?view=history");
  await expect(page.getByText("#0")).toBeVisible();
  commit("Greet in a friendlier way", "mailer/all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: templates}\ndata: {greeting: Hi}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: mailer}\nspec: {selector: {app: mailer}, ports: [{port: 80}]}\n");
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("Greet in a friendlier way").first()).toBeVisible();
  await expect(page.getByText("#1")).toBeVisible();
  await accessible(page);
  await page.getByText("Source and parameters").first().click();
  await expect(page.getByText("path: mailer").first()).toBeVisible();
  await page.getByRole("button", { name: "Back to this …" }).click();
  await expect(page.getByText("is not synced by itself again")).toBeVisible();
  await page.getByRole("button", { name: "Go back" }).click();
  await expect.poll(() => kubectl("-n", "mailer", "get", "configmap/templates", "-o", "jsonpath={.data.greeting}")).toBe("Hello");
});

test("what was healed is written down", async ({ page }) => {
  await signIn(page, "applications/argocd/checkout?view=drift");
  kubectl("-n", "checkout", "patch", "configmap/settings", "--field-manager=dave", "--type=merge", "--patch", '{"data":{"currency":"USD"}}');
  await expect(page.getByText("dave").first()).toBeVisible();
  await expect(page.getByText("Set right").first()).toBeVisible();
  await accessible(page);
});

test("why nobody may sync now is said in the plan", async ({ page }) => {
  await signIn(page, "applications/argocd/payments");
  await expect(page.getByText("Nothing of it is in the cluster yet.")).toBeVisible();
  await page.keyboard.press("s");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/You can not sync now/)).toBeVisible();
  await expect(dialog.getByText(/The books are being closed|window/).first()).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Sync", exact: true })).toBeDisabled();
  await expect(dialog.getByText("wave 1")).toBeVisible();
  await accessible(page);
});

test("on a phone the head of an application leaves room for the rest, and all of it is one touch away", { tag: "@quick" }, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page, "applications/argocd/storefront");
  const head = page.locator(".app-head");
  await expect(head.getByRole("button", { name: "Sync …" })).toBeVisible();
  await expect.poll(async () => (await head.boundingBox())?.height ?? 0).toBeLessThan(240);
  await expect(page.getByText("Looked at Git")).toBeHidden();
  await accessible(page);
  await page.getByRole("button", { name: "More about it" }).click();
  await expect(page.getByText("Looked at Git")).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Less about it" }).click();
  await expect(page.getByText("Looked at Git")).toBeHidden();
  await page.getByLabel("More", { exact: true }).click();
  const looked = page.waitForRequest(/refresh=normal/);
  await page.getByRole("button", { name: "Refresh", exact: true }).click();
  await looked;
});

test("every view of an application is accessible", async ({ page }) => {
  test.setTimeout(300_000);
  await signIn(page, "applications/argocd/checkout");
  for (const view of ["graph", "list", "pods", "network", "diff", "sync", "history", "drift", "events", "logs"]) {
    await page.goto(new URL(`/applications/argocd/checkout?view=${view}`, page.url()).href);
    await expect(page.getByRole("heading", { level: 1, name: "checkout" })).toBeVisible();
    await expect(page.getByText(/^Reading/)).toHaveCount(0);
    await accessible(page);
  }
});
