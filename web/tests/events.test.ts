import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations, visit } from "./browser";
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

const HOUR_MS = 3_600_000;
const GA = [{ pool: "ga", capacity: 100, price_minor: 5_000 }];

test("list shows titles in the visitor's language, prices and what is left, page after page", async () => {
  const other = await Server.start();
  await openEvent(other, "a-tour", {
    pools: GA,
    plan: smallPlan(2, 5),
    prices: { Stalls: 9_000 },
    settings: { starts_at: Date.UTC(2027, 0, 20, 19, 30) },
  });
  await other.organise("PUT", "/events/a-tour/texts/en", { title: "Winter tour", venue: "The Arena" });
  await other.organise("PUT", "/events/a-tour/texts/ko", { title: "겨울 투어" });
  await openEvent(other, "b-free", {
    pools: [{ pool: "ga", capacity: 5, price_minor: 0 }],
    phase: "scheduled",
  });
  for (let count = 0; count < 24; count += 1) await openEvent(other, `c-${count}`);
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(other.url);
  const tour = page.getByRole("listitem").filter({ hasText: "Winter tour" });
  await tour.getByText("€50.00 to €90.00").waitFor();
  await tour.getByText("110 left").waitFor();
  await tour.getByText("On sale").waitFor();
  await tour.getByText("The Arena").waitFor();
  const free = page.getByRole("listitem").filter({ hasText: "Event b-free" });
  await free.getByText("Free of charge").waitFor();
  await free.getByText("Not on sale yet").waitFor();

  expect(await page.getByRole("listitem").count()).toBe(24);
  await page.getByRole("button", { name: "More events" }).click();
  await expect.poll(() => page.getByRole("listitem").count(), { timeout: 20_000 }).toBe(26);
  expect(await page.getByRole("button", { name: "More events" }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();

  const korean = await visit(browser, { locale: "ko-KR" });
  await korean.page.goto(other.url);
  await korean.page.getByRole("link", { name: "겨울 투어" }).click();
  await korean.page.getByRole("heading", { level: 1, name: "겨울 투어" }).waitFor();
  await korean.close();
  await other.stop();
});

test("list without events says so", async () => {
  const other = await Server.start();
  const { page, close } = await visit(browser);
  await page.goto(other.url);
  await page.getByText("Nothing is on sale here yet").waitFor();
  await close();
  await other.stop();
});

test("event's page groups a room's nights, and leads to tickets where nobody waits", async () => {
  const nights = ["2096-12-24", "2096-12-25", "2096-12-26"];
  await openEvent(server, "inn", {
    settings: { room: null },
    pools: nights.map((date, step) => ({
      pool: `deluxe.${date}`,
      capacity: 2,
      price_minor: 12_000 + 1_000 * step,
    })),
  });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/inn`);
  const row = page.getByRole("row").filter({ hasText: "Deluxe" });
  await row.getByText(/^Nights from .*24.* to .*26.*$/).waitFor();
  await row.getByText("€120.00 to €140.00").waitFor();
  await row.getByText("Rooms on 3 of 3 nights").waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
  await server.organise("POST", "/events/inn/block", {
    pools: { "deluxe.2096-12-25": 2 },
    by: "t",
    why: "t",
  });
  await page.reload();
  await row.getByText("Rooms on 2 of 3 nights").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "Choose tickets" }).click();
  await page.waitForURL(`${server.url}/events/inn/choose`);
  expect(complaints).toEqual([]);
  await close();
});

test("countdown turns into the next thing by itself", async () => {
  await openEvent(server, "soon", {
    pools: GA,
    settings: {
      prequeue_at: Date.now() + HOUR_MS,
      opens_at: Date.now() + 2 * HOUR_MS,
      room: { capacity: 1 },
    },
    phase: "scheduled",
  });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/soon`);
  await page.getByText("The waiting room opens in").waitFor();
  await page.getByRole("link", { name: "Wait for the opening" }).waitFor();
  // Each time comes near once the page shows what is before it, however long a busy machine took for that.
  const comesNear = async (time: string) => {
    await server.organise("PATCH", "/events/soon", { [time]: Date.now() + 4_000 });
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  };
  await comesNear("prequeue_at");
  await page.getByText("The sale opens in").waitFor();
  await page.getByRole("link", { name: "Join the waiting room" }).waitFor();
  await comesNear("opens_at");
  await page.getByText("Tickets are on sale now.").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("who has a place finds the way back to it, and looking makes nobody a visitor", async () => {
  await openEvent(server, "place", { pools: GA, settings: { room: { capacity: 1 } } });
  const first = await server.visitor();
  await server.ask("POST", "/events/place/queue", { token: first });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/place`);
  await page.getByRole("link", { name: "Join the waiting room" }).waitFor();
  expect(await page.evaluate(() => localStorage.getItem("onrush.visitor"))).toBeNull();
  await page.getByRole("link", { name: "Join the waiting room" }).click();
  await page.getByTestId("position").waitFor();
  await page.getByRole("link", { name: "Event place" }).click();
  await page.getByText("You are number 1 in the line.").waitFor();
  await page.getByRole("link", { name: "Back to your place" }).waitFor();
  await server.ask("DELETE", "/events/place/queue", { token: first });
  await expect
    .poll(async () => (await server.ask("GET", "/events/place")).body.active, { timeout: 20_000 })
    .toBe(1);
  await page.reload();
  await page.getByRole("link", { name: "It is your turn: enter" }).click();
  await page.getByRole("button", { name: "Enter now" }).click();
  await page.waitForURL(`${server.url}/events/place/choose`);
  await page.goto(`${server.url}/events/place`);
  await page.getByRole("link", { name: "Choose tickets" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("who left and comes back by the event's page joins again without being asked", async () => {
  await openEvent(server, "again", { pools: GA, settings: { room: { capacity: 1 } } });
  await server.ask("POST", "/events/again/queue", { token: await server.visitor() });
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/again/queue`);
  await page.getByRole("button", { name: "Leave the line" }).click();
  await page.getByRole("button", { name: "Yes, leave" }).click();
  await page.getByRole("link", { name: "About the event" }).click();
  await page.getByRole("link", { name: "Join the waiting room" }).click();
  await page.getByTestId("position").waitFor();
  await close();
});

test("draw is explained with the seed's fingerprint", async () => {
  await openEvent(server, "lot", {
    pools: GA,
    settings: { room: { order: "draw" }, opens_at: Date.now() + HOUR_MS },
    phase: "prequeue",
  });
  const { seed_hash } = (await server.ask("GET", "/events/lot/draw")).body;
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/lot`);
  await page.getByRole("heading", { name: "The order is drawn by lot" }).waitFor();
  await page.getByText(seed_hash).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("sale of a draw that was promised a value waits for its organiser, and its page says so", async () => {
  const source = "the lottery of 5 December";
  const event = "promised";
  await openEvent(server, event, {
    pools: GA,
    settings: { room: { order: "draw", public_value_source: source }, opens_at: Date.now() + HOUR_MS },
    phase: "prequeue",
  });
  const { page, complaints, close } = await visit(browser);
  await page.goto(server.url);
  const card = page.getByRole("listitem").filter({ hasText: `Event ${event}` });
  await card.getByText(/^Draw: the list is fixed on .* at the latest$/).waitFor();
  await page.clock.install();
  await page.goto(`${server.url}/events/${event}`);
  await page.getByText(`The organiser has promised this one: ${source}`).waitFor();
  await page.getByText("The list for the draw is fixed, at the latest, in").waitFor();
  expect(await page.getByText("The sale opens in").count()).toBe(0);
  await server.organise("PATCH", `/events/${event}`, { opens_at: Date.now() + 2_000 });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  const waits = "The list is fixed. The organiser opens the sale once the promised value is known.";
  await page.getByText(waits).waitFor();
  expect(await page.getByText("Any moment now").count()).toBe(0);

  // Nothing is about to happen, so it is looked at as seldom as ever, but for once when its time came.
  await page.clock.fastForward(5_000);
  let looks = 0;
  page.on("request", (request) => (looks += Number(request.url().endsWith(`/events/${event}`))));
  const looked = page.waitForResponse(`**/events/${event}/availability`);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await (await looked).finished();
  await page.evaluate(() => fetch("/api/v1/events").then((answer) => answer.text()));
  const before = looks;
  await page.clock.fastForward(3_000);
  await page.evaluate(() => fetch("/api/v1/events").then((answer) => answer.text()));
  expect(looks).toBe(before);

  await page.goto(server.url);
  await card.getByText(waits).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("sold out, paused and closed sales say so", async () => {
  await openEvent(server, "phases", {
    pools: [{ pool: "ga", capacity: 1, price_minor: 0 }],
    settings: { room: null },
  });
  const token = await server.visitor();
  const lines = { pools: { ga: 1 } };
  const { booking } = (await server.ask("POST", "/events/phases/bookings", { token, key: "k", body: lines }))
    .body;
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/phases`);
  await page.getByText("All taken just now").waitFor();
  await server.ask("POST", `/bookings/${booking}/confirm`, { token });
  await page.reload();
  await page.getByText("Everything is sold at the moment.").waitFor();
  expect(await page.getByText("Sold out").count()).toBe(2);
  await server.organise("POST", "/events/phases/pause");
  await page.reload();
  await page.getByText("The sale is paused.").waitFor();
  await server.organise("POST", "/events/phases/close");
  await page.reload();
  await page.getByText("The sale is over.").waitFor();
  expect(await page.getByRole("link", { name: "Choose tickets" }).count()).toBe(0);
  await close();
});

test("event that does not exist says so and leads back", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/nothing`);
  await page.getByText("This event does not exist.").waitFor();
  await page.getByRole("main").getByRole("link", { name: "All events" }).click();
  await page.getByRole("heading", { level: 1, name: "Events" }).waitFor();
  await close();
});
