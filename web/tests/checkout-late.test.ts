import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, violations, type Visit } from "./browser";
import { fillIn, heading, hold, holdAndVisit, shownInTime, untilStatus, useCard } from "./checkout";
import { enter } from "./scenes";
import { ADMIN_KEY, CARDS, openEvent, Server, smallPlan } from "./server";

const SECRET = "a-sandbox-secret-for-tests";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start({ ONRUSH_SANDBOX_SECRET: SECRET }), launch()]);
  await openEvent(server, "short", {
    settings: { title: "Short", room: null, hold_ttl_ms: 5_000, payment_window_ms: 5_000 },
    plan: smallPlan(1, 10),
    prices: { Stalls: 4_500 },
  });
  await openEvent(server, "calm", {
    settings: { title: "Calm", room: null },
    pools: [{ pool: "standing", capacity: 10, price_minor: 3_000 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** A browser that has loaded our pages before: the seconds of these holds are for what is tested. */
async function warm(token: string): Promise<Visit> {
  const visit = await enter(browser, server, { token });
  await visit.page.goto(`${server.url}/bookings`);
  await heading(visit.page, "My bookings");
  return visit;
}

/** The sandbox does what it is asked next, and its answers get lost. */
async function losesAnswers(anyPage: string, which: Record<string, unknown>): Promise<void> {
  const scripted = await fetch(new URL("/v1/faults", anyPage), {
    method: "POST",
    headers: { authorization: `Bearer ${SECRET}`, "content-type": "application/json" },
    body: JSON.stringify({ fault: "lost_answer", ...which }),
  });
  expect(scripted.ok, await scripted.text()).toBe(true);
}

interface Late extends Visit {
  token: string;
  booking: string;
}

/**
 * A visitor whose hold runs out while the money is taken: no message tells of it, and the sandbox's
 * next answers get lost, so that the outcome stays open for some seconds.
 */
async function paidTooLate(seat: string): Promise<Late> {
  const token = await server.visitor();
  const visit = await warm(token);
  const booking = await hold(server, token, "short", { seats: [seat] });
  const wish = { token, key: "pay", body: {} };
  const { body: payment } = await server.ask("POST", `/bookings/${booking}/payment`, wish);
  const form = new URLSearchParams({ action: "pay", card: CARDS.late });
  await fetch(payment.url, { method: "POST", body: form, redirect: "manual" });
  await losesAnswers(payment.url, { payment_prefix: payment.payment, next_n: 4 });
  await visit.page.goto(`${server.url}/bookings/${booking}`);
  return { ...visit, token, booking };
}

test("late payment for a seat that is still free ends as confirmed", async () => {
  const late = await paidTooLate("A-1");
  await heading(late.page, "Your time ran out while you were paying");
  await late.page.getByText("all of the money goes back to you").waitFor();
  expect(await violations(late.page)).toEqual([]);
  await heading(late.page, "Your booking is confirmed");
  await late.page.getByText("Just in time after all").waitFor();
  await late.page.getByRole("link", { name: "Show the tickets" }).waitFor();
  expect(late.complaints).toEqual([]);
  await late.close();
});

test("late payment for a seat that somebody else took goes back", async () => {
  const late = await paidTooLate("A-2");
  await untilStatus(server, late, "expired");
  const taken = await hold(server, await server.visitor(), "short", { seats: ["A-2"] });
  await server.organise("POST", `/events/short/bookings/${taken}/confirm`, { payment: "box-office-1" });
  await heading(late.page, "Your time ran out while you were paying");
  await heading(late.page, "Your money goes back to you");
  await late.page.getByText("€45.00 goes back the way you paid.").waitFor();
  await late.page.getByRole("link", { name: "Choose again" }).waitFor();
  expect(await violations(late.page)).toEqual([]);
  const payment = await server.ask("GET", `/bookings/${late.booking}/payment`, { token: late.token });
  expect(payment.body.status).toBe("refunded");
  // What a reload shows is the same.
  await late.page.reload();
  await heading(late.page, "Your money goes back to you");
  expect(late.complaints).toEqual([]);
  await late.close();
});

test("payment that nobody finished costs nothing when the time is over", { timeout: 180_000 }, async () => {
  const token = await server.visitor();
  const { page, complaints, close } = await warm(token);
  const underWay = page.getByRole("heading", { level: 1, name: "Your payment is under way" });
  const isShown = await shownInTime(page, server, underWay, "Your time ran out", async (ms) => {
    await server.organise("PATCH", "/events/short", { hold_ttl_ms: ms, payment_window_ms: ms });
    const booking = await hold(server, token, "short", { seats: ["A-3"] });
    await server.ask("POST", `/bookings/${booking}/payment`, { token, key: `pay-${booking}`, body: {} });
    return booking;
  });
  expect(isShown).toBe(true);
  await page.getByRole("heading", { level: 1, name: "Your time ran out" }).waitFor({ timeout: 60_000 });
  await page.getByText("No money was taken.").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("gateway that does not answer at first is asked again, and begins one payment", async () => {
  const other = await server.visitor();
  const sample = await hold(server, other, "calm", { pools: { standing: 1 } });
  const wish = { token: other, key: "pay", body: {} };
  const { body: payment } = await server.ask("POST", `/bookings/${sample}/payment`, wish);
  const { page, token, booking, complaints, close } = await holdAndVisit(browser, server, "calm", {
    pools: { standing: 1 },
  });
  await fillIn(page);
  // The fourth repetition comes seven seconds after the first try: a slow browser shows the sentence before.
  await losesAnswers(payment.url, { on: "create", next_n: 4 });
  const said = page.getByText("The payment service does not answer yet.").waitFor();
  await page.getByRole("button", { name: /^Pay/ }).click();
  await said;
  await useCard(page, CARDS.good);
  await untilStatus(server, { token, booking }, "confirmed");
  const known = await server.ask("GET", `/admin/payments?booking=${booking}`, { token: ADMIN_KEY });
  expect(known.body.payments).toMatchObject([{ captured_minor: 3_000 }]);
  expect(complaints).toEqual([]);
  await close();
});
