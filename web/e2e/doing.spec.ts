import { expect, test } from "@playwright/test";
import { accessible, commit, kubectl, signIn, stage } from "./world";

test("an application is made by the form: the server checks it, it syncs, and it is deleted with its objects", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications");
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").first().fill("made-here");
  await dialog.getByLabel("Project").fill("shop");
  await dialog.getByLabel("Repository").fill(stage().repository);
  await dialog.getByLabel("Revision").fill("main");
  await dialog.getByLabel("Path").fill("small");
  await dialog.getByRole("combobox", { name: /^Cluster/ }).fill("no-such-cluster");
  await dialog.getByRole("textbox", { name: /^Namespace/ }).fill("made-here");
  await accessible(page);
  await dialog.getByRole("button", { name: "Check" }).click();
  await expect(dialog.getByRole("alert")).toContainText("no-such-cluster");
  await dialog.getByRole("combobox", { name: /^Cluster/ }).fill("in-cluster");
  await dialog.getByRole("button", { name: "Check" }).click();
  await expect(dialog.getByText("It could be")).toBeVisible();
  expect(kubectl("-n", "argocd", "get", "applications", "-o", "name")).not.toContain("made-here");
  await dialog.getByRole("button", { name: "YAML" }).click();
  const editor = dialog.getByLabel("Application as YAML");
  const text = await editor.inputValue();
  expect(text).toContain("path: small");
  await editor.fill(`${text}\n  syncPolicy:\n    automated: {prune: true}\n    syncOptions: [CreateNamespace=true]\n`);
  await dialog.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "made-here" })).toBeVisible();
  await expect(page.getByText("It is as Git says, and well.")).toBeVisible();

  await page.getByLabel("More", { exact: true }).click();
  await page.getByRole("button", { name: "Delete …" }).click();
  await expect(dialog.getByRole("button", { name: "Delete", exact: true })).toBeDisabled();
  await dialog.getByRole("textbox").fill("made-here");
  await accessible(page);
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/applications$/);
  await expect.poll(() => kubectl("-n", "argocd", "get", "applications", "-o", "name")).not.toContain("made-here");
  expect(kubectl("-n", "made-here", "get", "configmaps", "-o", "name")).not.toContain("settings");
});

test("a sync that waits for ever is ended", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications/argocd/slow");
  // A key does nothing before what it is about is there.
  await expect(page.getByRole("button", { name: "Sync …" })).toBeVisible();
  await page.keyboard.press("s");
  await page.getByRole("dialog").getByRole("button", { name: "Sync", exact: true }).click();
  await expect(page.getByText(/^Syncing for/)).toBeVisible();
  await expect(page.getByText(/Waits for .*Deployment\/slow/)).toBeVisible();
  await expect(page.getByRole("region", { name: "The sync on a line of time" })).toContainText("slow");
  await accessible(page);
  await page.getByRole("button", { name: "End the sync" }).click();
  await expect(page.getByText("Failed").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Sync …" })).toBeVisible();
});

test("automation is turned off and on", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications/argocd/shop-north-00");
  const toggle = async (name: string) => {
    await page.getByLabel("More", { exact: true }).click();
    await page.getByRole("button", { name }).click();
  };
  await toggle("Turn automated sync off");
  await expect(page.getByText("Waits for people")).toBeVisible();
  expect(kubectl("-n", "argocd", "get", "application/shop-north-00", "-o", "jsonpath={.spec.syncPolicy.automated.enabled}")).toBe("false");
  await toggle("Turn automated sync on");
  await expect(page.getByText("Syncs itself")).toBeVisible();
});

test("an application is edited by its form, with what changes shown before", async ({ page }) => {
  await signIn(page, "applications/argocd/shop-east-06");
  // A key does nothing before what it is about is there.
  await expect(page.getByRole("heading", { level: 1, name: "shop-east-06" })).toBeVisible();
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByLabel("Name").first()).toBeDisabled();
  await dialog.getByText("Parameters of Helm and kustomize").click();
  await dialog.getByLabel("Prefix of names").fill("new-");
  await dialog.getByRole("button", { name: "What changes" }).click();
  await expect(dialog.getByText("namePrefix: new-")).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect.poll(() => kubectl("-n", "small-east", "get", "configmaps", "-o", "name")).toContain("new-");
});

test("several are marked, refreshed and synced, and each says what came of it", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications?search=shop-north");
  await expect(page.locator(".total")).toContainText(/^[1-9]/);
  await page.getByLabel("Mark shop-north-00").check();
  await page.keyboard.press("Escape");
  await page.locator("body").click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("m");
  const bar = page.getByRole("region", { name: "What was marked" });
  await expect(bar).toContainText("2 marked");
  await accessible(page);
  await bar.getByRole("button", { name: "Refresh …", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Refresh them" }).click();
  await expect(dialog.getByText("2 of 2 done")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await bar.getByRole("button", { name: "Sync …" }).click();
  await accessible(page);
  await dialog.getByRole("button", { name: "Sync them" }).click();
  await expect(dialog.getByText("2 of 2 done")).toBeVisible();
  await expect(dialog.getByText("Begun")).toHaveCount(2);
});

test("a way to look at the fleet is given a name, kept, and forgotten", async ({ page }) => {
  await signIn(page, "applications?project=platform&view=tiles");
  await page.getByText("Views", { exact: true }).click();
  await page.getByLabel("Name of this view").fill("Our part");
  await page.getByRole("button", { name: "Save" }).click();
  await page.goto(stage().url + "/applications");
  await page.getByText("Views", { exact: true }).click();
  await accessible(page);
  await page.getByRole("link", { name: "Our part" }).click();
  await expect(page).toHaveURL(/project=platform/);
  await expect(page).toHaveURL(/view=tiles/);
  await page.getByRole("button", { name: "Forget Our part" }).click();
  await expect(page.getByRole("link", { name: "Our part" })).toHaveCount(0);
});

test("logs: followed, of one container, found and saved", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications/argocd/storefront?view=logs");
  const log = page.getByRole("log");
  await expect(log).toContainText("connected to the database");
  // Two pods write, and each line says whose it is.
  await expect(log.locator(".pod").first()).toBeVisible();
  await page.getByLabel("Find in the log").fill("CART");
  await expect(log.locator("mark").first()).toHaveText("cart");
  await page.getByLabel("Only lines with").fill("!GET");
  await page.keyboard.press("Enter");
  await expect(log).not.toContainText("GET /cart");
  await accessible(page);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  expect(file.suggestedFilename()).toMatch(/^storefront-.*\.log$/);
  await page.getByLabel("Before the restart").check();
  await expect(page).toHaveURL(/previous=true/);
});

test("pods and the way of traffic", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications/argocd/storefront?view=pods");
  await expect(page.getByRole("region", { name: /ReplicaSet web-/ }).getByRole("button").first()).toBeVisible();
  await accessible(page);
  await page.getByLabel("Group by").selectOption("node");
  await expect(page).toHaveURL(/by=node/);
  await expect(page.getByRole("region", { name: /^Node / }).first()).toBeVisible();
  await page.getByRole("link", { name: "Network" }).click();
  const picture = page.getByRole("group", { name: "Who sends traffic to whom" });
  await expect(picture.getByRole("button", { name: /Service web/ })).toBeVisible();
  await expect(picture.getByRole("button", { name: /^Pod web-/ }).first()).toBeVisible();
  await accessible(page);
});

test("the objects of an application are shown below it, and lead to it", async ({ page }) => {
  await signIn(page, "applications/argocd/suite");
  await page.getByRole("button", { name: "Objects of suite-web" }).click();
  await expect(page).toHaveURL(/inside=argocd%2Fsuite-web/);
  const below = page.getByRole("button", { name: /ConfigMap/ }).first();
  await expect(below).toBeVisible();
  await accessible(page);
  await below.click();
  await expect(page.getByRole("heading", { level: 1, name: "suite-web" })).toBeVisible();
  await expect(page.getByRole("dialog")).toBeVisible();
});

test("an object is restarted, edited and deleted in its drawer", async ({ page }) => {
  await signIn(page, `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}`);
  const drawer = page.getByRole("dialog").first();
  await drawer.getByRole("button", { name: "Restart" }).click();
  await expect.poll(() => kubectl("-n", "storefront", "get", "deployment/web", "-o", "jsonpath={.spec.template.metadata.annotations}")).toContain("restartedAt");
  await page.goto(`${stage().url}/applications/argocd/storefront?tab=yaml&resource=${encodeURIComponent("/ConfigMap/storefront/settings")}`);
  await drawer.getByRole("button", { name: "Edit in the cluster …" }).click();
  const editor = drawer.getByLabel("Object as YAML");
  await editor.fill((await editor.inputValue()).replace(/^data:\n/m, "data:\n  edited: by-hand\n"));
  await accessible(page);
  await drawer.getByRole("button", { name: "Save to the cluster" }).click();
  await expect.poll(() => kubectl("-n", "storefront", "get", "configmap/settings", "-o", "jsonpath={.data.edited}")).toBe("by-hand");
  await drawer.getByLabel("More to do with it").click();
  await drawer.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("dialog", { name: /^Delete ConfigMap/ }).getByRole("button", { name: "Delete", exact: true }).click();
  await expect.poll(() => kubectl("-n", "storefront", "get", "configmaps", "-o", "name")).not.toContain("configmap/settings");
});

test("two revisions that were synced are compared", async ({ page }) => {
  await signIn(page, "applications/argocd/catalog?view=history");
  commit("Another shelf", "catalog/shelf.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shelf}\ndata: {rows: '4'}\n");
  await page.getByRole("button", { name: "Refresh" }).click();
  await expect(page.getByText("Another shelf").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Compare …" }).nth(1)).toBeVisible();
  await page.getByRole("button", { name: "Compare …" }).last().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("region", { name: /ConfigMap .*shelf/ })).toContainText("New");
  await accessible(page);
});
