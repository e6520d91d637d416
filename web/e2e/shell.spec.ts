import { expect, test } from "@playwright/test";
import { accessible, signIn, stage } from "./world";

test("signing in: a wrong password is told, the right one leads to where one wanted to go", async ({ page }) => {
  await page.goto(stage().url + "/applications/argocd/storefront?view=list");
  await expect(page.getByRole("heading", { name: "Sign in to Towline" })).toBeVisible();
  await accessible(page);
  await page.getByLabel("Name").fill("admin");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("not right");
  await page.getByLabel("Password").fill(stage().password);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "storefront" })).toBeVisible();
  await expect(page).toHaveURL(/view=list/);
});

test("the page is served as it should be", async ({ request }) => {
  const page = await request.get(stage().url + "/applications/argocd/storefront");
  expect(page.headers()["content-security-policy"]).toContain("script-src 'self'");
  const script = /src="\.?\/?(assets\/[^"]+\.js)" *><\/script>\s*<\/body>|src="\.?\/?(assets\/index-[^"]+\.js)"/.exec(await page.text());
  const asset = await request.get(`${stage().url}/${script?.[1] ?? script?.[2]}`);
  expect(asset.headers()["cache-control"]).toContain("immutable");
  expect(asset.headers()["content-encoding"]).toBe("gzip");
});

test("everything is reached by keys", async ({ page }) => {
  await signIn(page);
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("dialog")).toBeVisible();
  await accessible(page);
  await page.keyboard.type("checkout");
  await expect(page.getByRole("combobox", { name: "Find or do anything" })).toHaveValue("checkout");
  await expect(page.getByRole("option", { name: /checkout/ }).first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "checkout" })).toBeVisible();
  await page.keyboard.press("2");
  await expect(page).toHaveURL(/view=list/);
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await expect(page).toHaveURL(/applications$/);
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const name = await page.locator(".row.chosen a").innerText();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByRole("heading", { name: "Keyboard shortcuts" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
});

test("a theme that was chosen stays", async ({ page }) => {
  await signIn(page);
  await page.getByRole("button", { name: /Theme: system/ }).click();
  await page.getByRole("button", { name: /Theme: light/ }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await accessible(page);
});

test("what there is not, and what may not be seen, is said", async ({ page }) => {
  await signIn(page, "applications/argocd/nothing-of-that-name");
  await expect(page.getByRole("heading", { name: "You may not see this, or it is not there" })).toBeVisible();
  await accessible(page);
});

test("a server that does not answer is told, and asked again", async ({ page, context }) => {
  await signIn(page);
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await context.route("**/api/v1/applications/**", (r) => r.abort());
  await page.getByRole("link", { name: "catalog" }).click();
  await expect(page.getByRole("heading", { name: "The server does not answer" })).toBeVisible();
  await accessible(page);
  await context.unroute("**/api/v1/applications/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "catalog" })).toBeVisible();
});
