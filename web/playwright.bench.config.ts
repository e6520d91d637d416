import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

// bench/ui.go starts the server and says where it is: there is no stage.
const { globalSetup: _, ...rest } = base;

export default defineConfig({ ...rest, testMatch: "*.bench.ts", retries: 0, timeout: 600_000, use: { ...rest.use, trace: "off" } });
