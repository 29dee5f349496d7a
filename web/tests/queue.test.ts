import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations, visit } from "./browser";
import { openEvent, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const SOON = { timeout: 20_000 };
const GA = [{ pool: "ga", capacity: 100, price_minor: 5_000 }];

/** An event with room for one, and people by the API who are in it or wait in front. */
async function eventWithOneInside(event: string, waiting = 0, room: Record<string, unknown> = {}) {
  await openEvent(server, event, { pools: GA, settings: { room: { capacity: 1, ...room } } });
  const tokens: string[] = [];
  for (let count = 0; count <= waiting; count += 1) {
    const token = await server.visitor();
    await server.ask("POST", `/events/${event}/queue`, { token });
    tokens.push(token);
  }
  await expect
    .poll(
      async () => (await server.ask("GET", `/events/${event}/queue`, { token: tokens[0]! })).body.status,
      SOON,
    )
    .toBe("active");
  await server.ask("POST", `/events/${event}/queue/arrive`, { token: tokens[0]! });
  return tokens;
}

function leave(event: string, token: string) {
  return server.ask("DELETE", `/events/${event}/queue`, { token });
}

async function positionIs(page: Page, position: number): Promise<void> {
  await expect
    .poll(() => page.getByTestId("position").textContent(), { timeout: 20_000 })
    .toBe(String(position));
}

async function openQueue(page: Page, event: string): Promise<void> {
  await page.goto(`${server.url}/events/${event}/queue`);
}

test("visitor joins, moves up, is admitted and shows up", async () => {
  const [inside, ahead] = await eventWithOneInside("journey", 1);
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "journey");
  await positionIs(page, 2);
  expect(await page.title()).toBe("2 · Event journey");
  await page.getByText("Live", { exact: true }).waitFor();

  await leave("journey", inside!);
  await positionIs(page, 1);
  await page.getByText("Nobody is ahead of you. You are next.").waitFor();
  await page.getByText("You have moved up 1 place since you came.").waitFor();

  await leave("journey", ahead!);
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(await page.title()).toBe("Your turn! · Event journey");
  await page.getByRole("button", { name: "Enter now" }).click();
  await page.waitForURL(`${server.url}/events/journey/choose`);
  await page.goBack();
  await page.getByRole("heading", { name: "You are in" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("visitor whose browser has no AbortSignal.any gets a place, and is admitted", async () => {
  const [inside] = await eventWithOneInside("older");
  const { page, complaints, close } = await visit(browser);
  await page.addInitScript(() => void Reflect.deleteProperty(AbortSignal, "any"));
  await openQueue(page, "older");
  await positionIs(page, 1);
  await page.getByText("Live", { exact: true }).waitFor();
  await leave("older", inside!);
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("reload and second tab keep the place", async () => {
  await eventWithOneInside("reload", 2);
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "reload");
  await positionIs(page, 3);
  await page.reload();
  await positionIs(page, 3);
  const second = await page.context().newPage();
  await openQueue(second, "reload");
  await positionIs(second, 3);
  expect((await server.ask("GET", "/events/reload")).body.waiting).toBe(3);
  expect(complaints).toEqual([]);
  await close();
});

test("place is kept through a lost network, and what happened meanwhile is caught up with", async () => {
  const [inside] = await eventWithOneInside("offline", 1);
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "offline");
  await positionIs(page, 2);
  await page.context().setOffline(true);
  await page.getByText(/^Offline since .+\. Your place is kept until .+ at least\.$/).waitFor();
  await leave("offline", inside!);
  expect(await page.getByTestId("position").textContent()).toBe("2");
  await page.context().setOffline(false);
  await positionIs(page, 1);
  await page.getByText("Live", { exact: true }).waitFor();
  expect((await server.ask("GET", "/events/offline")).body.waiting).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

for (const [way, shown] of [
  ["sse", "Live"],
  ["polling", "Checking every few seconds"],
] as const) {
  test(`line is followed over ${way} where nothing better gets through`, async () => {
    const event = `by-${way}`;
    const [inside, ahead] = await eventWithOneInside(event, 1);
    const { page, complaints, close } = await visit(browser);
    const streams: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/stream?")) streams.push(request.url());
    });
    await page.routeWebSocket(/\/ws\?/, (socket) => socket.close());
    if (way === "polling") await page.route(/\/stream\?/, (route) => route.abort());
    await openQueue(page, event);
    await page.getByText(shown, { exact: true }).waitFor();
    await positionIs(page, 2);
    await leave(event, inside!);
    await positionIs(page, 1);
    await server.organise("POST", `/events/${event}/pause`);
    await page.getByText("The sale is paused").waitFor();
    await server.organise("POST", `/events/${event}/resume`);
    await leave(event, ahead!);
    await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
    expect(streams.length).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
    await close();
  });
}

test("nobody is let in to nothing: the line is told, and goes on when something is back", async () => {
  const pools = [{ pool: "ga", capacity: 2, price_minor: 5_000 }];
  await openEvent(server, "scarce", { pools, settings: { room: { capacity: 10 } } });
  const [first, second] = [await server.visitor(), await server.visitor()];
  for (const token of [first, second]) {
    await server.ask("POST", "/events/scarce/queue", { token });
    await expect
      .poll(async () => (await server.ask("GET", "/events/scarce/queue", { token })).body.status, SOON)
      .toBe("active");
  }
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "scarce");
  await page.getByText("Nothing is free just now").waitFor();
  await positionIs(page, 1);
  await page.getByRole("heading", { name: "What is left, and prices" }).waitFor();
  await expect.poll(() => page.getByRole("table").textContent(), SOON).toContain("€50.00");
  expect(await violations(page)).toEqual([]);
  await leave("scarce", second);
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("stream that is cut comes back with a ticket of its own", async () => {
  const [inside] = await eventWithOneInside("cut", 1);
  const { page, complaints, close } = await visit(browser);
  const tickets: string[] = [];
  let cut = (): void => {};
  await page.routeWebSocket(/\/ws\?/, (socket) => {
    tickets.push(new URL(socket.url()).searchParams.get("ticket")!);
    const upstream = socket.connectToServer();
    cut = () => {
      void upstream.close();
      void socket.close();
    };
  });
  await openQueue(page, "cut");
  await positionIs(page, 2);
  cut();
  await leave("cut", inside!);
  await positionIs(page, 1);
  expect(new Set(tickets).size).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

for (const [cause, wake] of [
  [
    "the page comes back to the front",
    (page: Page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))),
  ],
  ["nothing came for long", (page: Page) => page.clock.fastForward(45_000)],
] as const) {
  test(`socket that died without a word is noticed when ${cause}`, async () => {
    const event = cause.replaceAll(" ", "-");
    const [inside] = await eventWithOneInside(event, 1);
    const { page, complaints, close } = await visit(browser);
    await page.clock.install();
    let isDeaf = false;
    await page.routeWebSocket(/\/ws\?/, (socket) => {
      const isFirst = !isDeaf;
      socket.connectToServer().onMessage((message) => {
        if (!(isFirst && isDeaf)) socket.send(message);
      });
    });
    await openQueue(page, event);
    await positionIs(page, 2);
    isDeaf = true;
    await leave(event, inside!);
    await wake(page);
    await positionIs(page, 1);
    await page.getByText("Live", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
}

test("sold-out sale is told of over sse, too", async () => {
  await openEvent(server, "gone", {
    pools: [{ pool: "ga", capacity: 2, price_minor: 5_000 }],
    settings: { room: { capacity: 1 } },
  });
  await server.ask("POST", "/events/gone/queue", { token: await server.visitor() });
  const { page, complaints, close } = await visit(browser);
  await page.routeWebSocket(/\/ws\?/, (socket) => socket.close());
  // What is asked for now and then would tell it later.
  const units = { free: 2, held: 0, sold: 0, blocked: 0 };
  await page.route("**/events/gone/pace", (route) =>
    route.fulfill({ json: { admission: "goes_on", units } }),
  );
  await openQueue(page, "gone");
  await page.getByText("Live", { exact: true }).waitFor();
  await positionIs(page, 1);
  await server.organise("POST", "/events/gone/block", { pools: { ga: 2 }, by: "test", why: "none left" });
  await page.getByText("Everything is sold at the moment").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("page that cannot find out what became of its place says so", async () => {
  await eventWithOneInside("unclear");
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "unclear");
  await positionIs(page, 1);
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);
  await page.goto("about:blank");
  await leave("unclear", token);
  const problem = { status: 500, code: "INTERNAL", detail: "no", retryable: false };
  await page.route("**/events/unclear/queue", (route) =>
    route.request().isNavigationRequest() ? route.continue() : route.fulfill({ status: 500, json: problem }),
  );
  await openQueue(page, "unclear");
  await page.getByRole("alert").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("turn is not taken up by a page that nobody looks at", async () => {
  const [inside] = await eventWithOneInside("behind");
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "behind");
  await positionIs(page, 1);
  await page.goto(`${server.url}/events/behind/choose`);
  await page
    .getByRole("link", { name: /waiting room/ })
    .first()
    .waitFor();
  const look = (state: string) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  let arrivals = 0;
  page.on("request", (request) => (arrivals += request.url().endsWith("/arrive") ? 1 : 0));
  await look("hidden");
  const asked = page.waitForResponse(
    async (response) => response.url().endsWith("/queue") && (await response.json()).status === "active",
  );
  await leave("behind", inside!);
  await asked;
  // Whatever comes of that answer is asked for before this.
  await page.evaluate(() => fetch("/api/v1/events/behind").then((response) => response.text()));
  expect(arrivals).toBe(0);
  await look("visible");
  await expect.poll(() => arrivals).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("line that is longer than what is left is said early", async () => {
  await openEvent(server, "few", {
    pools: [{ pool: "ga", capacity: 2, price_minor: 5_000 }],
    settings: { room: { capacity: 1 } },
  });
  for (let count = 0; count < 4; count += 1) {
    await server.ask("POST", "/events/few/queue", { token: await server.visitor() });
  }
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "few");
  await page.getByText("The line ahead of you is longer than what is left.").waitFor();
  await server.organise("POST", "/events/few/block", { pools: { ga: 2 }, by: "test", why: "none left" });
  await page.getByText("Everything is sold at the moment").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("wait is a range that follows from the line's pace, and unknown without one", async () => {
  await eventWithOneInside("pace", 19);
  const { page, close } = await visit(browser);
  const pace: { per_min?: { from: number; to: number } } = {};
  await page.route("**/events/pace/pace", (route) =>
    route.fulfill({
      json: { admission: "goes_on", units: { free: 90, held: 0, sold: 0, blocked: 0 }, ...pace },
    }),
  );
  await openQueue(page, "pace");
  await page.getByText("We do not know yet how fast the line moves.").waitFor();
  pace.per_min = { from: 2.4, to: 5 };
  await page.reload();
  await page.getByText("About 4 to 9 minutes").waitFor();
  await close();
});

test("wait is known once the line has moved for half a minute", { timeout: 120_000 }, async () => {
  const tokens = await eventWithOneInside("moving", 40);
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "moving");
  await page.getByText("We do not know yet how fast the line moves.").waitFor();
  const wait = page.getByText(/^(About \d+( to \d+)? minutes?|Less than (a minute|\d+ minutes))$/);
  const moveUp = async () => {
    const next = tokens.shift();
    if (next) await leave("moving", next);
    return wait.count();
  };
  await expect.poll(moveUp, { timeout: 80_000, interval: 2_000 }).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("visitor who leaves is asked first, stays out after a reload, and can join again", async () => {
  await eventWithOneInside("leaving", 1);
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "leaving");
  await positionIs(page, 2);
  await page.getByRole("button", { name: "Leave the line" }).click();
  await page.getByRole("button", { name: "Stay" }).click();
  await positionIs(page, 2);
  const second = await page.context().newPage();
  await openQueue(second, "leaving");
  await positionIs(second, 2);
  await page.getByRole("button", { name: "Leave the line" }).click();
  await page.getByRole("button", { name: "Yes, leave" }).click();
  await page.getByRole("heading", { name: "You left the line" }).waitFor();
  await second.getByRole("heading", { name: "You left the line" }).waitFor();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("You left the line");
  expect((await server.ask("GET", "/events/leaving")).body.waiting).toBe(1);
  await page.reload();
  await page.getByRole("heading", { name: "You left the line" }).waitFor();
  await page.getByRole("button", { name: "Join again" }).click();
  await positionIs(page, 2);
  expect(complaints).toEqual([]);
  await close();
});

test("visitor whom the organiser removes is told so, and may not join once excluded", async () => {
  await eventWithOneInside("removal", 0);
  const { page, close } = await visit(browser, PHONE);
  await openQueue(page, "removal");
  await positionIs(page, 1);
  const user = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).user as string);
  await server.organise("POST", `/events/removal/visitors/${user}/remove`, {
    by: "Kim",
    why: "a bot",
    ban: true,
  });
  await page.getByRole("heading", { name: "The organiser has removed you" }).waitFor();
  await page.getByRole("button", { name: "Join again" }).click();
  await page.getByText("You cannot take part in this event.").waitFor();
  expect(await violations(page)).toEqual([]);
  await close();
});

for (const [how, said] of [
  ["payment_failed", "Your payment failed"],
  ["struck_by_lightning", "You are not in the line any more"],
] as const) {
  test(`end that this browser remembers as ${how} is shown, also after a reload`, async () => {
    const event = `remembered-${how.replaceAll("_", "-")}`;
    await eventWithOneInside(event);
    const { page, complaints, close } = await visit(browser);
    await page.goto(`${server.url}/`);
    await page.evaluate(
      ([event, ended]) => localStorage.setItem(`onrush.queue.${event}`, JSON.stringify({ ended })),
      [event, how] as const,
    );
    await openQueue(page, event);
    await page.getByRole("heading", { name: said }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: said }).waitFor();
    await page.getByRole("button", { name: "Join again" }).click();
    await positionIs(page, 1);
    expect(complaints).toEqual([]);
    await close();
  });
}

test("who comes early is let in by itself when the waiting room opens, and the sale follows", async () => {
  const settings = { room: { capacity: 1, order: "draw" }, opens_at: Date.now() + 3_600_000 };
  await openEvent(server, "early", { pools: GA, settings, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "early");
  await page.getByRole("heading", { name: "The waiting room is not open yet" }).waitFor();
  await server.organise("POST", "/events/early/prequeue");
  await page.getByRole("heading", { name: "You are in the waiting room" }).waitFor();
  await page.getByText("1 person is here: you.").waitFor();
  await page.getByText("the order is drawn by lot").waitFor();
  await server.organise("POST", "/events/early/prequeue/close");
  await server.organise("POST", "/events/early/open");
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  await server.organise("POST", "/events/early/close");
  await page.getByRole("heading", { name: "The sale is over" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("full waiting room says so and takes the visitor in as soon as there is room", async () => {
  const [, ahead] = await eventWithOneInside("full", 1, { max_queue_size: 1 });
  const { page, complaints, close } = await visit(browser);
  await openQueue(page, "full");
  await page.getByRole("heading", { name: "The waiting room is full" }).waitFor();
  await leave("full", ahead!);
  await page.getByRole("button", { name: "Try again" }).click();
  await positionIs(page, 1);
  expect(complaints).toEqual([]);
  await close();
});

test("lost answer to joining makes no second place", async () => {
  await eventWithOneInside("lost", 0, { places_per_user: 3 });
  const { page, complaints, close } = await visit(browser);
  let lost = 0;
  await page.route("**/events/lost/queue", async (route) => {
    if (route.request().method() !== "POST" || lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  await openQueue(page, "lost");
  await positionIs(page, 1);
  expect(lost).toBe(1);
  expect((await server.ask("GET", "/events/lost")).body.waiting).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("answer to joining that comes after the turn does not turn it back", async () => {
  await openEvent(server, "overtaken", { pools: GA, settings: { room: { capacity: 1 } } });
  const { page, close } = await visit(browser);
  await page.route("**/events/overtaken/queue", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const answer = await route.fetch();
    await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
    await route.fulfill({ response: answer });
  });
  const answered = page.waitForResponse(
    (response) => response.request().method() === "POST" && response.url().endsWith("/queue"),
  );
  await openQueue(page, "overtaken");
  await (await answered).finished();
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(await page.getByTestId("position").count()).toBe(0);
  await close();
});

test("event without a waiting room leads straight to the tickets", async () => {
  await openEvent(server, "roomless", { pools: GA, settings: { room: null } });
  const { page, close } = await visit(browser);
  await openQueue(page, "roomless");
  await page.waitForURL(`${server.url}/events/roomless/choose`);
  await close();
});

/** What a page is made to note down while it is tested. */
interface Probe {
  tones: number;
  notices: string[];
  asked: number;
  isHidden?: boolean;
  Notification: object;
}

test("sound and notification are off until they are asked for", async () => {
  const [inside] = await eventWithOneInside("alerts");
  const { page, complaints, close } = await visit(browser);
  await page.addInitScript(() => {
    const state = window as unknown as Probe;
    state.tones = 0;
    state.notices = [];
    state.asked = 0;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is given its node below
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...args) {
      state.tones += 1;
      return start.apply(this, args);
    };
    state.Notification = class {
      static permission = "default";
      static requestPermission() {
        state.asked += 1;
        this.permission = "granted";
        return Promise.resolve();
      }
      constructor(title: string) {
        state.notices.push(title);
      }
      close() {}
    };
    Object.defineProperty(document, "hidden", { get: () => state.isHidden ?? false });
  });
  const seen = () =>
    page.evaluate(() => {
      const { tones, notices, asked } = window as unknown as Probe;
      return { tones, notices, asked };
    });
  await openQueue(page, "alerts");
  await positionIs(page, 1);
  expect(await seen()).toEqual({ tones: 0, notices: [], asked: 0 });
  await page.getByRole("button", { name: "Sound" }).click();
  await page.getByRole("button", { name: "Sound is on", pressed: true }).waitFor();
  await page.getByRole("button", { name: "Notification" }).click();
  await page.getByRole("button", { name: "Notification is on" }).waitFor();
  const before = await seen();
  expect(before.asked).toBe(1);
  await page.evaluate(() => ((window as unknown as Probe).isHidden = true));
  await leave("alerts", inside!);
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  const after = await seen();
  expect(after.tones).toBeGreaterThan(before.tones);
  expect(after.notices.at(-1)).toBe("It is your turn!");
  expect(complaints).toEqual([]);
  await close();
});

test("waiting room is usable after 100 KB", async () => {
  await eventWithOneInside("light", 1);
  const { page, close } = await visit(browser);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", (loaded) => (bytes += loaded.encodedDataLength));
  await openQueue(page, "light");
  await positionIs(page, 2);
  await page.getByText("Live", { exact: true }).waitFor();
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(100_000);
  await close();
});

test("waiting room has no violations in any of its states", async () => {
  const [inside, ahead] = await eventWithOneInside("axe", 1);
  const light = await visit(browser, { ...PHONE, colorScheme: "light" });
  await openQueue(light.page, "axe");
  await light.page.getByTestId("position").waitFor();
  expect(await violations(light.page)).toEqual([]);
  await light.page.getByRole("button", { name: "Leave the line" }).click();
  await light.page.getByRole("button", { name: "Yes, leave" }).click();
  await light.page.getByRole("heading", { name: "You left the line" }).waitFor();
  expect(await violations(light.page)).toEqual([]);
  await light.close();

  const dark = await visit(browser, { ...PHONE, colorScheme: "dark" });
  await openQueue(dark.page, "axe");
  await dark.page.getByRole("button", { name: "Leave the line" }).click();
  expect(await violations(dark.page)).toEqual([]);
  await dark.page.getByRole("button", { name: "Stay" }).click();
  await leave("axe", inside!);
  await leave("axe", ahead!);
  await dark.page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(await violations(dark.page)).toEqual([]);
  await dark.close();
});
