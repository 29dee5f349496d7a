/** What tests of the checkout have in common. */
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Booking } from "../src/api/schema";
import type { Visit } from "./browser";
import { enter } from "./scenes";
import type { Server } from "./server";

/** Somebody with a browser and a hold. */
export interface Holder extends Visit {
  token: string;
  booking: string;
}

/** Holds these lines of an event, and opens the booking's page. */
export async function holdAndVisit(
  browser: Browser,
  server: Server,
  event: string,
  lines: unknown,
  options: BrowserContextOptions = {},
): Promise<Holder> {
  const token = await server.visitor();
  const booking = await hold(server, token, event, lines);
  const visit = await enter(browser, server, { token }, "en", options);
  await visit.page.goto(`${server.url}/bookings/${booking}`);
  return { ...visit, token, booking };
}

export async function hold(server: Server, token: string, event: string, lines: unknown): Promise<string> {
  const key = `hold-${Math.random()}`;
  const answer = await server.ask("POST", `/events/${event}/bookings`, { token, key, body: lines });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.booking;
}

/** Waits for the page's one heading. */
export async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** How long a booking lasts whose page must show something before it is over, and what is tried next. */
const SHORT_MS = [6_000, 20_000, 50_000];

/**
 * Whether a booking's page shows `what` before the heading of its end. A busy machine may show the page
 * only when the booking is over: then one is tried that lasts longer. `begin` makes one that lasts so long.
 */
export async function shownInTime(
  page: Page,
  server: Server,
  what: Locator,
  end: string,
  begin: (ms: number) => Promise<string>,
): Promise<boolean> {
  const over = page.getByRole("heading", { level: 1, name: end });
  for (const ms of SHORT_MS) {
    const booking = await begin(ms);
    await page.goto(`${server.url}/bookings/${booking}`);
    await what.or(over).first().waitFor({ timeout: 60_000 });
    if (await what.isVisible()) return true;
  }
  return false;
}

/** Fills in who buys. */
export async function fillIn(page: Page): Promise<void> {
  await page.getByLabel("Name").fill("Ann Lee");
  await page.getByLabel("E-mail address").fill("ann@example.org");
}

/** Types a card number into the sandbox's page and pays. */
export async function useCard(page: Page, card: string): Promise<void> {
  await page.getByLabel("Card number").fill(card);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.locator(".note").waitFor();
}

/** Waits until the booking has a status on the server. */
export async function untilStatus(
  server: Server,
  who: { token: string; booking: string },
  status: string,
): Promise<void> {
  const now = async () =>
    (await server.ask("GET", `/bookings/${who.booking}`, { token: who.token })).body.status;
  await expect.poll(now, { timeout: 20_000, interval: 25 }).toBe(status);
}

/** The booking whose page is shown, as the visitor whose page it is sees it. */
export async function bookingOf(server: Server, page: Page): Promise<Booking> {
  await page.waitForURL(/\/bookings\/[^/]+$/);
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  const booking = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1)!);
  return (await server.ask("GET", `/bookings/${booking}`, { token })).body;
}
