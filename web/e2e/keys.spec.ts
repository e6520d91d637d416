import { expect, test } from "@playwright/test";
import { signIn } from "./world";

// Every key that the list of shortcuts names does what it says there.

test("the areas are reached by two keys", { tag: "@quick" }, async ({ page }) => {
  await signIn(page);
  for (const [key, title] of [["s", "ApplicationSets"], ["p", "Projects"], ["c", "Clusters"], ["r", "Repositories"], ["e", "Settings"], ["w", "Why can I not …"]] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
  }
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await expect(page).toHaveURL(/applications$/);
});

test("the fleet by keys: forms, rows, marks, filters", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications?health=Healthy");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await page.keyboard.press("v");
  await expect(page).toHaveURL(/view=tiles/);
  await page.keyboard.press("v");
  await expect(page).toHaveURL(/view=map/);
  await page.keyboard.press("v");
  await expect(page).not.toHaveURL(/view=/);
  await page.keyboard.press("x");
  await expect(page).not.toHaveURL(/health=/);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("m");
  await expect(page.getByText("1 marked")).toBeVisible();
  await page.keyboard.press("m");
  await expect(page.getByText("1 marked")).toHaveCount(0);
  await page.keyboard.press("n");
  await expect(page.getByRole("dialog", { name: "New application" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("an application by keys: its views, its graph, its dialogs", { tag: "@quick" }, async ({ page }) => {
  await signIn(page, "applications/argocd/checkout");
  await expect(page.getByRole("button", { name: /Deployment.*orders/ })).toBeVisible();
  for (const [key, view] of [["2", "list"], ["3", "pods"], ["4", "network"], ["5", "diff"], ["6", "sync"], ["7", "history"], ["8", "drift"], ["9", "events"], ["0", "logs"]] as const) {
    await page.keyboard.press(key);
    await expect(page).toHaveURL(new RegExp(`view=${view}`));
  }
  await page.keyboard.press("1");
  await expect(page).not.toHaveURL(/view=/);
  await page.getByRole("group", { name: "Objects and what came from them" }).focus();
  for (const key of ["j", "l", "h", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  await expect.poll(() => page.evaluate(() => document.activeElement?.querySelector(".node-name")?.textContent ?? "")).not.toBe("");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  for (const [key, title] of [["s", /^Sync checkout/], ["e", /^Edit checkout/], ["?", /^Keyboard/]] as const) {
    await page.keyboard.press(key);
    await expect(page.getByRole("dialog", { name: title })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
  const looked = page.waitForRequest(/refresh=normal/);
  await page.keyboard.press("r");
  await looked;
});

test("everything can be reached with Tab, and shows where it is", async ({ page }) => {
  await signIn(page, "settings");
  const seen = new Set<string>();
  for (let i = 0; i < 25; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const el = document.activeElement as HTMLElement;
      // After the last one the browser's own buttons come.
      if (el === document.body) return undefined;
      const style = getComputedStyle(el);
      return { name: el.innerText || el.getAttribute("aria-label") || el.tagName, shown: style.outlineStyle !== "none" || style.boxShadow !== "none" };
    });
    if (!at) break;
    expect(at.shown, at.name).toBe(true);
    seen.add(at.name.trim().split("\n")[0] ?? "");
  }
  for (const name of ["To the content", "Applications", "Clusters", "Repositories"]) expect([...seen]).toContain(name);
});
