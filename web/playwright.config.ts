import { defineConfig } from "@playwright/test";

// Debian's chromium: nothing is downloaded.
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export default defineConfig({
  testDir: "e2e",
  testMatch: "*.spec.ts",
  globalSetup: "./e2e/setup.ts",
  // One installation for all of them, so one after the other.
  workers: 1,
  // On a machine that others use too; what is there at once waits for nothing.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath, args: ["--no-sandbox", "--disable-gpu"] },
    trace: "retain-on-failure",
    viewport: { width: 1440, height: 900 },
  },
});
