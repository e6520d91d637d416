import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** packed leaves of each script and sheet its compressed form alone: that is what the binary carries and serves. */
function packed(dir: string): Plugin {
  return {
    name: "packed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(dir)) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const file = join(dir, name);
        writeFileSync(file + ".gz", gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  };
}

const server = process.env["TOWLINE_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  // The server says in the page where it lives; everything else is found from there.
  base: "./",
  plugins: [react(), packed("dist/app/assets")],
  build: { outDir: "dist/app", emptyOutDir: true, modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  server: { proxy: { "/api": { target: server, changeOrigin: true } } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
} as Parameters<typeof defineConfig>[0]);
