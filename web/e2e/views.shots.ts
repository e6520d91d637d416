import { expect, test, type Page } from "@playwright/test";
import { kubectl, signIn, stage } from "./world";

// Pictures of every view, light and dark, on a desk and on a phone, into the folder shots (or SHOTS). They prove nothing:
// somebody has to look at them.

const folder = process.env["SHOTS"] ?? "shots";
const screens = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const;

const views: Record<string, string> = {
  table: "applications",
  "table-filtered": "applications?sync=OutOfSync",
  nothing: "applications?search=nosuchthing",
  tiles: "applications?view=tiles",
  map: "applications?view=map",
  "map-label": "applications?view=map&group=label%3Ateam",
  graph: "applications/argocd/storefront",
  list: "applications/argocd/storefront?view=list",
  diff: "applications/argocd/storefront?view=diff",
  sync: "applications/argocd/checkout?view=sync",
  history: "applications/argocd/mailer?view=history",
  drift: "applications/argocd/checkout?view=drift",
  events: "applications/argocd/checkout?view=events",
  logs: "applications/argocd/storefront?view=logs",
  degraded: "applications/argocd/search",
  error: "applications/argocd/ledger",
  object: `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}`,
  "object-diff": `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}&tab=diff`,
  "object-yaml": `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}&tab=yaml`,
  forbidden: "applications/argocd/nothing",
};

async function settled(page: Page): Promise<void> {
  await expect(page.getByText(/^Reading/)).toHaveCount(0);
  await page.waitForTimeout(350);
}

test.beforeAll(() => {
  kubectl("-n", "storefront", "patch", "deployment/web", "--field-manager=carol", "--type=merge", "--patch", '{"spec":{"replicas":5}}');
  kubectl("-n", "storefront", "patch", "configmap/settings", "--field-manager=kubectl-edit", "--type=merge", "--patch", '{"data":{"banner":"Sale!"}}');
});

for (const [screen, viewport] of Object.entries(screens)) {
  for (const theme of ["light", "dark"] as const) {
    test(`${screen} ${theme}`, async ({ browser }) => {
      test.setTimeout(400_000);
      const context = await browser.newContext({ viewport, colorScheme: theme });
      const page = await context.newPage();
      const shoot = (name: string) => page.screenshot({ path: `${folder}/${name}-${screen}-${theme}.png` });
      await page.goto(stage().url + "/login");
      await settled(page);
      await shoot("login");
      await signIn(page);
      for (const [name, path] of Object.entries(views)) {
        await page.goto(`${stage().url}/${path}`);
        await settled(page);
        await shoot(name);
      }
      await page.goto(`${stage().url}/applications/argocd/storefront`);
      await settled(page);
      await page.keyboard.press("s");
      await expect(page.getByRole("dialog").getByText(/would be synced/)).toBeVisible();
      await shoot("plan");
      await page.keyboard.press("Escape");
      await expect(page.getByRole("dialog")).toHaveCount(0);
      await page.keyboard.press("Control+k");
      await expect(page.getByRole("combobox")).toBeFocused();
      await page.keyboard.type("s");
      await page.waitForTimeout(400);
      await shoot("palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await shoot("keys");
      await context.close();
    });
  }
}
