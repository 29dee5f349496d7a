import { defineConfig } from "vitest/config";

/** Measurements: not among the tests, as a busy machine would fail them. `npm run bench:seatmap`. */
export default defineConfig({
  test: { include: ["bench/seatmap.ts"], testTimeout: 120_000, hookTimeout: 60_000 },
});
