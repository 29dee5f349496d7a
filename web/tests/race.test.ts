import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeatMap } from "../src/api/schema";
import { launch, PHONE, visit } from "./browser";
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

async function open(event: string, rows = 4): Promise<void> {
  await openEvent(server, event, {
    settings: { room: null },
    plan: smallPlan(rows, 10),
    prices: { Stalls: 4_500 },
  });
}

interface Ways {
  /** What is done to the page before it is opened. */
  before?: (page: Page) => Promise<void>;
  /** The device. */
  on?: BrowserContextOptions;
}

/** Somebody at the list of the event's seats. */
async function shopper(event: string, { before, on }: Ways = {}) {
  const visitor = await visit(browser, on);
  await before?.(visitor.page);
  await visitor.page.goto(`${server.url}/events/${event}/choose`);
  await visitor.page.getByRole("button", { name: "Choose from a list" }).click();
  return visitor;
}

/**
 * All of these hold what they chose. None hears of another in time, whichever way messages come: their wishes
 * reach the server once all have sent theirs.
 */
async function holdAtOnce(event: string, people: { page: Page }[]): Promise<void> {
  const sent = new Set<Page>();
  let letThrough = (): void => {};
  const areSent = new Promise<void>((resolve) => (letThrough = resolve));
  for (const { page } of people) {
    await page.route(`**/events/${event}/bookings`, async (route) => {
      sent.add(page);
      if (sent.size === people.length) letThrough();
      await areSent;
      await route.continue();
    });
  }
  await Promise.all(people.map(({ page }) => page.getByRole("button", { name: "Hold these" }).click()));
}

const seat = (page: Page, row: string, number: number) =>
  page
    .getByRole("group", { name: new RegExp(`^Row ${row},`) })
    .getByRole("button", { name: `Seat ${number},` });

test("of two browsers that want a seat one gets it, and the other takes what is offered", async () => {
  await open("race");
  const people = await Promise.all([shopper("race"), shopper("race")]);
  for (const { page } of people) {
    await seat(page, "B", 5).click();
    await page.getByRole("complementary").getByText("Stalls, row B, seat 5").waitFor();
    await page.getByLabel(/If one of these is gone/).uncheck();
  }
  await holdAtOnce("race", people);
  const outcome = (page: Page) =>
    Promise.race([
      page.waitForURL(/\/bookings\//).then(() => "held"),
      page
        .getByText("Somebody was faster")
        .waitFor()
        .then(() => "told"),
    ]);
  const outcomes = await Promise.all(people.map(({ page }) => outcome(page)));
  expect([...outcomes].sort()).toEqual(["held", "told"]);
  const { page } = people[outcomes.indexOf("told")]!;
  await page.getByText("This seat was just taken: Stalls, row B, seat 5.").waitFor();
  await page.getByText(/^Near by there is Stalls, row [ABC], seat [456], for €45\.00\.$/).waitFor();
  await page.getByRole("button", { name: "Take this seat" }).click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\//);
  const { units } = (await server.ask("GET", "/events/race")).body;
  expect(units).toMatchObject({ held: 2, free: 38 });
  for (const visitor of people) {
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  }
});

test("of two browsers that want a seat the slower one gets another, and may give it back", async () => {
  await open("faster");
  const people = await Promise.all([shopper("faster"), shopper("faster")]);
  for (const { page } of people) {
    await seat(page, "B", 5).click();
    await page.getByRole("complementary").getByText("Stalls, row B, seat 5").waitFor();
  }
  await holdAtOnce("faster", people);
  await Promise.all(people.map(({ page }) => page.waitForURL(/\/bookings\//)));
  const isSlower = await Promise.all(
    people.map(async ({ page }) => {
      await page.getByRole("heading", { name: "Held for you" }).waitFor();
      return (await page.getByText("Somebody was faster").count()) === 1;
    }),
  );
  expect([...isSlower].sort()).toEqual([false, true]);
  const { page } = people[isSlower.indexOf(true)]!;
  await page.getByText("The seat you chose was just taken: Stalls, row B, seat 5.").waitFor();
  await page.getByRole("button", { name: "Choose other seats" }).waitFor();
  const { units } = (await server.ask("GET", "/events/faster")).body;
  expect(units).toMatchObject({ held: 2, free: 38 });
  for (const visitor of people) {
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  }
});

test("holds of others show by themselves, and whose choice is gone is told before he holds", async () => {
  await open("watch");
  const { page, complaints, close } = await shopper("watch");
  await seat(page, "C", 2).click();
  await seat(page, "C", 3).click();
  const token = await server.visitor();
  const held = await server.ask("POST", "/events/watch/bookings", {
    token,
    key: "other",
    body: { seats: ["C-3", "D-1"] },
  });
  expect(held.status).toBe(201);
  await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  await page.getByText("This seat was just taken: Stalls, row C, seat 3.").waitFor();
  // The pair is offered to stay together.
  await page.getByRole("button", { name: "Take these 2 seats" }).click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\//);
  const seats = (await server.ask("GET", "/events/watch/seats")).body.seats as {
    id: string;
    status: string;
  }[];
  const taken = seats.filter(({ status }) => status === "held").map(({ id }) => id);
  expect(taken).toEqual(["C-1", "C-2", "C-3", "D-1"]);
  expect(complaints).toEqual([]);
  await close();
});

/** Whether any of it is on the screen. */
const isInView = (what: Locator): Promise<boolean> =>
  what.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });

test("what is left of a choice is held once the notice of what is gone was shown", async () => {
  await open("far-above", 12);
  const { page, complaints, close } = await shopper("far-above", { on: PHONE });
  await seat(page, "K", 3).tap();
  await seat(page, "K", 4).tap();
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/events/far-above/bookings")) asked.push(request.method());
  });
  await holdSeat("far-above", "K-4", await server.visitor());
  const notice = page.getByRole("alert").filter({ hasText: "Somebody was faster" });
  await notice.waitFor();
  // It stands where the page begins, and the buyer is eleven rows down.
  expect(await isInView(notice)).toBe(false);
  const holdThese = page.getByRole("button", { name: "Hold these" });
  await holdThese.tap();
  await notice.getByText("Nothing was held. The rest of your choice is still here.").waitFor();
  await expect.poll(() => isInView(notice)).toBe(true);
  const hasFocus = () => notice.evaluate((element) => document.activeElement === element.parentElement);
  await expect.poll(hasFocus).toBe(true);
  expect(asked).toEqual([]);
  await holdThese.tap();
  await page.waitForURL(/\/bookings\//);
  expect(asked).toEqual(["POST"]);
  const { seats } = (await server.ask("GET", "/events/far-above/seats")).body as SeatMap;
  const held = seats.filter(({ status }) => status === "held").map(({ id }) => id);
  expect(held.sort()).toEqual(["K-3", "K-4"]);
  expect(complaints).toEqual([]);
  await close();
});

test("what is offered for a lost seat is anybody's, and said with what is special about it", async () => {
  const plan = smallPlan(1, 4) as { zones: { rows: { seats: Record<string, unknown>[] }[] }[] };
  const [place, , pillar] = plan.zones[0]!.rows[0]!.seats;
  Object.assign(place!, { wheelchair: true });
  Object.assign(pillar!, { restricted_view: true });
  await openEvent(server, "traits", { settings: { room: null }, plan, prices: { Stalls: 4_500 } });
  const { page, complaints, close } = await shopper("traits");
  await seat(page, "A", 1).click();
  await holdSeat("traits", "A-1", await server.visitor());
  await page.getByText("We do not choose another wheelchair place or companion's seat for you.").waitFor();
  await page.getByText("where you choose “Wheelchair places and companions” above the seats.").waitFor();
  await page.getByRole("button", { name: "Choose others myself" }).click();
  await seat(page, "A", 2).click();
  await holdSeat("traits", "A-2", await server.visitor());
  await page.getByText("Near by there is Stalls, row A, seat 3 (restricted view), for €45.00.").waitFor();
  await page.getByRole("button", { name: "Take this seat" }).click();
  await page.getByRole("complementary").getByText("restricted view").waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\//);
  await page.getByRole("table").getByText("Restricted view").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("what one holds in another tab is no loss to him", async () => {
  await open("tabs");
  const { page, complaints, close } = await shopper("tabs");
  await seat(page, "A", 1).click();
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  await server.ask("POST", "/events/tabs/bookings", { token, key: "tab", body: { seats: ["A-1"] } });
  await page.getByRole("link", { name: "Go on with it" }).waitFor();
  await page.getByText("Nothing chosen yet.").waitFor();
  expect(await page.getByText("Somebody was faster").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

const tokenOf = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);

async function holdSeat(event: string, seat: string, token: string): Promise<void> {
  const wish = { token, key: seat, body: { seats: [seat] } };
  expect((await server.ask("POST", `/events/${event}/bookings`, wish)).status).toBe(201);
}

const toFront = (page: Page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

for (const [cause, wake] of [
  [
    "the page comes back to the front",
    (page: Page) => page.clock.fastForward(45_000).then(() => toFront(page)),
  ],
  ["nothing came for minutes", (page: Page) => page.clock.fastForward(310_000)],
] as const) {
  test(`socket that died without a word is noticed while seats are chosen, when ${cause}`, async () => {
    const event = `deaf-${cause.replaceAll(" ", "-")}`;
    await open(event);
    let isDeaf = false;
    const { page, complaints, close } = await shopper(event, {
      before: async (page) => {
        await page.clock.install();
        await page.routeWebSocket(/\/ws\?/, (socket) => {
          const isFirst = !isDeaf;
          socket.connectToServer().onMessage((message) => {
            if (!(isFirst && isDeaf)) socket.send(message);
          });
        });
      },
    });
    isDeaf = true;
    await holdSeat(event, "D-1", await server.visitor());
    await wake(page);
    await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
    expect(complaints).toEqual([]);
    await close();
  });
}

test("what was missed without a stream is asked for until there is an answer", async () => {
  await open("missed");
  let hangUp = (): void => {};
  let isDeaf = false;
  const { page, complaints, close } = await shopper("missed", {
    before: (page) =>
      page.routeWebSocket(/\/ws\?/, (socket) => {
        const isFirst = !isDeaf;
        if (isFirst) hangUp = () => void socket.close();
        socket.connectToServer().onMessage((message) => {
          if (!(isFirst && isDeaf)) socket.send(message);
        });
      }),
  });
  isDeaf = true;
  await holdSeat("missed", "D-1", await server.visitor());
  await holdSeat("missed", "A-1", await tokenOf(page));
  let asked = 0;
  await page.route("**/seats/status*", (route) => ((asked += 1) <= 2 ? route.abort() : route.continue()));
  hangUp();
  await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  expect(asked).toBe(3);
  await page.getByRole("link", { name: "Go on with it" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("answer about seats that was overtaken takes nothing back that is known by then", async () => {
  await open("overtaken");
  let hangUp = (): void => {};
  const { page, complaints, close } = await shopper("overtaken", {
    before: (page) =>
      page.routeWebSocket(/\/ws\?/, (socket) => {
        hangUp = () => void socket.close();
        socket.connectToServer().onMessage((text) => {
          if (JSON.parse(String(text)).type !== "seats") socket.send(text);
        });
      }),
  });
  const asked: (() => Promise<void>)[] = [];
  await page.route("**/seats/status*", async (route) => {
    if (asked.length >= 2) return route.continue();
    const response = await route.fetch();
    asked.push(() => route.fulfill({ response }));
  });
  // Two reads are under way: the first is of before D-1 was held, the second of after.
  hangUp();
  await expect.poll(() => asked.length).toBe(1);
  await holdSeat("overtaken", "D-1", await server.visitor());
  hangUp();
  await expect.poll(() => asked.length).toBe(2);
  await asked[1]!();
  await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  const isRead = page.waitForResponse("**/seats/status*");
  await asked[0]!();
  await (await isRead).finished();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  expect(await seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  expect(complaints).toEqual([]);
  await close();
});

test("what a stream told while an answer about seats was long under way is not taken back", async () => {
  await open("slow");
  let hangUp = (): void => {};
  let heard = 0;
  const { page, complaints, close } = await shopper("slow", {
    before: (page) =>
      page.routeWebSocket(/\/ws\?/, (socket) => {
        heard = 0;
        hangUp = () => void socket.close();
        socket.connectToServer().onMessage((message) => {
          heard += 1;
          socket.send(message);
        });
      }),
  });
  let answer: (() => Promise<void>) | undefined;
  await page.route("**/seats/status*", async (route) => {
    const response = await route.fetch();
    answer = () => route.fulfill({ response });
  });
  const first = hangUp;
  hangUp();
  await expect.poll(() => answer).toBeDefined();
  // The stream that comes after it is there: what happens from now on is told by that one.
  await expect.poll(() => hangUp !== first && heard > 0).toBe(true);
  await holdSeat("slow", "D-1", await server.visitor());
  await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  // Long enough for a later message to push the first out of those that are kept.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 5_500)));
  await holdSeat("slow", "D-2", await server.visitor());
  await expect.poll(() => seat(page, "D", 2).getAttribute("aria-disabled")).toBe("true");
  const isRead = page.waitForResponse("**/seats/status*");
  await answer!();
  await (await isRead).finished();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  expect(await seat(page, "D", 1).getAttribute("aria-disabled")).toBe("true");
  expect(complaints).toEqual([]);
  await close();
});

test("house that was opened while waiting is that of now once it is the visitor's turn", async () => {
  const event = "waited";
  const plan = smallPlan(4, 10);
  await openEvent(server, event, {
    settings: { room: { capacity: 1 } },
    plan,
    prices: { Stalls: 4_500 },
  });
  const join = (token: string) => server.ask("POST", `/events/${event}/queue`, { token });
  const isActive = async (token: string) =>
    (await server.ask("GET", `/events/${event}/queue`, { token })).body.status === "active";
  const first = await server.visitor();
  await join(first);
  await expect.poll(() => isActive(first)).toBe(true);
  await holdSeat(event, "A-1", first);

  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/${event}`);
  const me = await server.visitor();
  await join(me);
  await page.evaluate(
    ([user, token]) => {
      const expires_at = Date.now() + 86_400_000;
      localStorage.setItem("onrush.visitor", JSON.stringify({ user, token, expires_at }));
    },
    [me.split(".")[1]!, me],
  );
  const isOpen = page.waitForEvent("websocket").then((socket) => socket.waitForEvent("framereceived"));
  await page.goto(`${server.url}/events/${event}/choose`);
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await isOpen;
  await expect.poll(() => seat(page, "A", 1).getAttribute("aria-disabled")).toBe("true");

  // The slot changes hands: what was held is free again, and something else is gone.
  const block = { seats: ["D-1"], by: "stage", why: "a camera" };
  await server.organise("POST", `/events/${event}/block`, block);
  await server.ask("DELETE", `/events/${event}/queue`, { token: first });
  await expect.poll(() => seat(page, "D", 1).getAttribute("aria-disabled"), { timeout: 15_000 }).toBe("true");
  await expect.poll(() => seat(page, "A", 1).getAttribute("aria-disabled")).not.toBe("true");
  await server.organise("POST", `/events/${event}/block`, { ...block, seats: ["C-1"] });
  await expect.poll(() => seat(page, "C", 1).getAttribute("aria-disabled")).toBe("true");
  expect(complaints).toEqual([]);
  await close();
});

test("places that are gone are told with what is left, and one click takes that", async () => {
  await openEvent(server, "short", {
    settings: { room: null },
    pools: [{ pool: "floor-standing", capacity: 5, price_minor: 3_000 }],
  });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/short/choose`);
  const more = page.getByRole("button", { name: "More: Floor standing" });
  await more.waitFor();
  // The page does not hear in time that others were faster.
  await page.route("**/availability", (route) => route.abort());
  for (let places = 0; places < 4; places += 1) await more.click();
  const token = await server.visitor();
  const body = { pools: { "floor-standing": 3 } };
  await server.ask("POST", "/events/short/bookings", { token, key: "other", body });
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.getByText("Floor standing: only 2 are left. Nothing was held.").waitFor();
  await page.getByRole("button", { name: "Take 2" }).click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\//);
  const { units } = (await server.ask("GET", "/events/short")).body;
  expect(units).toMatchObject({ held: 5, free: 0 });
  expect(complaints).toEqual([]);
  await close();
});
