import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, tabTo, violations, visit, type Visit } from "./browser";
import { bookingOf, fillIn, heading, useCard } from "./checkout";
import { BALCONY, hall, row } from "./hall";
import { CARDS, openEvent, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** An event in the hall, and somebody who is let in; `blocked` seats are not on sale. */
async function enter(
  event: string,
  wish: { settings?: Record<string, unknown>; blocked?: string[]; standing?: number } = {},
  options: Parameters<typeof visit>[1] = {},
): Promise<Visit> {
  await openEvent(server, event, {
    settings: { room: null, ...wish.settings },
    pools: wish.standing ? [{ pool: "standing", capacity: wish.standing, price_minor: 3_000 }] : [],
    plan: hall(),
    prices: { Floor: 9_000, Balcony: 4_500 },
  });
  if (wish.blocked) await block(event, wish.blocked);
  const buyer = await visit(browser, options);
  await buyer.page.goto(`${server.url}/events/${event}/choose`);
  await buyer.page.getByRole("heading", { name: "Let us choose for you" }).waitFor();
  return buyer;
}

async function block(event: string, seats: string[]): Promise<void> {
  await server.organise("POST", `/events/${event}/block`, { seats, by: "test", why: "camera" });
}

const more = (page: Page) => page.getByRole("button", { name: "More: Seats" });
const submit = (page: Page) => page.getByRole("button", { name: "Best seats" });
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim());

async function wantSeats(page: Page, quantity: number): Promise<void> {
  for (let seats = 2; seats < quantity; seats += 1) await more(page).click();
}

/** The places of seats in their row, if it is one row. */
function placesIn(rowName: string, seats: readonly string[]): number[] {
  for (const seat of seats) expect(seat).toMatch(new RegExp(`^${rowName}-`));
  return seats.map((seat) => Number(seat.split("-").at(-1))).sort((a, b) => a - b);
}

/** The keys and lines of all holds that the page asks for. */
function watchHolds(page: Page): { key: string; best: unknown }[] {
  const asked: { key: string; best: unknown }[] = [];
  page.on("request", (request) => {
    if (request.method() !== "POST" || !/\/events\/[^/]+\/bookings$/.test(request.url())) return;
    asked.push({ key: request.headers()["idempotency-key"]!, best: request.postDataJSON().best });
  });
  return asked;
}

test("buyer on a phone gets the best three together, pays, and has tickets", async () => {
  const { page, complaints, close } = await enter("three", {}, PHONE);
  const asked = watchHolds(page);
  await more(page).tap();
  await page.getByRole("radio", { name: /^Balcony €45\.00 12 free$/ }).check();
  expect(await violations(page)).toEqual([]);
  await submit(page).tap();
  await heading(page, "Complete your booking");
  const { lines } = await bookingOf(server, page);
  expect(lines.seats).toHaveLength(3);
  const places = placesIn("B-A", lines.seats!);
  expect(places).toEqual([0, 1, 2].map((step) => places[0]! + step));
  const [first, second, third] = places;
  const said = `Balcony, row A, seats ${first}, ${second}, and ${third}`;
  await page.getByRole("listitem").filter({ hasText: said }).waitFor();
  await page
    .getByRole("status")
    .filter({ hasText: `Complete your booking. Held for you: ${said}.` })
    .waitFor();
  expect(asked.map(({ best }) => best)).toEqual([
    { quantity: 3, categories: ["Balcony"], together: "prefer" },
  ]);
  expect(await violations(page)).toEqual([]);
  await fillIn(page);
  await page.getByRole("button", { name: "Pay €135.00" }).tap();
  await useCard(page, CARDS.good);
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await heading(page, "Your booking is confirmed");
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: `QR code of ticket 3: Balcony, row A, seat ${third}` }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("keyboard alone gets four seats that must be together, and pays", async () => {
  const { page, complaints, close } = await enter("keyboard");
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await tabTo(page, more(page));
  await press("Enter", "Space");
  // One stop for all categories; the arrows choose.
  await tabTo(page, page.getByRole("radio", { name: /^Any category/ }));
  await press("ArrowDown");
  await tabTo(page, page.getByLabel("Section"));
  await page.keyboard.type("Floor");
  await tabTo(page, page.getByRole("checkbox", { name: "Only if all are side by side" }));
  await press("Space");
  await tabTo(page, submit(page));
  await press("Enter");
  await heading(page, "Complete your booking");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  const { lines, amount_minor } = await bookingOf(server, page);
  expect(placesIn("F-A", lines.seats!)).toHaveLength(4);
  expect(amount_minor).toBe(36_000);
  await tabTo(page, page.getByLabel("Name"));
  await page.keyboard.type("Ann Lee");
  await press("Tab");
  await page.keyboard.type("ann@example.org");
  await press("Enter");
  await tabTo(page, page.getByLabel("Card number"));
  await press("ControlOrMeta+A");
  await page.keyboard.type(CARDS.good);
  await press("Enter");
  await tabTo(page, page.getByRole("link", { name: "Back to the shop" }));
  await press("Enter");
  await heading(page, "Your booking is confirmed");
  expect(complaints).toEqual([]);
  await close();
});

test("answer that gets lost on its way is asked for again by its key, and held once", async () => {
  const { page, complaints, close } = await enter("lost");
  const asked = watchHolds(page);
  let isLost = true;
  await page.route("**/api/v1/events/lost/bookings", async (route) => {
    if (!isLost) return route.continue();
    isLost = false;
    // The server does it, and nobody hears of it.
    await route.fetch();
    await route.abort("connectionreset");
  });
  await submit(page).click();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(2);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
  expect((await server.ask("GET", "/events/lost")).body.units).toMatchObject({ held: 2, free: 22 });
  expect(complaints).toEqual([]);
  await close();
});

test("answer that was lost before a reload is asked for again, and nothing more is held", async () => {
  const { page, complaints, close } = await enter("reload");
  const asked = watchHolds(page);
  let isHeld = false;
  await page.route("**/api/v1/events/reload/bookings", async (route) => {
    if (isHeld) return route.continue();
    await route.fetch();
    isHeld = true;
    // No answer at all: the buyer loses patience.
  });
  await wantSeats(page, 3);
  await submit(page).click();
  await page.getByRole("button", { name: "Looking for your seats…" }).waitFor();
  await expect.poll(() => isHeld).toBe(true);
  await page.reload();
  await page.getByText("We do not know yet whether your choice is held").waitFor();
  expect(await page.getByRole("group", { name: "Seats" }).locator("output").innerText()).toBe("3");
  await page.getByRole("button", { name: "Ask again" }).click();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(3);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
  expect((await server.ask("GET", "/events/reload")).body.units.held).toBe(3);
  expect(complaints).toEqual([]);
  await close();
});

test("four who cannot sit together are told what there is, and split by one tap", async () => {
  const blocked = [...BALCONY, "F-A-3", "F-A-6", "F-B-3", "F-B-6"];
  const { page, complaints, close } = await enter("split", { blocked }, PHONE);
  const asked = watchHolds(page);
  await wantSeats(page, 4);
  await page.getByRole("checkbox", { name: "Only if all are side by side" }).check();
  await submit(page).tap();
  const alert = page.getByRole("alert").filter({ hasText: "There are no 4 such seats side by side" });
  await alert.getByText("8 are free, at most 2 of them side by side.").waitFor();
  await alert.getByText("Nothing was held.").waitFor();
  expect(await focused(page)).toBe("Best seats");
  expect(await violations(page)).toEqual([]);
  await alert.getByRole("button", { name: "Take 4 in separate groups" }).tap();
  const { lines } = await bookingOf(server, page);
  expect(lines.seats).toHaveLength(4);
  // Two by two, in rows one behind the other or in one.
  const items = page.getByRole("listitem").filter({ hasText: /^Floor, row [AB], seats/ });
  await items.first().waitFor();
  expect(asked.map(({ best }) => best)).toEqual([
    { quantity: 4, together: "must" },
    { quantity: 4, together: "prefer" },
  ]);
  expect(asked[1]!.key).not.toBe(asked[0]!.key);
  expect(complaints).toEqual([]);
  await close();
});

test("groups that are not to be had either are told of, and the focus is not lost", async () => {
  // A pair in each section: groups are of one section only.
  const blocked = [...row("F-A", 3, 4, 5, 6), ...row("F-B", 1, 2, 3, 4, 5, 6)];
  blocked.push(...BALCONY.filter((seat) => !["B-A-5", "B-A-6"].includes(seat)));
  const { page, complaints, close } = await enter("neither", { blocked });
  await wantSeats(page, 4);
  const together = page.getByRole("checkbox", { name: "Only if all are side by side" });
  await together.check();
  await submit(page).click();
  const alert = page.getByRole("alert");
  const split = alert.getByRole("button", { name: "Take 4 in separate groups" });
  await split.focus();
  await page.keyboard.press("Enter");
  await alert.getByText("Nor can they sit in groups of two or more").waitFor();
  expect(await focused(page)).toBe("Best seats");
  // The form says what was asked for.
  expect(await together.isChecked()).toBe(false);
  expect(await alert.getByRole("button").allInnerTexts()).toEqual(["Take 2 side by side"]);
  expect((await server.ask("GET", "/events/neither")).body.units.held).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("three who cannot sit together are not seated alone, and may be two by one tap", async () => {
  const blocked = [...BALCONY, "F-A-3", "F-A-6", "F-B-3", "F-B-6"];
  const { page, complaints, close } = await enter("fewer", { blocked });
  const asked = watchHolds(page);
  await wantSeats(page, 3);
  await page.getByText("These seats are always side by side.").waitFor();
  await submit(page).click();
  const alert = page.getByRole("alert");
  await alert.getByText("We seat nobody alone, so this group cannot be split.").waitFor();
  // Whoever wishes for something else is no longer told of this.
  await page.getByLabel("Section").selectOption("Floor");
  await alert.waitFor({ state: "detached" });
  await submit(page).click();
  await alert.getByRole("button", { name: "Look in all categories and sections" }).waitFor();
  const offers = await alert.getByRole("button").allInnerTexts();
  expect(offers).toEqual(["Take 2 side by side", "Look in all categories and sections"]);
  await alert.getByRole("button", { name: "Take 2 side by side" }).click();
  const { lines } = await bookingOf(server, page);
  const places = placesIn("F-[AB]", lines.seats!);
  expect(places[1]! - places[0]!).toBe(1);
  expect(new Set(asked.map(({ key }) => key)).size).toBe(3);
  expect(complaints).toEqual([]);
  await close();
});

test("section with too few seats says how many there are, and leads to the others", async () => {
  const free = ["B-B-4", "B-B-5"];
  const blocked = BALCONY.filter((seat) => !free.includes(seat));
  const { page, complaints, close } = await enter("few", { blocked });
  await wantSeats(page, 3);
  await page.getByLabel("Section").selectOption({ label: "Balcony: 2 free" });
  await submit(page).click();
  const alert = page.getByRole("alert").filter({ hasText: "There are no 3 such seats just now" });
  await alert.getByText("Only 2 are free.").waitFor();
  expect(await alert.getByRole("button").allInnerTexts()).toEqual([
    "Take 2",
    "Look in all categories and sections",
  ]);
  await alert.getByRole("button", { name: "Look in all categories and sections" }).click();
  const { lines } = await bookingOf(server, page);
  expect(placesIn("F-A", lines.seats!)).toHaveLength(3);
  expect(complaints).toEqual([]);
  await close();
});

test("category that sells out is marked by itself, and cannot be asked for", async () => {
  const { page, complaints, close } = await enter("marked");
  await page.getByRole("radio", { name: "Balcony €45.00 12 free" }).waitFor();
  await page.getByRole("radio", { name: "Any category from €45.00 24 free", checked: true }).waitFor();
  await block("marked", BALCONY);
  const balcony = page.getByRole("radio", { name: "Balcony €45.00 Nothing free" });
  await balcony.waitFor();
  expect(await balcony.isDisabled()).toBe(true);
  await page.getByRole("radio", { name: "Any category from €90.00 12 free" }).waitFor();
  const option = page.getByLabel("Section").getByRole("option", { name: "Balcony: nothing free" });
  expect(await option.isDisabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("seats that do not please are given back for others", async () => {
  const { page, complaints, close } = await enter("others");
  await submit(page).click();
  const { booking } = await bookingOf(server, page);
  await page.getByRole("button", { name: "Choose other seats" }).click();
  await page
    .getByRole("dialog", { name: "Give these back?" })
    .getByRole("button", { name: "Yes, give back and choose others" })
    .click();
  await page.waitForURL("**/events/others/choose");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  expect((await server.ask("GET", "/events/others")).body.units).toMatchObject({ held: 0, free: 24 });
  // The same wish again is another hold.
  await submit(page).click();
  const again = await bookingOf(server, page);
  expect(again.booking).not.toBe(booking);
  expect(again.status).toBe("held");
  expect(complaints).toEqual([]);
  await close();
});

test("what is chosen already is held together with the best seats", async () => {
  const { page, complaints, close } = await enter("beside", { standing: 50 });
  await page.getByText("Nothing chosen yet.").waitFor();
  await page.getByRole("button", { name: "More: Standing" }).click();
  await page.getByText("What you have chosen already (1) is held together with these seats.").waitFor();
  await submit(page).click();
  const { lines } = await bookingOf(server, page);
  expect(lines.pools).toEqual({ standing: 1 });
  expect(lines.seats).toHaveLength(2);
  await page.goBack();
  await page.getByText("Nothing chosen yet.").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("nobody is offered more seats than one person may have", async () => {
  const { page, complaints, close } = await enter("limit", { settings: { max_per_user: 3 } });
  await page.getByText("One person may have 3.").waitFor();
  await more(page).click();
  expect(await more(page).getAttribute("aria-disabled")).toBe("true");
  await more(page).click({ force: true });
  const asked = watchHolds(page);
  await submit(page).click();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(3);
  await page.goBack();
  await page.getByText("One person may have 3; you have 3 already.").waitFor();
  expect(await submit(page).getAttribute("aria-disabled")).toBe("true");
  await submit(page).click({ force: true });
  expect(asked).toHaveLength(1);
  expect(complaints).toEqual([]);
  await close();
});

test("map and list are one tap away and back, and the focus goes along", async () => {
  const { page, complaints, close } = await enter("away");
  expect(await page.locator("canvas").count()).toBe(0);
  await page.getByRole("button", { name: "Choose on the map" }).click();
  await page.locator("canvas").waitFor();
  expect(await focused(page)).toBe("Seats");
  await page.getByRole("button", { name: "Let us choose" }).click();
  await submit(page).waitFor();
  expect(await focused(page)).toBe("Let us choose for you");
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await page.getByRole("group", { name: "Row A, 6 free" }).waitFor();
  expect(await focused(page)).toBe("Seats");
  expect(complaints).toEqual([]);
  await close();
});

test("who is not let in yet sees the map, and is asked what they want once they are", async () => {
  await openEvent(server, "room", {
    settings: { room: { capacity: 5 } },
    plan: hall(),
    prices: { Floor: 9_000, Balcony: 4_500 },
  });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/room/choose`);
  await page.getByRole("link", { name: "To the waiting room" }).waitFor();
  await page.locator("canvas").waitFor();
  expect(await submit(page).count()).toBe(0);
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  await server.ask("POST", "/events/room/queue", { token });
  await expect
    .poll(async () => (await server.ask("GET", "/events/room/queue", { token })).body.status)
    .toBe("active");
  await page.reload();
  await submit(page).click();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(2);
  expect(complaints).toEqual([]);
  await close();
});
