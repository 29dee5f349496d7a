import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Booking, SeatMap } from "../src/api/schema";
import { House } from "../src/lib/seatmap/house";
import { fit } from "../src/lib/seatmap/view";
import { launch, PHONE, visit, violations, type Visit } from "./browser";
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

const NO_ROOM = { room: null };

/** An event with 4 rows of 10 seats, and somebody who looks at them. */
async function seated(
  event: string,
  settings: Record<string, unknown> = {},
  options: Parameters<typeof visit>[1] = {},
  priceMinor = 4_500,
): Promise<Visit> {
  await openEvent(server, event, {
    settings: { ...NO_ROOM, ...settings },
    plan: smallPlan(4, 10),
    prices: { Stalls: priceMinor },
  });
  const buyer = await visit(browser, options);
  await buyer.page.goto(`${server.url}/events/${event}/choose`);
  return buyer;
}

/** Where a seat is on the map while the whole house is shown. */
async function onMap(page: Page, event: string, seat: string): Promise<{ x: number; y: number }> {
  const [plan, statuses] = await Promise.all(
    ["plan", "status"].map((what) => server.ask("GET", `/events/${event}/seats/${what}`)),
  );
  const house = House.ofPlan(plan!.body, statuses!.body.status);
  const box = (await page.locator("canvas").boundingBox())!;
  const view = fit(house, box.width, box.height);
  const index = house.indexOf(seat)!;
  return {
    x: box.x + (house.x[index]! - view.left) * view.scale,
    y: box.y + (house.y[index]! - view.top) * view.scale,
  };
}

async function hold(page: Page): Promise<Booking> {
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\/[^/]+$/);
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  const booking = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1)!);
  return (await server.ask("GET", `/bookings/${booking}`, { token })).body;
}

/** Chooses seats of row A in the list, wherever the page is now. */
async function pick(page: Page, ...numbers: number[]): Promise<void> {
  await page.getByRole("button", { name: "Choose from a list" }).click();
  const row = page.getByRole("group", { name: /^Row A,/ });
  for (const number of numbers) await row.getByRole("button", { name: `Seat ${number},` }).click();
}

const basket = (page: Page) => page.getByRole("complementary", { name: "Your choice" });

test("seat that is tapped on the map is held", async () => {
  const { page, complaints, close } = await seated("map");
  await page.getByRole("button", { name: "Choose on the map" }).click();
  await page.locator("canvas").waitFor();
  const at = await onMap(page, "map", "B-3");
  await page.mouse.move(at.x, at.y);
  await page.getByText("Stalls, row B, seat 3 · Stalls · €45.00 · free").waitFor();
  await page.mouse.click(at.x, at.y);
  await basket(page).getByText("Stalls, row B, seat 3").waitFor();
  const booking = await hold(page);
  expect(booking.lines.seats).toEqual(["B-3"]);
  expect(booking.status).toBe("held");
  expect(complaints).toEqual([]);
  await close();
});

test("page of what is held knows from the chooser what it is called, and reads no house for it", async () => {
  const { page, complaints, close } = await seated("known");
  await pick(page, 1, 2);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await hold(page);
  const order = page.getByRole("region", { name: "Your order" });
  await order.getByRole("row", { name: /^Stalls, row A, seat 2 €45\.00$/ }).waitFor();
  expect(asked.filter((to) => /\/seats(\/plan)?$/.test(to))).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("finger on a phone chooses a seat and gives it back", async () => {
  const { page, complaints, close } = await seated("finger", {}, PHONE);
  // Seats of the map are small there; those of the list are not.
  await page.getByRole("button", { name: "Choose from a list" }).tap();
  for (const number of [5, 6]) {
    const row = page.getByRole("group", { name: /^Row A,/ });
    await row.getByRole("button", { name: `Seat ${number},` }).tap();
  }
  await basket(page).getByText("€90.00").waitFor();
  await basket(page).getByRole("button", { name: "Show (2)" }).tap();
  await basket(page)
    .getByRole("button", { name: /^Remove Stalls, row A, seat 5/ })
    .tap();
  await basket(page).getByText("€45.00").first().waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("the basket tells to the cent what the booking will cost", async () => {
  const fees = { fixed_minor: 100, percent_bp: 500 };
  const { page, complaints, close } = await seated("cents", { fees }, {}, 4_510);
  await pick(page, 1, 2);
  // 5 % of each is 225.5 cents: two rounded ones would be 4.52, and the whole 95.72.
  await basket(page).getByText("€95.71").waitFor();
  await basket(page).getByText("€5.51 of it are fees").waitFor();
  expect((await hold(page)).amount_minor).toBe(9_571);
  expect(complaints).toEqual([]);
  await close();
});

test("seat in the basket costs what it does now, also when the organiser changes that", async () => {
  const { page, complaints, close } = await seated("dearer");
  await pick(page, 1, 2);
  await basket(page).getByText("€90.00").waitFor();
  const change = (price_minor: number, later: unknown[]) =>
    server.organise("PUT", "/events/dearer/prices", {
      category: "Stalls",
      price_minor,
      later,
      why: "a test",
    });
  await change(5_000, [{ from: Date.now() + 25_000, price_minor: 5_500 }]);
  for (const [each, both] of [
    ["€50.00", "€100.00"],
    ["€55.00", "€110.00"],
  ] as const) {
    await basket(page).getByText(both).waitFor();
    expect(await basket(page).getByText(each).count()).toBe(2);
    const row = page.getByRole("group", { name: /^Row A,/ });
    await row.getByRole("button", { name: new RegExp(`^Seat 3,.*${each}`) }).waitFor();
  }
  await page.getByRole("button", { name: "Choose on the map" }).click();
  await page.getByRole("list", { name: "What the shapes mean" }).getByText("€55.00").waitFor();
  expect((await hold(page)).amount_minor).toBe(11_000);
  expect(complaints).toEqual([]);
  await close();
});

test("the basket works no sum out while the server tells none, and asks again", async () => {
  const { page, close } = await seated("no-quote", { fees: { fixed_minor: 100 } });
  await page.route("**/quote", (route) => route.abort());
  await pick(page, 1, 2);
  await basket(page).getByText("What it costs cannot be told just now.").waitFor();
  expect(await basket(page).getByText("€90.00").count()).toBe(0);
  await page.unroute("**/quote");
  await basket(page).getByText("€91.00").waitFor();
  expect((await hold(page)).amount_minor).toBe(9_100);
  await close();
});

test("keyboard alone chooses two seats in the list and holds them", async () => {
  const { page, complaints, close } = await seated("keys");
  const toList = page.getByRole("button", { name: "Choose from a list" });
  await toList.focus();
  await page.keyboard.press("Enter");
  const first = page.getByRole("button", { name: "Seat 1, Stalls, €45.00, free" }).first();
  await first.waitFor();
  // Tab comes to one seat only; the arrows go on from there.
  for (let presses = 0; presses < 20; presses += 1) {
    if (await first.evaluate((seat) => seat === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  for (const key of ["ArrowDown", "ArrowRight", "Enter", "End", "ArrowLeft", "Space"])
    await page.keyboard.press(key);
  await basket(page).getByText("Stalls, row B, seat 9").waitFor();
  expect(await violations(page)).toEqual([]);
  const holdThese = page.getByRole("button", { name: "Hold these" });
  for (let presses = 0; presses < 60; presses += 1) {
    if (await holdThese.evaluate((button) => button === document.activeElement)) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/bookings\//);
  const { seats } = (await server.ask("GET", "/events/keys/seats")).body as SeatMap;
  expect(seats.filter((seat) => seat.status === "held").map((seat) => seat.id)).toEqual(["B-2", "B-9"]);
  expect(complaints).toEqual([]);
  await close();
});

test("list shows free seats only, if asked", async () => {
  const { page, close } = await seated("only");
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await page.getByRole("button", { name: "Seat 1, Stalls, €45.00, free" }).first().waitFor();
  await server.organise("POST", "/events/only/block", { seats: ["A-1", "A-2"], by: "test", why: "camera" });
  await expect.poll(() => page.getByRole("button", { name: /not on sale$/ }).count()).toBe(2);
  await page.getByRole("checkbox", { name: "Only free seats" }).check();
  await expect.poll(() => page.getByRole("button", { name: /not on sale$/ }).count()).toBe(0);
  await page.getByRole("group", { name: "Row A, 8 free" }).waitFor();
  await close();
});

test("standing places, nights and seats are one hold", async () => {
  const days = ["2096-12-24", "2096-12-25", "2096-12-26"];
  await openEvent(server, "mixed", {
    settings: NO_ROOM,
    pools: [
      { pool: "floor-standing", capacity: 50, price_minor: 3_000 },
      ...days.map((day, at) => ({
        pool: `deluxe.${day}`,
        capacity: 3 - at,
        price_minor: 10_000 + 1_000 * at,
      })),
    ],
    plan: smallPlan(4, 10),
    prices: { Stalls: 4_500 },
  });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/mixed/choose`);
  const more = page.getByRole("button", { name: "More: Floor standing" });
  await more.click();
  await more.click();
  await page.getByLabel("Arrival").fill("2096-12-25");
  await page.getByRole("button", { name: "More: Nights" }).click();
  // The fullest of the two nights has one room.
  expect(await page.getByRole("button", { name: "More: Rooms" }).getAttribute("aria-disabled")).toBe("true");
  await page.getByRole("button", { name: "Add for €230.00" }).click();
  await pick(page, 5, 6);
  await basket(page).getByText("€380.00").waitFor();
  expect(await violations(page)).toEqual([]);
  const booking = await hold(page);
  expect(booking.lines.pools).toEqual({
    "deluxe.2096-12-25": 1,
    "deluxe.2096-12-26": 1,
    "floor-standing": 2,
  });
  expect(booking.lines.seats).toHaveLength(2);
  expect(booking.amount_minor).toBe(38_000);
  expect(complaints).toEqual([]);
  await close();
});

test("vouchers are bought by quantity, no more than one person may have", async () => {
  await openEvent(server, "vouchers", {
    settings: { ...NO_ROOM, max_per_user: 2 },
    pools: [{ pool: "spa-voucher", capacity: 10, price_minor: 2_000 }],
  });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/vouchers/choose`);
  const more = page.getByRole("button", { name: "More: Spa voucher" });
  await more.click();
  await more.click();
  // The third is not offered, and not done if somebody insists.
  await more.click({ force: true });
  await basket(page).getByText("€40.00").first().waitFor();
  expect(await more.getAttribute("aria-disabled")).toBe("true");
  await basket(page).getByText("One person may have 2.").waitFor();
  const booking = await hold(page);
  expect(booking.lines.pools).toEqual({ "spa-voucher": 2 });
  await page.goBack();
  await page.getByRole("link", { name: "Go on with it" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("choice that leaves a seat alone is moved with one tap", async () => {
  const { page, complaints, close } = await seated("singles", { single_seats: "refuse" });
  await pick(page, 2, 3);
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.getByText("Your choice would leave one seat on its own: Stalls, row A, seat 1.").waitFor();
  const instead = "Instead there are Stalls, row A, seat 1 and Stalls, row A, seat 2, for €90.00 in all.";
  await page.getByText(instead).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Move my choice there" }).click();
  expect((await hold(page)).lines.seats).toEqual(["A-1", "A-2"]);
  expect(complaints).toEqual([]);
  await close();
});

test("wheelchair place and its companion's seat are found, and held together", async () => {
  const plan = smallPlan(4, 10) as { zones: { rows: { seats: Record<string, unknown>[] }[] }[] };
  const [front, second] = plan.zones[0]!.rows;
  Object.assign(front!.seats[4]!, { wheelchair: true, easy_access: true });
  Object.assign(front!.seats[5]!, { companion_of: "A-5", easy_access: true });
  Object.assign(second!.seats[0]!, { restricted_view: true });
  await openEvent(server, "ramp", { settings: NO_ROOM, plan, prices: { Stalls: 4_500 } });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/ramp/choose`);
  await page.getByRole("button", { name: "More: Wheelchair places among them" }).click();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await page.getByRole("combobox", { name: /^Show/ }).selectOption("Wheelchair places and companions");
  const row = page.getByRole("group", { name: /^Row A,/ });
  const names = () => row.getByRole("button").allInnerTexts();
  await expect.poll(async () => (await names()).length).toBe(2);
  await row.getByRole("button", { name: /^Seat 5,.*wheelchair place, no steps/ }).waitFor();
  // A companion's seat alone is not sold.
  await row
    .getByRole("button", { name: /^Seat 6,.*kept for whoever comes with Stalls, row A, seat 5/ })
    .click();
  await basket(page).getByText("kept for whoever comes with Stalls, row A, seat 5, no steps").waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.getByText("This seat is kept for whoever comes with a wheelchair place.").waitFor();
  await row.getByRole("button", { name: /^Seat 6,/ }).click();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Let us choose" }).click();
  await page.getByRole("button", { name: "Best seats" }).click();
  await page.waitForURL(/\/bookings\/[^/]+$/);
  const seats = (await server.ask("GET", "/events/ramp/seats")).body as SeatMap;
  const held = seats.seats.filter(({ status }) => status === "held").map(({ id }) => id);
  expect(held).toEqual(["A-5", "A-6"]);
  expect(complaints).toEqual([]);
  await close();
});

test("choice survives a reload", async () => {
  const { page, close } = await seated("reload");
  await pick(page, 5, 6);
  await basket(page).getByText("€90.00").waitFor();
  await page.reload();
  await basket(page).getByText("€90.00").waitFor();
  expect((await hold(page)).lines.seats).toEqual(["A-5", "A-6"]);
  await close();
});

test("answer that gets lost on its way holds once", async () => {
  const { page, complaints, close } = await seated("lost");
  await pick(page, 5, 6);
  await basket(page).getByText("€90.00").waitFor();
  const keys: string[] = [];
  await page.route("**/api/v1/events/lost/bookings", async (route) => {
    keys.push(route.request().headers()["idempotency-key"]!);
    if (keys.length === 1) {
      // The server does it, and nobody hears of it.
      await route.fetch();
      await route.abort("connectionreset");
    } else {
      await route.continue();
    }
  });
  const booking = await hold(page);
  expect(booking.lines.seats).toEqual(["A-5", "A-6"]);
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);
  const units = (await server.ask("GET", "/events/lost")).body.units;
  expect(units).toMatchObject({ held: 2, free: 38 });
  expect(complaints).toEqual([]);
  await close();
});

test("answer that was lost before a reload is found again", async () => {
  const { page, complaints, close } = await seated("away");
  await pick(page, 5, 6);
  await basket(page).getByText("€90.00").waitFor();
  let isHeld = false;
  await page.route("**/api/v1/events/away/bookings", async (route) => {
    await route.fetch();
    isHeld = true;
    // No answer at all: the buyer loses patience.
  });
  await page.getByRole("button", { name: "Hold these" }).click();
  await expect.poll(() => isHeld).toBe(true);
  await page.reload();
  await page.waitForURL(/\/bookings\//);
  expect((await server.ask("GET", "/events/away")).body.units.held).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

test("who has no session is sent to the waiting room, and comes back with his choice", async () => {
  const { page, complaints, close } = await seated("room", { room: { capacity: 5 } });
  await page.getByRole("link", { name: "To the waiting room" }).waitFor();
  await pick(page, 5, 6);
  expect(await page.getByRole("button", { name: "Hold these" }).isDisabled()).toBe(true);
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  await server.ask("POST", "/events/room/queue", { token });
  await expect
    .poll(async () => (await server.ask("GET", "/events/room/queue", { token })).body.status)
    .toBe("active");
  await page.reload();
  await page.getByText("Time to choose:").waitFor();
  expect((await hold(page)).lines.seats).toEqual(["A-5", "A-6"]);
  expect(complaints).toEqual([]);
  await close();
});

test("sale that is paused meanwhile says so and keeps the choice", async () => {
  const { page, complaints, close } = await seated("pause");
  await pick(page, 5, 6);
  await server.organise("POST", "/events/pause/pause");
  await page.getByText("The sale is paused.").waitFor();
  expect(await page.getByRole("button", { name: "Hold these" }).isDisabled()).toBe(true);
  await server.organise("POST", "/events/pause/resume");
  expect((await hold(page)).lines.seats).toEqual(["A-5", "A-6"]);
  expect(complaints).toEqual([]);
  await close();
});
