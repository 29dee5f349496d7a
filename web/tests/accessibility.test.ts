import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations } from "./browser";
import { enter, type Scene, setUpScenes, show } from "./scenes";
import { Server } from "./server";

let server: Server;
let browser: Browser;
let scenes: Scene[];

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  scenes = await setUpScenes(server);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test.each([
  ["light, on a phone", { ...PHONE, colorScheme: "light" as const }],
  ["dark, on a desk", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" as const }],
])("axe finds nothing wrong on any page, %s", { timeout: 180_000 }, async (_, options) => {
  for (const scene of scenes) {
    const { page, close } = await enter(browser, server, scene.as, "en", options);
    await show(page, server, scene);
    expect(await violations(page), scene.name).toEqual([]);
    await close();
  }
});

test("no page is wider than a narrow phone", { timeout: 180_000 }, async () => {
  for (const scene of scenes) {
    const options = { ...PHONE, viewport: { width: 360, height: 740 } };
    const { page, close } = await enter(browser, server, scene.as, "en", options);
    await show(page, server, scene);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, scene.name).toBeLessThanOrEqual(360);
    await close();
  }
});
