/** Pages ask when there is a reason to: one that asked again for each answer would be a flood of its own. */
import type { Browser, Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "./browser";
import { hold } from "./checkout";
import { enter, type Scene, setUpScenes, visitEach } from "./scenes";
import { openEvent, Server } from "./server";

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
/** What a page needs at first, or looks at now and then, leaves a window free sooner or later. */
const WINDOWS = 20;

/** How often a page asked in windows of some answers each, until one was free: the last one, if any was. */
async function windowsOf(page: Page): Promise<number[]> {
  let asked = 0;
  const count = (request: Request) => (asked += Number(request.url().includes("/api/")));
  page.on("request", count);
  const windows: number[] = [];
  while (windows.length < WINDOWS && windows.at(-1) !== 0) {
    const before = asked;
    await page.evaluate(async (rounds) => {
      for (let round = 0; round < rounds; round += 1) await fetch("/healthz");
    }, ROUNDS);
    windows.push(asked - before);
  }
  page.off("request", count);
  return windows;
}

test("no page asks for anything again and again", { timeout: 600_000 }, async () => {
  const restless: string[] = [];
  await visitEach(browser, server, scenes, async (page, scene) => {
    const windows = await windowsOf(page);
    if (windows.at(-1) !== 0) restless.push(`${scene.name}: ${windows.join(" ")}`);
  });
  expect(restless).toEqual([]);
});

test("end that the server has not noticed yet is asked about now and then", async () => {
  const token = await server.visitor();
  await openEvent(server, "over", {
    settings: { room: null },
    pools: [{ pool: "floor", capacity: 5, price_minor: 100 }],
  });
  await hold(server, token, "over", { pools: { floor: 1 } });
  const { page, complaints, close } = await enter(browser, server, { token });
  const over = Date.now() - 5_000;
  let isAsked = false;
  await page.route("**/api/v1/**bookings**", async (route) => {
    const text = await (await route.fetch()).text();
    isAsked ||= text.includes('"until":');
    const body = text.replaceAll(/"until":\d+/g, `"until":${over}`);
    await route.fulfill({ contentType: "application/json", body });
  });
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("timer").first().waitFor();
  expect(isAsked).toBe(true);
  expect((await windowsOf(page)).at(-1)).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
