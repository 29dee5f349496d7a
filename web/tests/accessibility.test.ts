import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations } from "./browser";
import { type Scene, setUpScenes, visitEach } from "./scenes";
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

const DESK = { viewport: { width: 1280, height: 800 } };
const NARROW = { ...PHONE, viewport: { width: 360, height: 740 } };

test.each([
  ["light, on a narrow phone", { ...NARROW, colorScheme: "light" as const }],
  ["dark, on a desk", { ...DESK, colorScheme: "dark" as const }],
])(
  "axe finds nothing wrong on any page, and none is too wide: %s",
  { timeout: 180_000 },
  async (_, options) => {
    const look = async (page: Page, scene: Scene) => {
      expect(await violations(page), scene.name).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, scene.name).toBeLessThanOrEqual(options.viewport.width);
    };
    await visitEach(browser, server, scenes, look, "en", options);
  },
);
