import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  test: {
    include: ["tests/**/*.test.ts", "src/**/*.test.ts"],
    globalSetup: "tests/chromium.ts",
    // A server a file, and pages in one browser: two at a time are as many as two processors carry.
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A machine that is busy with something else is no reason to fail.
    expect: { poll: { timeout: 20_000 } },
  },
});
