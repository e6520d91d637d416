import { expect, test } from "@playwright/test";
import { accessible, kubectl, signIn, Watch } from "./world";

test.beforeEach(async ({ page }) => signIn(page));

test("the fleet: search, filters with counts in the address, and back", async ({ page }) => {
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await accessible(page);
  await page.keyboard.press("/");
  await page.keyboard.type("storefront");
  await expect(page.locator(".total")).toContainText("1 application");
  await expect(page).toHaveURL(/search=storefront/);
  await page.getByRole("button", { name: "Clear" }).click();
  const project = page.getByRole("group", { name: "Project" }).getByRole("checkbox", { name: /^platform/ });
  await project.check();
  await expect(page).toHaveURL(/project=platform/);
  await expect(page.getByRole("link", { name: "mailer" })).toBeVisible();
  await expect(page.getByRole("link", { name: "branch-lisbon" })).toHaveCount(0);
  await page.reload();
  await expect(project).toBeChecked();
  await page.goBack();
  await expect(page.getByRole("link", { name: "branch-lisbon" })).toBeVisible();
  await page.getByRole("columnheader", { name: "Health" }).getByRole("button").click();
  await expect(page).toHaveURL(/sort=-health/);
  // The worst is what nobody knows.
  await expect(page.getByRole("row").nth(1)).toContainText("Unknown");
  await expect(page.getByRole("row").nth(2)).toContainText("Degraded");
  await page.getByRole("group", { name: "Health" }).getByRole("button", { name: /Degraded/ }).click();
  await expect(page).toHaveURL(/health=Degraded/);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("group", { name: "Repository" }).getByRole("checkbox").first().check();
  await expect(page).toHaveURL(/repo=/);
  await expect(page.getByRole("row").nth(1)).toBeVisible();
});

test("a path that is too long for its column is cut at its front", { tag: "@quick" }, async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("searchbox").fill("mailer");
  const cell = page.getByRole("row").filter({ hasText: "mailer" }).locator(".c-source");
  await expect(cell).toHaveText("shop/mailerauto");
  await expect(cell).toHaveAttribute("title", /shop\S* mailer$/);
  const [front, end] = await cell.locator("bdi").evaluate((text) => {
    text.textContent = "shop/clusters/europe/overlays/mailer";
    const [whole, shown] = [text, text.parentElement!].map((el) => el.getBoundingClientRect());
    return [shown!.left - whole!.left, shown!.right - whole!.right];
  });
  expect(front).toBeGreaterThan(20);
  expect(Math.abs(end!)).toBeLessThan(1);
});

test("tiles and the map show the same fleet", async ({ page }) => {
  await page.getByRole("button", { name: "Tiles" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "storefront" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Map" }).click();
  const tile = page.getByRole("link", { name: /^storefront:/ });
  await expect(tile).toBeVisible();
  await page.getByLabel("Group by").selectOption("label:team");
  await expect(page).toHaveURL(/group=label%3Ateam/);
  await expect(page.getByRole("heading", { name: /^platform/ })).toBeVisible();
  await accessible(page);
  await tile.click();
  await expect(page.getByRole("heading", { level: 1, name: "storefront" })).toBeVisible();
});

test("an application that comes and one that goes are shown as they do, without asking again and again", async ({ page }) => {
  const watch = await Watch.of(page);
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await watch.still();
  const began = Date.now();
  await page.waitForTimeout(3000);
  expect(await watch.unprompted(began)).toEqual([]);
  const touched = Date.now();
  kubectl("-n", "argocd", "label", "application/storefront", "touched=yes", "--overwrite");
  await expect.poll(() => watch.asked(touched)).toBeGreaterThan(0);
  expect(await watch.unprompted(began)).toEqual([]);
});

test("rows that come into sight stand in order, and the focus goes over to none of them", { tag: "@quick" }, async ({ page }) => {
  await page.setViewportSize({ width: 1440, height: 600 });
  const table = page.getByRole("table", { name: "Applications" });
  const first = table.getByRole("link", { name: "branch-lisbon" });
  const order = () => table.locator("[aria-rowindex]").evaluateAll((rows) => rows.map((r) => Number(r.getAttribute("aria-rowindex"))));
  const inOrder = async () => (await order()).every((n, i, all) => i === 0 || n === (all[i - 1] ?? 0) + 1);
  await first.focus();
  await table.evaluate((el) => el.scrollTo(0, el.scrollHeight));
  await expect(first).toHaveCount(0);
  await expect(table).toBeFocused();
  await expect.poll(inOrder).toBe(true);
  expect((await order())[0]).toBeGreaterThan(1);
  await table.evaluate((el) => el.scrollTo(0, 0));
  await expect(first).toBeVisible();
  await expect.poll(inOrder).toBe(true);
  expect((await order())[0]).toBe(1);
});

test("on a phone nothing is wider than the screen", async ({ page }) => {
  test.setTimeout(300_000);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ["applications", "applications?view=tiles", "applications?view=map", "applications/argocd/storefront", "applications/argocd/storefront?view=diff", "applications/argocd/storefront?view=pods", "applicationsets", "projects", "projects/platform", "settings", "settings/clusters", "settings/repos", "settings/accounts", "settings/why"]) {
    await page.goto(new URL("/" + path, page.url()).href);
    await expect(page.getByRole("main")).toBeVisible();
    await expect(page.getByText(/^Reading/)).toHaveCount(0);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: path }).toBeLessThanOrEqual(390);
  }
});
