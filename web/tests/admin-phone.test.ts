import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sell, signIn } from "./admin";
import { launch, loaded, PHONE, violations, visit } from "./browser";
import { openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("on a small phone in the dark no page is wider than the screen, and none has violations", async () => {
  await openEvent(server, "tour", {
    plan: smallPlan(4, 8),
    prices: { Stalls: 4_000 },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { booking } = await sell(server, "tour", { seats: ["A-1"], pools: { ga: 1 } });
  const { page, complaints, close } = await visit(browser, {
    ...PHONE,
    viewport: { width: 360, height: 740 },
    colorScheme: "dark",
  });
  await signIn(page, server);
  const pages = ["", "/events/new", "/events/tour/edit", "/events/tour", "/bookings", `/bookings/${booking}`];
  pages.push("/sagas", "/money", "/feed", "/messages", "/flags", "/inventory", "/check-in");
  for (const to of pages) {
    await page.goto(`${server.url}/admin${to}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await loaded(page);
    if (to === "/events/tour") await page.getByLabel("Find a seat by its id").waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, to).toBe(360);
    expect(await violations(page), to).toEqual([]);
  }
  expect(complaints).toEqual([]);
  await close();
});
