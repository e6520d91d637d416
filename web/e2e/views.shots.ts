import { expect, test, type Page } from "@playwright/test";
import { commit, kubectl, signIn, stage } from "./world";

// Pictures of every view, light and dark, on a desk and on a phone, into docs/ui/shots (or SHOTS). They prove nothing:
// somebody has to look at them.

const folder = process.env["SHOTS"] ?? "../docs/ui/shots";
/** only are the views to take anew, such as ONLY=table,sync; all without it. */
const only = process.env["ONLY"]?.split(",");
const screens = { phone: { width: 390, height: 844 }, desk: { width: 1280, height: 800 } } as const;

const views: Record<string, string> = {
  table: "applications",
  "table-filtered": "applications?sync=OutOfSync",
  nothing: "applications?search=nosuchthing",
  tiles: "applications?view=tiles",
  map: "applications?view=map",
  "map-label": "applications?view=map&group=label%3Ateam",
  graph: "applications/argocd/storefront",
  "graph-narrowed": "applications/argocd/storefront?state=look",
  "graph-of-apps": `applications/argocd/suite?inside=${encodeURIComponent("argocd/suite-web")}`,
  pods: "applications/argocd/checkout?view=pods",
  network: "applications/argocd/checkout?view=network",
  list: "applications/argocd/storefront?view=list",
  diff: "applications/argocd/storefront?view=diff",
  sync: "applications/argocd/checkout?view=sync",
  history: "applications/argocd/mailer?view=history",
  drift: "applications/argocd/shop-north-00?view=drift",
  events: "applications/argocd/checkout?view=events",
  logs: "applications/argocd/storefront?view=logs",
  degraded: "applications/argocd/search",
  error: "applications/argocd/ledger",
  object: `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}`,
  "object-diff": `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}&tab=diff`,
  "object-yaml": `applications/argocd/storefront?resource=${encodeURIComponent("apps/Deployment/storefront/web")}&tab=yaml`,
  forbidden: "applications/argocd/nothing",
  "new-app": "applications?new=form",
  "edit-app": "applications/argocd/storefront?edit=form",
  sets: "applicationsets",
  set: "applicationsets/argocd/branches",
  projects: "projects",
  project: "projects/platform",
  "project-roles": "projects/platform?view=roles",
  "project-windows": "projects/data?view=windows",
  "project-events": "projects/data?view=events",
  settings: "settings",
  clusters: "settings/clusters",
  cluster: `settings/clusters?cluster=${encodeURIComponent("https://kubernetes.default.svc")}`,
  repositories: "settings/repos",
  accounts: "settings/accounts",
  trust: "settings/trust",
  why: "settings/why?resource=applications&action=sync&object=data%2Fpayments",
  account: "user-info",
};

/** settled waits until a page is there and has been reading nothing for a while: between two steps of opening it nothing may be read either. */
async function settled(page: Page): Promise<void> {
  let calm = 0;
  const look = async () => {
    const busy = await page.evaluate(
      () => !document.querySelector("main, form") || [...document.querySelectorAll("[role=status]")].some((e) => e.textContent.trim().startsWith("Reading")),
    );
    calm = busy ? 0 : calm + 1;
    return calm;
  };
  await expect.poll(look, { intervals: [100] }).toBeGreaterThan(4);
}

test.beforeAll(async () => {
  commit("Greet in a friendlier way", "mailer/all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: templates}\ndata: {greeting: Hi}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: mailer}\nspec: {selector: {app: mailer}, ports: [{port: 80}]}\n");
  kubectl("-n", "argocd", "annotate", "application/mailer", "argocd.argoproj.io/refresh=normal", "--overwrite");
  await expect.poll(() => kubectl("-n", "argocd", "get", "application/mailer", "-o", "jsonpath={.status.history[*].id}"), { timeout: 60_000 }).toContain("1");
  // Set right at once, and written down.
  kubectl("-n", "small-north", "patch", "configmap/settings-00", "--field-manager=dave", "--type=merge", "--patch", '{"data":{"mode":"fancy"}}');
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
        if (only && !only.includes(name)) continue;
        await page.goto(`${stage().url}/${path}`);
        await settled(page);
        await shoot(name);
      }
      if (only) return;
      await page.goto(`${stage().url}/applications/argocd/storefront`);
      await settled(page);
      await page.keyboard.press("s");
      await expect(page.getByRole("dialog").getByText(/would be synced/)).toBeVisible();
      await shoot("plan");
      await page.keyboard.press("Escape");
      await expect(page.getByRole("dialog")).toHaveCount(0);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find or do anything" }).fill("s");
      await page.waitForTimeout(400);
      await shoot("palette");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await shoot("keys");
      await page.goto(`${stage().url}/applications`);
      await settled(page);
      for (const name of ["branch-oslo", "catalog", "checkout"]) await page.getByLabel(`Mark ${name}`).check();
      await page.getByRole("button", { name: "Sync …" }).click();
      await shoot("bulk");
      for (const [name, path, button] of [
        ["set-preview", "applicationsets/argocd/branches", "Change and preview …"],
        ["add-cluster", "settings/clusters", "Add a cluster …"],
        ["add-repository", "settings/repos", "Add a repository …"],
        ["compare", "applications/argocd/mailer?view=history", "Compare …"],
        ["rollback", "applications/argocd/mailer?view=history", "Back to this …"],
      ] as const) {
        await page.goto(`${stage().url}/${path}`);
        await settled(page);
        await page.getByRole("button", { name: button }).first().click();
        if (name === "set-preview") await page.getByRole("dialog").getByRole("button", { name: "Preview" }).click();
        await settled(page);
        await shoot(name);
      }
      await context.route("**/api/v1/applications/**", (r) => r.abort());
      await page.goto(`${stage().url}/applications/argocd/storefront`);
      await expect(page.getByRole("heading", { name: "The server does not answer" })).toBeVisible();
      await shoot("offline");
      await context.close();
    });
  }
}
