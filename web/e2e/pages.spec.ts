import { writeFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { accessible, kubectl, signIn, stage, Watch } from "./world";

test("ApplicationSets: what one made, and what a change would make before it does", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applicationsets");
  await expect(page.getByRole("row").filter({ hasText: "branches" })).toContainText("3");
  await accessible(page);
  await page.getByRole("link", { name: "branches" }).click();
  await expect(page).toHaveURL(/applicationsets\/argocd\/branches/);
  await expect(page.getByRole("link", { name: "branch-lisbon" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Change and preview …" }).click();
  const dialog = page.getByRole("dialog");
  const editor = dialog.getByLabel("ApplicationSet as YAML");
  const text = await editor.inputValue();
  expect(text).toContain("city: turin");
  await editor.fill(text.replace("city: turin", "city: porto"));
  await expect(dialog.getByRole("button", { name: "Change it" })).toBeDisabled();
  await dialog.getByRole("button", { name: "Preview" }).click();
  await expect(dialog.getByRole("listitem").filter({ hasText: "branch-turin" })).toContainText("Goes");
  await expect(dialog.getByRole("listitem").filter({ hasText: "branch-porto" })).toContainText("New");
  await expect(dialog.getByRole("listitem").filter({ hasText: "branch-oslo" })).toContainText("Stays");
  expect(kubectl("-n", "argocd", "get", "applications", "-o", "name")).not.toContain("branch-porto");
  await accessible(page);
  await editor.fill(text.replace("city: turin", "city: turin\n       oops"));
  await dialog.getByRole("button", { name: "Preview" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
});

test("projects: what one allows, its roles with a token, its windows", async ({ page }) => {
  await signIn(page, "projects");
  await expect(page.getByRole("row").filter({ hasText: "What customers see" })).toContainText("any");
  await accessible(page);
  await page.getByRole("link", { name: "data", exact: true }).click();
  await page.getByRole("link", { name: /Sync windows/ }).click();
  await expect(page).toHaveURL(/projects\/data\?view=windows/);
  await expect(page.getByRole("row").filter({ hasText: "The books are being closed" })).toContainText("Holds back");
  await accessible(page);
  await page.getByRole("link", { name: "Events" }).click();
  await expect(page.getByRole("list").or(page.getByRole("heading", { name: "Nothing was said lately" })).first()).toBeVisible();
  await accessible(page);
  await page.goto(stage().url + "/settings/projects/platform?view=roles");
  await expect(page.getByText("p, proj:platform:deployer, applications, sync, platform/*, allow")).toBeVisible();
  await page.getByRole("button", { name: "Token …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Make it" }).click();
  await expect(page.getByLabel("The secret itself")).toContainText(/^ey/);
  await page.getByRole("button", { name: "I have it" }).click();
  await expect(page.getByRole("table", { name: "Tokens of deployer" }).getByRole("row")).toHaveCount(2);
  await accessible(page);
});

test("a project is made, changed and deleted as YAML", async ({ page }) => {
  await signIn(page, "projects");
  await page.getByRole("button", { name: "New project …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Project as YAML").fill("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: brief}\nspec: {description: Not for long, sourceRepos: ['*']}\n");
  await dialog.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "brief" })).toBeVisible();
  await page.getByRole("button", { name: "Delete …" }).click();
  await dialog.getByRole("textbox").fill("brief");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/projects$/);
  await expect(page.getByRole("link", { name: "brief" })).toHaveCount(0);
});

test("a cluster is added from a kubeconfig, looked at and removed", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "settings/clusters");
  await expect(page.getByRole("row").filter({ hasText: "in-cluster" })).toContainText("Connected");
  await accessible(page);
  await page.getByRole("button", { name: "Add a cluster …" }).click();
  const dialog = page.getByRole("dialog");
  const config = kubectl("config", "view", "--flatten", "--raw").replace(/server: https:\/\/127\.0\.0\.1/, "server: https://localhost");
  await dialog.getByLabel("Kubeconfig").fill(config);
  await expect(dialog.getByRole("textbox", { name: "Server" })).toHaveValue(stage().server);
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("second");
  await accessible(page);
  await dialog.getByRole("button", { name: "Add it" }).click();
  const row = page.getByRole("row").filter({ hasText: "second" });
  await expect(row).toContainText(stage().server);
  await row.getByRole("button", { name: "second" }).click();
  await expect(page).toHaveURL(/cluster=/);
  await expect(dialog.getByText("Certificate")).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Remove …" }).click();
  const confirm = page.getByRole("dialog", { name: "Remove second" });
  await confirm.getByRole("textbox").fill("second");
  await confirm.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});

test("a cluster that cannot be reached is not written down", async ({ page }) => {
  await signIn(page, "settings/clusters");
  await page.getByRole("button", { name: "Add a cluster …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Field by field" }).click();
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("nowhere");
  await dialog.getByRole("textbox", { name: "Server" }).fill("https://127.0.0.1:1");
  await dialog.getByLabel("Token", { exact: true }).fill("x");
  await dialog.getByRole("button", { name: "Add it" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByText("nowhere")).toHaveCount(0);
});

test("a repository is tested, added, tested again and removed", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "settings/repos");
  await expect(page.getByRole("heading", { name: "No repository is registered" })).toBeVisible();
  await page.getByRole("button", { name: "Add a repository …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Address" }).fill(stage().repository.replace("shop", "no-such-thing"));
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByRole("textbox", { name: "Address" }).fill(stage().repository);
  await dialog.getByRole("button", { name: "Test the connection" }).click();
  await expect(dialog.getByText("It can be read.")).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Add it" }).click();
  const row = page.getByRole("row").filter({ hasText: stage().repository });
  await row.getByRole("button", { name: "Test" }).click();
  await expect(row).toContainText("Works");
  await accessible(page);
  await row.getByRole("button", { name: /^Remove/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await expect(row).toHaveCount(0);
});

test("accounts: a token is shown once and taken away; a password is set; its owner learns why not", async ({ page, browser }) => {
  await signIn(page, "settings/accounts");
  const robot = page.getByRole("region", { name: "robot" });
  await robot.getByRole("button", { name: "Token …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("build");
  await dialog.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByLabel("The secret itself")).toContainText(/^ey/);
  await page.getByRole("button", { name: "I have it" }).click();
  await expect(robot.getByRole("row").filter({ hasText: "build" })).toBeVisible();
  await accessible(page);
  await robot.getByRole("button", { name: "Take build away" }).click();
  await dialog.getByRole("button", { name: "Take away" }).click();
  await expect(robot.getByText("It has no tokens.")).toBeVisible();

  await page.getByRole("region", { name: "viewer" }).getByRole("button", { name: "Password …" }).click();
  await dialog.getByLabel("Your own password").fill(stage().password);
  await dialog.getByLabel("New password").fill("see-and-look-1");
  await dialog.getByLabel("Once more").fill("see-and-look-1");
  await dialog.getByRole("button", { name: "Change it" }).click();
  await expect(dialog).toHaveCount(0);

  const other = await (await browser.newContext()).newPage();
  await signIn(other, "applications/argocd/mailer", { username: "viewer", password: "see-and-look-1" });
  await expect(other.getByRole("heading", { name: "You may not see this, or it is not there" })).toBeVisible();
  await other.getByRole("link", { name: "ask which line says so" }).click();
  await other.getByLabel("Which").fill("shop/storefront");
  await other.getByRole("button", { name: "Ask" }).click();
  await expect(other.getByText("The rules do not let you.")).toBeVisible();
  await expect(other).toHaveURL(/object=shop%2Fstorefront/);
  await other.getByLabel("I want to").fill("get");
  await other.getByRole("button", { name: "Ask" }).click();
  await expect(other.getByText("The rules let you.")).toBeVisible();
  await expect(other.getByRole("status").filter({ hasText: "The rules let you." })).toContainText(/policy\.csv line 1.*role:watcher/s);
  await accessible(other);
  // What somebody may not see is empty or said, and never an error without words.
  await other.goto(stage().url + "/settings/clusters");
  await expect(other.getByRole("heading", { name: "There are no clusters that you may see" })).toBeVisible();
  await other.goto(stage().url + "/projects/platform");
  await expect(other.getByRole("heading", { name: "You may not see this, or it is not there" })).toBeVisible();
  await accessible(other);
  await other.context().close();
});

test("why a sync is held back: the rules allow it, and a window does not", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "settings/why?resource=applications&action=sync&object=data%2Fpayments");
  await expect(page.getByText("The rules let you.")).toBeVisible();
  await expect(page.getByText("But something else is in the way.")).toBeVisible();
  await expect(page.getByRole("list", { name: "What was looked at" })).toContainText(/window/i);
  await accessible(page);
});

test("settings, trust, your account: what is set up is said", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "settings");
  await expect(page.getByRole("link", { name: /Clusters/ }).first()).toBeVisible();
  await expect(page.getByText("argocd", { exact: true }).first()).toBeVisible();
  await accessible(page);
  await page.goto(stage().url + "/settings/certs");
  await expect(page.getByRole("heading", { level: 1, name: "Certificates and keys" })).toBeVisible();
  await accessible(page);
  await page.goto(stage().url + "/user-info");
  await expect(page.getByRole("heading", { level: 1, name: "admin" })).toBeVisible();
  await accessible(page);
  await page.goto(stage().url + "/settings/nothing");
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
});

test("a banner says what whoever looks after the installation has to say", { tag: "@quick" }, async ({ page }) => {
  const say = (text: string | null) => kubectl("-n", "argocd", "patch", "configmap/argocd-cm", "--type=merge", "--patch", JSON.stringify({ data: { "ui.bannercontent": text } }));
  say("We move house on Friday");
  try {
    await signIn(page, "projects");
    await expect(async () => {
      await page.reload();
      await expect(page.getByRole("note")).toHaveText("We move house on Friday", { timeout: 2000 });
    }).toPass();
    await accessible(page);
  } finally {
    say(null);
  }
});

test("a list that cannot be read says so, and is read again", async ({ page, context }) => {
  await context.route("**/api/v1/clusters", (r) => r.abort());
  await context.route("**/api/v1/projects", (r) => r.fulfill({ status: 500, json: { message: "the hub is not there" } }));
  await signIn(page, "settings/clusters");
  await expect(page.getByRole("heading", { name: "The server does not answer" })).toBeVisible();
  await context.unroute("**/api/v1/clusters");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("row").filter({ hasText: "in-cluster" })).toBeVisible();
  await page.goto(stage().url + "/projects");
  await expect(page.getByText("the hub is not there")).toBeVisible();
});

test("a page is current without being asked again: what somebody makes appears", async ({ page }) => {
  await signIn(page, "projects");
  const watch = await Watch.of(page);
  await expect(page.getByRole("link", { name: "shop", exact: true })).toBeVisible();
  await watch.still();
  const began = Date.now();
  await page.waitForTimeout(1500);
  expect(await watch.unprompted(began)).toEqual([]);
  kubectl("-n", "argocd", "create", "-f", writeProject());
  await expect(page.getByRole("link", { name: "sudden" })).toBeVisible();
  kubectl("-n", "argocd", "delete", "appproject/sudden");
  await expect(page.getByRole("link", { name: "sudden" })).toHaveCount(0);
});

function writeProject(): string {
  const file = `${stage().log}.project.yaml`;
  writeFileSync(file, "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: sudden}\nspec: {}\n");
  return file;
}
