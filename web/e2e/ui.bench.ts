import { writeFileSync } from "node:fs";
import { expect, test, type Page } from "@playwright/test";
import { quantile, round, Trace } from "./trace";

// Started by bench/ui.go, which serves a fleet that it makes up and reads what is written here.

const base = process.env["BENCH_URL"] ?? "";
const graphs = (process.env["BENCH_GRAPHS"] ?? "").split(",").filter(Boolean);

interface View {
  name: string;
  longTasks: number;
  longestTask: number;
  loadTask: number;
  frames: number;
  frame95: number;
  frameWorst: number;
  keys: number;
  keystroke: number;
  keystrokeWorst: number;
  nodes: number;
}

const blank = (name: string): View => ({ name, longTasks: 0, longestTask: 0, loadTask: 0, frames: 0, frame95: 0, frameWorst: 0, keys: 0, keystroke: 0, keystrokeWorst: 0, nodes: 0 });

/** loaded opens a page and traces it until it has what it is for. */
async function loaded(page: Page, view: View, path: string, ready: string): Promise<void> {
  const trace = await Trace.begin(page);
  await page.goto(`${base}/${path}`);
  await page.locator(ready).first().waitFor();
  await page.waitForTimeout(1500);
  await trace.end();
  view.loadTask = round(trace.tasks()[0] ?? 0);
  view.nodes = await page.evaluate(() => document.querySelectorAll("*").length);
}

/** noted has the page write down when the first row of the list was painted: what stood there before means nothing to anybody. */
function noted(row: string): void {
  const watch = new MutationObserver(() => {
    if (!document.querySelector(row)) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => ((globalThis as unknown as { meant: number }).meant = performance.now())));
  });
  watch.observe(document, { childList: true, subtree: true });
}

/** during traces what somebody does, and adds it to what is known of the view. */
async function during(page: Page, view: View, what: () => Promise<void>, moving: boolean): Promise<void> {
  const trace = await Trace.begin(page);
  await what();
  await trace.end();
  const tasks = trace.tasks();
  view.longTasks += tasks.filter((t) => t > 50).length;
  view.longestTask = Math.max(view.longestTask, round(tasks[0] ?? 0));
  if (!moving) return;
  const frames = trace.frames();
  view.frames = frames.length;
  view.frame95 = round(quantile(frames, 0.95));
  view.frameWorst = round(Math.max(...frames, 0));
}

/** pan drags a picture about, as with a mouse. */
async function pan(page: Page): Promise<void> {
  const box = await page.locator(".graph-box").boundingBox();
  if (!box) throw new Error("there is no picture");
  for (let turn = 0; turn < 4; turn++) {
    // Between the cards, so that the picture is taken hold of.
    await page.mouse.move(box.x + box.width - 30, box.y + box.height - 20);
    await page.mouse.down();
    for (let i = 1; i <= 40; i++) await page.mouse.move(box.x + box.width - 30 - (turn % 2) * i * 4, box.y + box.height - 20 - i * 14);
    await page.mouse.up();
  }
}

/** typed types and says how long each key took until its paint, as chromium's own event timing has it. */
async function typed(page: Page, view: View, text: string): Promise<void> {
  await page.evaluate(() => {
    const seen: number[] = [];
    (globalThis as unknown as { seen: number[] }).seen = seen;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) if (e.name === "keydown") seen.push(e.duration);
    }).observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
  });
  for (const key of text) {
    await page.keyboard.press(key);
    await page.waitForTimeout(120);
  }
  await page.waitForTimeout(500);
  const slow = await page.evaluate(() => (globalThis as unknown as { seen: number[] }).seen);
  // Keys that took less than 16 ms are not told of.
  const all = [...slow, ...Array.from({ length: Math.max(0, text.length - slow.length) }, () => 8)];
  view.keys = text.length;
  view.keystroke = round(quantile(all, 0.5));
  view.keystrokeWorst = round(Math.max(...all, 0));
}

test("the pages under load", async ({ browser }) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addCookies([{ name: "argocd.token", value: "bench", url: base }]);
  const page = await context.newPage();
  let scripts = 0;
  const counted = (length: string | undefined) => (scripts += Number(length ?? 0));
  page.on("response", (r) => r.url().endsWith(".js") && counted(r.headers()["content-length"]));

  const list = blank("list");
  const row = ".row:not(.head):not(.blank)";
  await page.addInitScript(noted, row);
  await loaded(page, list, "applications", row);
  const scriptKB = round(scripts / 1024);
  const firstPaint = round(
    await page.evaluate(() => performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint")?.startTime ?? 0),
  );
  const meaningfulPaint = round(await page.evaluate(() => (globalThis as unknown as { meant?: number }).meant ?? 0));
  await during(page, list, async () => {
    await page.mouse.move(900, 600);
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, 400);
    await page.waitForTimeout(500);
  }, true);
  // Elements are used again for other rows, and yet at rest they stand in the order in which they are read.
  const order = await page.locator(row).evaluateAll((rows) => rows.map((r) => Number(r.getAttribute("aria-rowindex"))));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order[0]).toBeGreaterThan(100);
  await page.keyboard.press("/");
  await during(page, list, () => typed(page, list, "checkout"), false);
  await expect(page.locator(".total")).toContainText("applications");

  const map = blank("map");
  await loaded(page, map, "applications?view=map", ".map-drawn");
  await during(page, map, async () => {
    for (let i = 0; i < 60; i++) await page.mouse.move(400 + i * 10, 300 + (i % 20) * 15);
    await page.waitForTimeout(500);
  }, true);

  const views = [list, map];
  for (const name of graphs) {
    const view = blank(name);
    await loaded(page, view, `applications/argocd/${name}`, ".node");
    await during(page, view, () => pan(page), true);
    views.push(view);
  }
  writeFileSync(process.env["BENCH_OUT"] ?? "bench-ui.json", JSON.stringify({ scriptKB, firstPaint, meaningfulPaint, views }, null, 2));
  await context.close();
});
