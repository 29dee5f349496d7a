import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "./browser";
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

test.each(["en", "th", "vi", "ko", "id"])(
  "no page misses a text in %s",
  { timeout: 180_000 },
  async (language) => {
    const look = async (page: Page, scene: Scene) => {
      expect(await page.locator("html").getAttribute("lang"), scene.name).toBe(language);
      const texts = await page.evaluate(() => {
        const labels = [...document.querySelectorAll("[aria-label], [alt], [title], [placeholder]")].flatMap(
          (element) =>
            ["aria-label", "alt", "title", "placeholder"].map((name) => element.getAttribute(name) ?? ""),
        );
        return [document.title, document.body.innerText, ...labels].join("\n");
      });
      // A name without a text is shown in these brackets, and a value that was not given in braces.
      expect(texts.match(/⟨[^⟩]*⟩|\{\w+\}|undefined|NaN/g) ?? [], `${scene.name} in ${language}`).toEqual([]);
    };
    await visitEach(browser, server, scenes, look, language);
  },
);
