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

/** Watch has a page write down when the stream told something and when the page asked for something. */
export class Watch {
  readonly #asked: { at: number; url: string }[] = [];

  private constructor(private readonly page: Page) {
    page.on("request", (r) => r.url().includes("/api/") && !r.url().includes("/stream/") && this.#asked.push({ at: Date.now(), url: r.url() }));
  }

  /** of loads the page anew, so that nothing is missed of what it is told. */
  static async of(page: Page): Promise<Watch> {
    const watch = new Watch(page);
    await page.addInitScript(() => {
      const told: number[] = [];
      (globalThis as unknown as { told: number[] }).told = told;
      globalThis.EventSource = class extends EventSource {
        constructor(url: string | URL, init?: EventSourceInit) {
          super(url, init);
          for (const name of ["application", "tree", "topic", "reset"]) this.addEventListener(name, () => told.push(Date.now()));
        }
      };
    });
    await page.reload();
    return watch;
  }

  /** still waits until nothing was asked for a while: whatever a page needs when it opens was read. */
  async still(): Promise<void> {
    await expect.poll(() => Date.now() - (this.#asked.at(-1)?.at ?? Date.now())).toBeGreaterThan(1500);
  }

  /** unprompted is what was asked since a time though the stream had told nothing shortly before. */
  async unprompted(since: number): Promise<string[]> {
    const told = await this.page.evaluate(() => (globalThis as unknown as { told: number[] }).told);
    return this.#asked.filter((a) => a.at >= since && !told.some((t) => t <= a.at && a.at - t < 3000)).map((a) => a.url);
  }

  /** asked is how often the page asked for something since a time. */
  asked(since: number): number {
    return this.#asked.filter((a) => a.at >= since).length;
  }
}
