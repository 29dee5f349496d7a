import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  test: {
    // A server a file, and pages in one browser: two at a time are as many as two processors carry.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: "pages",
          include: ["tests/*.test.ts"],
          globalSetup: "tests/chromium.ts",
          // These files share nothing that changes: whoever takes one takes the next without loading
          // Playwright anew.
          isolate: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // A machine that is busy with something else is no reason to fail.
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        extends: true,
        // Modules by themselves, whose state is new for each file.
        test: {
          name: "units",
          include: ["tests/units/*.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
