import { defineConfig } from "@playwright/test";

// Debian's chromium: nothing is downloaded.
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  globalSetup: "./e2e/setup.ts",
  // One installation for all of them, so one after the other.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath, args: ["--no-sandbox", "--disable-gpu"] },
    trace: "retain-on-failure",
    viewport: { width: 1440, height: 900 },
  },
});
