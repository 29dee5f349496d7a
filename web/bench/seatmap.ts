/**
 * How long the seat map takes to draw a frame while somebody pans and zooms over 50,000 seats, in
 * headless Chromium, and how long a map takes that draws every seat each frame. Prints one line of
 * JSON. ONRUSH_BENCH_SEATS changes the number.
 */
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { createServer } from "vite";
import { launch } from "../tests/browser";
import type { Bench } from "./page";

const SEATS = Number(process.env.ONRUSH_BENCH_SEATS ?? 50_000);
const FOR_MS = 10_000;

test("draw times of the seat map", async () => {
  const pages = await createServer({
    root: path.resolve(import.meta.dirname, ".."),
    logLevel: "error",
    // The port is any that is free.
    server: { host: "127.0.0.1", port: 0, hmr: false },
  });
  await pages.listen();
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${pages.resolvedUrls!.local[0]}bench/page.html?seats=${SEATS}`);
    await page.waitForFunction(() => "ours" in window);
    const load = loadavg()[0]!;
    // Processor time of the page's thread, which a busy machine does not stretch.
    const inspector = await page.context().newCDPSession(page);
    await inspector.send("Performance.enable", { timeDomain: "threadTicks" });
    const cpuMs = async () => {
      const { metrics } = await inspector.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "ScriptDuration")!.value * 1_000;
    };
    const run = async (name: "ours" | "everySeat") => {
      const before = await cpuMs();
      const times = await page.evaluate(([name, forMs]) => (window as unknown as Bench)[name](forMs), [
        name,
        FOR_MS,
      ] as const);
      const meanMs = ((await cpuMs()) - before) / times.frames;
      return { ...times, script_cpu_mean_ms: Math.round(meanMs * 100) / 100 };
    };
    // The first flight over the house is for the compiler.
    await page.evaluate(() => (window as unknown as Bench).ours(2_000));
    const map = await run("ours");
    const everySeat = await run("everySeat");
    const measured = { seats: SEATS, processors: cpus().length, load, map, every_seat: everySeat };
    // eslint-disable-next-line no-console -- this is what it is run for
    console.log(JSON.stringify(measured));
    // A flight that drew nothing measured nothing.
    expect(Math.min(map.frames, everySeat.frames)).toBeGreaterThan(10);
  } finally {
    await browser.close();
    await pages.close();
  }
});
