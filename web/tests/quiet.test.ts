/** Pages ask when there is a reason to: one that asked again for each answer would be a flood of its own. */
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

/** Answers to wait for, one after the other: a page that asks all the time does so in between. */
const ROUNDS = 30;

test("no page asks for anything again and again", { timeout: 600_000 }, async () => {
  const restless: string[] = [];
  const look = async (page: Page, scene: Scene) => {
    let asked = 0;
    page.on("request", (request) => (asked += Number(request.url().includes("/api/"))));
    const inOneWindow = async () => {
      const before = asked;
      await page.evaluate(async (rounds) => {
        for (let round = 0; round < rounds; round += 1) await fetch("/healthz");
      }, ROUNDS);
      return asked - before;
    };
    // What a page needs at first, or looks at now and then, leaves a window free sooner or later.
    const windows = [];
    while (windows.length < 20 && windows.at(-1) !== 0) windows.push(await inOneWindow());
    if (windows.at(-1) !== 0) restless.push(`${scene.name}: ${windows.join(" ")}`);
  };
  await visitEach(browser, server, scenes, look);
  expect(restless).toEqual([]);
});
