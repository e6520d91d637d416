import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";
import type { Stage } from "./setup";

export const stage = (): Stage => JSON.parse(process.env["STAGE"] ?? "{}") as Stage;

export function kubectl(...args: string[]): string {
  const { kubectl: program, kubeconfig } = stage();
  return execFileSync(program, ["--kubeconfig", kubeconfig, ...args], { encoding: "utf8" });
}

/** commit writes a file into the repository, as somebody would. */
export function commit(message: string, path: string, content: string): void {
  const dir = mkdtempSync(join(tmpdir(), "towline-ui-git-"));
  const git = (...args: string[]) => execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...args], { cwd: dir, stdio: "pipe" });
  try {
    git("clone", "--quiet", stage().repository, ".");
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", message);
    git("push", "--quiet", "origin", "HEAD:main");
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** signIn goes to a page as the administrator, or as somebody else. */
export async function signIn(page: Page, to = "", as?: { username: string; password: string }): Promise<void> {
  const { url } = stage();
  const { username, password } = as ?? stage();
  await page.goto(url + "/" + to);
  await page.getByLabel("Name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("link", { name: "Towline: all applications" })).toBeVisible();
}

/** accessible fails on anything that axe calls serious. */
export async function accessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const grave = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  expect(grave.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 5).join("; ")}`)).toEqual([]);
}
