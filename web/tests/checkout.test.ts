import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Booking } from "../src/api/schema";
import { launch, PHONE, violations } from "./browser";
import { fillIn, heading, hold, holdAndVisit, shownInTime, untilStatus, useCard } from "./checkout";
import { enter } from "./scenes";
import { ADMIN_KEY, CARDS, openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "show", {
    settings: { title: "The show", room: null, fees: { fixed_minor: 150 }, payment_attempts: 2 },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
    plan: smallPlan(4, 10),
    prices: { Stalls: 4_500 },
  });
  await server.organise("PUT", "/events/show/texts/en", { title: "The great show", venue: "The Arena" });
  await openEvent(server, "quick", {
    settings: { title: "Quick", room: null, hold_ttl_ms: 6_000, hold_max_ms: 60_000 },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
  await openEvent(server, "room", {
    settings: { title: "With a room", room: { capacity: 10 } },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
  await openEvent(server, "refundable", {
    settings: {
      title: "Refundable",
      room: null,
      starts_at: Date.now() + 30 * 24 * 3_600_000,
      refunds: [{ days_before: 7, percent: 50 }],
    },
    pools: [{ pool: "standing", capacity: 10, price_minor: 3_000 }],
  });
  await openEvent(server, "gift", {
    settings: { title: "A gift", room: null },
    pools: [{ pool: "standing", capacity: 100, price_minor: 0 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** A page that waited for what does not come would take minutes. */
const SOON_MS = 15_000;

/** What the sandbox took for a booking, by the organiser's list of payments. */
async function payments(booking: string): Promise<{ stage: string; captured_minor: number }[]> {
  return (await server.ask("GET", `/admin/payments?booking=${booking}`, { token: ADMIN_KEY })).body.payments;
}

test("good card leads from hold to tickets", async () => {
  const lines = { seats: ["A-1", "A-2"], pools: { standing: 2 } };
  const { page, booking, complaints, close } = await holdAndVisit(browser, server, "show", lines, PHONE);
  await heading(page, "Complete your booking");
  await page.getByText("The great show").waitFor();
  const order = page.getByRole("region", { name: "Your order" });
  await order.getByRole("row", { name: /^Stalls, row A, seat 2 €45\.00$/ }).waitFor();
  expect(await order.getByRole("row").allInnerTexts()).toEqual([
    expect.stringMatching(/^Item/),
    expect.stringMatching(/^2 × Standing\s+€30\.00 each\s+€60\.00$/),
    expect.stringMatching(/^Stalls, row A, seat 1\s+€45\.00$/),
    expect.stringMatching(/^Stalls, row A, seat 2\s+€45\.00$/),
    expect.stringMatching(/^Fees\s+€1\.50$/),
    expect.stringMatching(/^Total\s+€151\.50$/),
  ]);
  expect(await violations(page)).toEqual([]);
  await fillIn(page);
  await page.getByRole("button", { name: "Pay €151.50" }).click();
  await useCard(page, CARDS.good);
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await heading(page, "Your booking is confirmed");
  await page.getByText("ann@example.org").waitFor();
  await page.getByRole("row", { name: "Total paid €151.50" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: "QR code of ticket 4: Stalls, row A, seat 2" }).waitFor();
  expect(await payments(booking)).toMatchObject([{ captured_minor: 15_150 }]);
  const known = await server.ask("GET", `/admin/bookings?text=${booking}`, { token: ADMIN_KEY });
  expect(known.body.bookings[0].buyer).toEqual({ name: "Ann Lee", email: "ann@example.org", language: "en" });
  expect(complaints).toEqual([]);
  await close();
});

test("booking is shown and paid for while what its seats are called does not come", async () => {
  const token = await server.visitor();
  const { page, complaints, close } = await enter(browser, server, { token });
  // Loaded before, so that the seconds are for what is tested.
  await page.goto(`${server.url}/bookings`);
  await heading(page, "My bookings");
  const booking = await hold(server, token, "show", { seats: ["D-5"] });
  // Nobody answers.
  await page.route(/\/events\/show\/seats/, () => {});
  await page.goto(`${server.url}/bookings/${booking}`);
  const title = page.getByRole("heading", { level: 1, name: "Complete your booking" });
  await title.waitFor({ timeout: SOON_MS });
  await page.getByRole("row", { name: /^Seat D-5/ }).waitFor();
  await fillIn(page);
  await page.getByRole("button", { name: "Pay €46.50" }).click();
  await page.getByLabel("Card number").waitFor({ timeout: SOON_MS });
  await useCard(page, CARDS.good);
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await heading(page, "Your booking is confirmed");
  await page.getByRole("link", { name: "Show the tickets" }).click();
  const ticket = page.getByRole("img", { name: "QR code of ticket 1: Seat D-5" });
  await ticket.waitFor({ timeout: SOON_MS });
  expect(complaints).toEqual([]);
  await close();
});

test("names that come late take the place of ids", async () => {
  const token = await server.visitor();
  const booking = await hold(server, token, "show", { seats: ["D-6"] });
  const { page, complaints, close } = await enter(browser, server, { token });
  let come = () => {};
  const late = new Promise<void>((resolve) => (come = resolve));
  await page.route(/\/events\/show\/seats/, async (route) => {
    await late;
    await route.continue();
  });
  await page.goto(`${server.url}/bookings/${booking}`);
  await page.getByRole("row", { name: /^Seat D-6/ }).waitFor();
  const said = page.getByRole("status").filter({ hasText: "Complete your booking" });
  expect(await said.innerText(), "ids are not read out").toBe("Complete your booking");
  come();
  await page.getByRole("row", { name: /^Stalls, row D, seat 6 €45\.00$/ }).waitFor();
  await expect.poll(() => said.innerText()).toContain("Stalls, row D, seat 6");
  expect(complaints).toEqual([]);
  await close();
});

test("seats are read out once while what they are called cannot be had", async () => {
  const token = await server.visitor();
  const booking = await hold(server, token, "show", { seats: ["D-7"] });
  const { page, complaints, close } = await enter(browser, server, { token });
  let tries = 0;
  await page.route(/\/events\/show\/seats/, (route) => {
    tries += 1;
    return route.fulfill(BROKEN);
  });
  await page.goto(`${server.url}/bookings/${booking}`);
  const said = page.getByRole("status").filter({ hasText: "Held for you: Seat D-7." });
  await said.waitFor();
  const changes = await said.evaluateHandle((region) => {
    const texts: (string | null)[] = [];
    const note = () => texts.push(region.textContent);
    new MutationObserver(note).observe(region, { characterData: true, childList: true, subtree: true });
    return texts;
  });
  const before = tries;
  // By the third try whatever the first two change has been said.
  const triesAgain = async () => {
    await page.evaluate(() => dispatchEvent(new Event("online")));
    return tries - before;
  };
  await expect.poll(triesAgain).toBeGreaterThan(2);
  expect(await changes.jsonValue()).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("form that is not filled in says what is missing and goes there", async () => {
  const { page, booking, close, token } = await holdAndVisit(browser, server, "show", { seats: ["A-3"] });
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByText("Please enter your name.").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("buyer-name");
  await page.keyboard.type("Ann Lee");
  await page.getByLabel("E-mail address").fill("ann at example");
  await page.keyboard.press("Enter");
  await page.getByText("Please enter an e-mail address such as").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("buyer-email");
  expect(await page.getByLabel("E-mail address").getAttribute("aria-invalid")).toBe("true");
  expect((await server.ask("GET", `/bookings/${booking}`, { token })).body.status).toBe("held");
  await page.reload();
  await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Ann Lee");
  await close();
});

test("declined card says why, and another card pays", async () => {
  const { page, booking, complaints, close } = await holdAndVisit(browser, server, "show", {
    seats: ["B-1"],
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.declined);
  await page.goto(`${server.url}/bookings/${booking}`);
  await page.getByText("The card has too little money. Nothing was taken.").waitFor();
  await page.getByText("You can try once more").waitFor();
  await heading(page, "Complete your booking");
  await page.getByRole("button", { name: "Try again and pay €46.50" }).click();
  await useCard(page, CARDS.good);
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your booking is confirmed");
  expect((await payments(booking)).map((payment) => payment.captured_minor).sort()).toEqual([0, 4_650]);
  expect(complaints).toEqual([]);
  await close();
});

test("after the last declined payment the page explains that there are no more", async () => {
  const { page, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["B-2"] });
  for (const name of [/^Pay €/, /^Try again and pay/]) {
    await fillIn(page);
    await page.getByRole("button", { name }).click();
    await useCard(page, CARDS.declined);
    await page.goto(`${server.url}/bookings/${booking}`);
    await page.getByText("Your payment was declined").waitFor();
  }
  await page.getByText("No more payments can be tried").waitFor();
  expect(await page.getByRole("button", { name: /pay/i }).count()).toBe(0);
  await page.getByRole("button", { name: "Give back" }).click();
  await page.getByRole("button", { name: "Yes, give back" }).click();
  await heading(page, "You gave these back");
  await close();
});

test("hold that runs out on the page is warned of, ends, and leads back", { timeout: 180_000 }, async () => {
  const token = await server.visitor();
  const { page, complaints, close } = await enter(browser, server, { token });
  // Loaded before, so that the hold's few seconds are for what is tested.
  await page.goto(`${server.url}/bookings`);
  await heading(page, "My bookings");
  const warning = page.getByRole("alert").filter({ hasText: "Less than a minute is left" });
  const isWarned = await shownInTime(page, server, warning, "Your time ran out", async (ms) => {
    await server.organise("PATCH", "/events/quick", { hold_ttl_ms: ms });
    return hold(server, token, "quick", { pools: { standing: 1 } });
  });
  expect(isWarned).toBe(true);
  await page.getByRole("heading", { level: 1, name: "Your time ran out" }).waitFor({ timeout: 60_000 });
  await page.getByText("No money was taken.").waitFor();
  const again = page.getByRole("link", { name: "Choose again" });
  expect(await again.getAttribute("href")).toBe("/events/quick/choose");
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("hold is extended once, and the page says that it was", async () => {
  const { page, booking, token, close } = await holdAndVisit(browser, server, "show", { seats: ["B-3"] });
  const until = async () => (await server.ask("GET", `/bookings/${booking}`, { token })).body.until;
  const before = await until();
  await page.getByRole("button", { name: "Extend to 10 minutes" }).click();
  await page.getByText("You had more time once; it cannot be extended again.").waitFor();
  expect(await page.getByRole("button", { name: /Extend/ }).count()).toBe(0);
  expect(await until()).toBeGreaterThan(before);
  await close();
});

/** An answer after which nobody knows whether it was done, and what the page says then. */
const BROKEN = { status: 500, json: { status: 500, code: "INTERNAL", detail: "no", retryable: false } };
const OPEN = /it is not known whether this was done\. .* nothing is done twice\./;

test("extension that the server leaves open is asked for again under its key", async () => {
  const { page, close } = await holdAndVisit(browser, server, "show", { seats: ["D-2"] });
  const keys: string[] = [];
  await page.route("**/api/v1/bookings/*/extend", (route) => {
    keys.push(route.request().headers()["idempotency-key"]!);
    return keys.length > 1 ? route.continue() : route.fulfill(BROKEN);
  });
  const extend = page.getByRole("button", { name: "Extend to 10 minutes" });
  await extend.click();
  await page.getByRole("alert").filter({ hasText: OPEN }).waitFor();
  await extend.click();
  await page.getByText("You had more time once; it cannot be extended again.").waitFor();
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
  await close();
});

test("hold that was moved on by an outage is extended until the end that the server tells", async () => {
  const { page, booking, token, close } = await holdAndVisit(browser, server, "show", { seats: ["B-5"] });
  let isAtItsEnd = false;
  await page.route(`**/api/v1/bookings/${booking}`, async (route) => {
    const told: Booking = await (await route.fetch()).json();
    // Held 45 minutes earlier, for which the engine was away.
    const created_at = told.created_at - 45 * 60_000;
    const latest_until = isAtItsEnd ? told.until : told.latest_until;
    await route.fulfill({ json: { ...told, created_at, latest_until } });
  });
  await page.reload();
  await page.getByRole("button", { name: "Extend to 10 minutes" }).waitFor();
  isAtItsEnd = true;
  await page.reload();
  const { until } = (await server.ask("GET", `/bookings/${booking}`, { token })).body;
  const inEnglish = (at: number) => new Intl.DateTimeFormat("en", { timeStyle: "medium" }).format(at);
  const end = await page.evaluate(inEnglish, until);
  await page.getByText(`This booking can be held until ${end} and no longer.`).waitFor();
  expect(await page.getByRole("button", { name: /Extend/ }).count()).toBe(0);
  await close();
});

test("hold is given back after a question", async () => {
  const { page, booking, token, close } = await holdAndVisit(browser, server, "show", { seats: ["B-4"] });
  const give = page.getByRole("button", { name: "Give back", exact: true });
  await give.click();
  const dialog = page.getByRole("dialog", { name: "Give these back?" });
  await dialog.waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await give.evaluate((button) => button === document.activeElement)).toBe(true);
  await give.click();
  await page.getByRole("button", { name: "Yes, give back" }).click();
  await heading(page, "You gave these back");
  // The button is gone that had the focus.
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
  await untilStatus(server, { token, booking }, "released");
  await close();
});

test("booking that is confirmed while it is given back stays, and the page says so", async () => {
  const wish = { pools: { standing: 1 } };
  const { page, booking, token, close } = await holdAndVisit(browser, server, "refundable", wish);
  await page.getByRole("button", { name: "Give back", exact: true }).click();
  await page.route(/\/cancel$/, async (route) => {
    const at = `/events/refundable/bookings/${booking}/confirm`;
    await server.organise("POST", at, { payment: "till-1" });
    await route.continue();
  });
  await page.getByRole("button", { name: "Yes, give back" }).click();
  await heading(page, "Your booking is confirmed");
  await page.getByText("Nothing was given back").waitFor();
  await untilStatus(server, { token, booking }, "confirmed");
  expect(await violations(page)).toEqual([]);
  await close();
});

test("reload while paying shows the payment under way, and it goes on by itself", async () => {
  const { page, booking, complaints, close } = await holdAndVisit(browser, server, "show", {
    seats: ["C-1"],
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByLabel("Card number").waitFor();
  const gateway = page.url();
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your payment is under way");
  await page.reload();
  await heading(page, "Your payment is under way");
  expect(await violations(page)).toEqual([]);
  const link = page.getByRole("link", { name: "Go to the payment page" });
  expect(await link.getAttribute("href")).toBe(gateway);
  // Paid in a second tab, as it were.
  const form = new URLSearchParams({ action: "pay", card: CARDS.good });
  await fetch(gateway, { method: "POST", body: form, redirect: "manual" });
  await heading(page, "Your booking is confirmed");
  expect(await payments(booking)).toHaveLength(1);
  expect(complaints).toEqual([]);
  await close();
});

test("payment whose answer is lost is found under its key and is begun once", async () => {
  const { page, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["C-2"] });
  const keys: string[] = [];
  let isLost = true;
  await page.route("**/api/v1/bookings/*/payment", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(route.request().headers()["idempotency-key"]!);
    if (!isLost) return route.continue();
    isLost = false;
    // The server does it, and the answer never arrives.
    await route.fetch();
    await route.abort();
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  expect(keys).toHaveLength(2);
  expect(keys[0]).toBe(keys[1]);
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your booking is confirmed");
  expect(await payments(booking)).toMatchObject([{ captured_minor: 4_650 }]);
  await close();
});

test("wish to pay that never arrived keeps its key over a reload", async () => {
  const { page, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["C-3"] });
  const keys: string[] = [];
  await page.route("**/api/v1/bookings/*/payment", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(route.request().headers()["idempotency-key"]!);
    await (keys.length === 1 ? route.abort() : route.continue());
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await expect.poll(() => keys.length).toBe(1);
  await page.reload();
  await page.getByText("We do not know yet whether your payment has begun").waitFor();
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  expect(new Set(keys).size).toBe(1);
  expect(await payments(booking)).toHaveLength(1);
  await close();
});

test("payment that the server leaves open is asked for again under its key, and begun once", async () => {
  const { page, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["D-3"] });
  const keys: string[] = [];
  await page.route("**/api/v1/bookings/*/payment", (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(route.request().headers()["idempotency-key"]!);
    return keys.length > 1 ? route.continue() : route.fulfill(BROKEN);
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("alert").filter({ hasText: OPEN }).waitFor();
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
  expect(await payments(booking)).toHaveLength(1);
  await close();
});

test("payment that the server leaves open is not put down to the connection after a reload", async () => {
  const { page, close } = await holdAndVisit(browser, server, "show", { seats: ["D-9"] });
  await page.route("**/api/v1/bookings/*/payment", (route) =>
    route.request().method() === "POST" ? route.fulfill(BROKEN) : route.continue(),
  );
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByRole("alert").filter({ hasText: OPEN }).waitFor();
  await page.reload();
  const doubt = page.getByRole("alert").filter({ hasText: "whether your payment has begun" });
  await doubt.filter({ hasText: "No clear answer came. Press the button again" }).waitFor();
  await close();
});

test("confirmation names the address of its own booking", async () => {
  const { page, token, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["C-9"] });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  await page.goto(`${server.url}/bookings/${booking}`);
  await page.getByText("You booked with the address ann@example.org.").waitFor();
  const other = await hold(server, token, "show", { seats: ["C-7"] });
  await page.goto(`${server.url}/bookings/${other}`);
  await page.getByLabel("Name").fill("Bo Kim");
  await page.getByLabel("E-mail address").fill("bo@example.org");
  await page.goto(`${server.url}/bookings/${booking}`);
  await page.getByText("You booked with the address ann@example.org.").waitFor();
  await close();
});

test("buyer changed after a lost answer is not on the tickets", async () => {
  const { page, token, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["C-8"] });
  const wishes: { key: string; body: unknown }[] = [];
  await page.route("**/api/v1/bookings/*/payment", async (route) => {
    const request = route.request();
    if (request.method() !== "POST") return route.continue();
    wishes.push({ key: request.headers()["idempotency-key"]!, body: request.postDataJSON() });
    // The first one is on its way still when the page is loaded again, and arrives before the second.
    if (wishes.length === 1) return;
    const first = { token, ...wishes[0]! };
    expect((await server.ask("POST", `/bookings/${booking}/payment`, first)).status).toBe(201);
    await route.continue();
  });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await expect.poll(() => wishes.length).toBe(1);
  await page.reload();
  await page.getByText("We do not know yet whether your payment has begun").waitFor();
  await page.getByLabel("Name").fill("Bo Kim");
  await page.getByLabel("E-mail address").fill("bo@example.org");
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  await page.goto(`${server.url}/bookings/${booking}`);
  await page.getByText("You booked with the address ann@example.org.").waitFor();
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByText("Ann Lee").waitFor();
  await close();
});

test("network that goes away is told of, and what was shown stays", async () => {
  const { page, close } = await holdAndVisit(browser, server, "show", { seats: ["C-4"] });
  await heading(page, "Complete your booking");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: /^Extend/ }).click();
  await page.getByText("What you see may be out of date").waitFor({ timeout: 30_000 });
  await page.getByRole("row", { name: /seat 4/ }).waitFor();
  await page.context().setOffline(false);
  await page.getByText("What you see may be out of date").waitFor({ state: "detached" });
  await close();
});

test("what is free of charge is confirmed without a payment", async () => {
  const { page, complaints, close } = await holdAndVisit(browser, server, "gift", { pools: { standing: 1 } });
  await page.getByRole("row", { name: "Total Free of charge" }).waitFor();
  // Who it is for may be left out.
  await page.getByRole("button", { name: "Confirm the booking" }).click();
  await heading(page, "Your booking is confirmed");
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("what is free of charge is confirmed for whoever names themselves, wholly or not at all", async () => {
  const { page, close } = await holdAndVisit(browser, server, "gift", { pools: { standing: 1 } });
  const confirm = page.getByRole("button", { name: "Confirm the booking" });
  await page.getByLabel("Name").fill("Ann");
  await confirm.click();
  await page.getByText("Enter both a name and a mail address, or neither.").first().waitFor();
  await page.getByLabel("E-mail address").fill("ann@post.example");
  const [request] = await Promise.all([
    page.waitForRequest((asked) => asked.url().endsWith("/confirm")),
    confirm.click(),
  ]);
  const buyer = { name: "Ann", email: "ann@post.example", language: "en" };
  expect(request.postDataJSON()).toEqual({ buyer });
  await heading(page, "Your booking is confirmed");
  await close();
});

test("booking of somebody else is not shown", async () => {
  const { booking, close } = await holdAndVisit(browser, server, "show", { seats: ["C-5"] });
  const other = await holdAndVisit(browser, server, "show", { seats: ["C-6"] });
  await other.page.goto(`${server.url}/bookings/${booking}`);
  await heading(other.page, "There is no such booking here");
  await Promise.all([close(), other.close()]);
});

test("what happens in one tab shows in the other", async () => {
  const { page, booking, close } = await holdAndVisit(browser, server, "show", { seats: ["D-1"] });
  await heading(page, "Complete your booking");
  const second = await page.context().newPage();
  await second.goto(`${server.url}/bookings/${booking}`);
  await second.getByRole("button", { name: "Give back" }).click();
  await second.getByRole("button", { name: "Yes, give back" }).click();
  await heading(second, "You gave these back");
  // Long before it would look by itself.
  await page.getByRole("heading", { level: 1, name: "You gave these back" }).waitFor({ timeout: 20_000 });
  await close();
});

test("who left the room is led back to the queue", async () => {
  const token = await server.visitor();
  await server.ask("POST", "/events/room/queue", { token });
  const status = async () => (await server.ask("GET", "/events/room/queue", { token })).body.status;
  await expect.poll(status).toBe("active");
  const booking = await hold(server, token, "room", { pools: { standing: 1 } });
  const { page, close } = await enter(browser, server, { token });
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Complete your booking");
  await server.ask("DELETE", "/events/room/queue", { token });
  await heading(page, "You gave these back");
  const again = page.getByRole("link", { name: "Join the queue again" });
  expect(await again.getAttribute("href")).toBe("/events/room/queue");
  await close();
});
