import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "./browser";
import { heading, hold } from "./checkout";
import { enter } from "./scenes";
import { openEvent, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "e", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 0 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("a visitor with more bookings than one answer has sees all of them", async () => {
  const token = await server.visitor();
  const held: string[] = [];
  for (let n = 0; n < 101; n += 1) {
    const booking = await hold(server, token, "e", { pools: { ga: 1 } });
    held.push(booking);
    // Of what ended a visitor may have only so much within a day.
    if (n < 95) await server.ask("POST", `/bookings/${booking}/cancel`, { token });
  }
  const { page } = await enter(browser, server, { token }, "en");
  await page.goto(`${server.url}/bookings`);
  await heading(page, "My bookings");
  // The latest one comes with the second page.
  await page.locator(`a[href="/bookings/${held[100]}"]`).first().waitFor();
  expect(await page.locator("article.card").count()).toBe(101);
});
