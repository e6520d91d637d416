import { expect, test } from "@playwright/test";
import { accessible, stage } from "./world";

test("signing in elsewhere leads back to where one wanted to go", async ({ page }) => {
  test.skip(!stage().sso, "Dex was not built here: the tests of test/api build it into the cache");
  await page.goto(stage().url + "/applications/argocd/storefront?view=list");
  await page.getByRole("link", { name: /^Sign in with/ }).click();
  // The provider that lets everybody in may ask for a grant first.
  const grant = page.getByRole("button", { name: "Grant Access" });
  await expect(grant.or(page.getByRole("heading", { level: 1, name: "storefront" }))).toBeVisible();
  if (await grant.isVisible()) await grant.click();
  await expect(page.getByRole("heading", { level: 1, name: "storefront" })).toBeVisible();
  await expect(page).toHaveURL(/view=list/);
  await page.goto(stage().url + "/user-info");
  await expect(page.getByRole("region", { name: "Who you are" })).toContainText("authors");
  await accessible(page);
});
