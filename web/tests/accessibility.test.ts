import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations } from "./browser";
import { hold } from "./checkout";
import { enter, pay, type Scene, setUpScenes, visitEach } from "./scenes";
import { CARDS, openEvent, Server } from "./server";

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
  // All pages, one after the other: a minute by itself, and several beside all other tests.
  { timeout: 600_000 },
  async (_, options) => {
    const look = async (page: Page, scene: Scene) => {
      expect(await violations(page), scene.name).toEqual([]);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, scene.name).toBeLessThanOrEqual(options.viewport.width);
    };
    await visitEach(browser, server, scenes, look, "en", options);
  },
);

const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute("aria-label") ?? element?.textContent;
  });

test("end of a place is read out by what was there before it", async () => {
  const pools = [{ pool: "floor", capacity: 5, price_minor: 0 }];
  await openEvent(server, "hush", { settings: { room: { capacity: 1 } }, pools });
  await server.ask("POST", "/events/hush/queue", { token: await server.visitor() });
  const token = await server.visitor();
  const { page, complaints, close } = await enter(browser, server, { token });
  await page.goto(`${server.url}/events/hush/queue`);
  const region = page.locator("p[aria-live=polite].hidden-text");
  await expect.poll(() => region.textContent()).not.toBe("");
  // Readers say what is put into a region that they know, and not what comes with one.
  await region.evaluate((element) => (element.dataset.was = "there"));
  await server.ask("DELETE", "/events/hush/queue", { token });
  const known = page.locator("[data-was=there]");
  await expect.poll(() => known.textContent()).toBe("You left the line");
  await page.getByRole("heading", { level: 1, name: "You left the line" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("whoever cancels in the list goes on at the booking's new place in it, and is told", async () => {
  await openEvent(server, "gala", {
    settings: {
      room: null,
      starts_at: Date.now() + 60 * 86_400_000,
      refunds: [{ days_before: 1, percent: 80 }],
    },
    pools: [{ pool: "floor", capacity: 5, price_minor: 3_000 }],
  });
  const token = await server.visitor();
  const booking = await hold(server, token, "gala", { pools: { floor: 1 } });
  await pay(server, booking, token, CARDS.good);
  const { page, complaints, close } = await enter(browser, server, { token });
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  await page.getByRole("button", { name: "Yes, cancel it" }).click();
  await page.getByRole("heading", { level: 2, name: "Over" }).waitFor();
  await expect.poll(() => focused(page)).toBe("Over");
  const said = page.locator("p[aria-live=polite].hidden-text");
  await expect.poll(() => said.textContent()).toBe("This booking is cancelled");
  expect(complaints).toEqual([]);
  await close();
});

test("line taken out of the basket leaves the keyboard at the next one, or at its title", async () => {
  const names = ["first", "second", "third"];
  await openEvent(server, "things", {
    settings: { room: null },
    pools: names.map((pool) => ({ pool, capacity: 5, price_minor: 100 })),
  });
  const { page, complaints, close } = await enter(browser, server, { token: await server.visitor() });
  await page.goto(`${server.url}/events/things/choose`);
  for (const name of ["First", "Second", "Third"]) {
    await page.getByRole("button", { name: `More: ${name}` }).click();
  }
  await page.getByRole("button", { name: "Remove 1 × Second" }).focus();
  for (const next of ["Remove 1 × Third", "Remove 1 × First", "Your choice"]) {
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe(next);
  }
  expect(complaints).toEqual([]);
  await close();
});
