import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

export default defineConfig({ ...base, testMatch: "*.shots.ts", retries: 0, use: { ...base.use, actionTimeout: 20_000 } });
