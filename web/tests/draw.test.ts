import { createHash } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Draw, Place } from "../src/api/schema";
import type { NotedDraw } from "../src/buyer/queue/noted";
import { contentOf, launch, PHONE, violations, visit } from "./browser";
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

/** An event whose prequeue has `people` in it, by the API. */
async function prequeue(event: string, people: number): Promise<string[]> {
  await openEvent(server, event, {
    pools: [{ pool: "ga", capacity: 100, price_minor: 5_000 }],
    settings: { room: { capacity: 1, order: "draw" } },
    phase: "prequeue",
  });
  const tokens: string[] = [];
  for (let count = 0; count < people; count += 1) {
    const token = await server.visitor();
    await server.ask("POST", `/events/${event}/queue`, { token });
    tokens.push(token);
  }
  return tokens;
}

async function check(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Check the draw" }).click();
}

/** The order as the server serves it: whoever is in the room came first, the others by their positions. */
async function servedOrder(event: string, tokens: string[]): Promise<string[]> {
  const places = await Promise.all(
    tokens.map(async (token) => (await server.ask("GET", `/events/${event}/queue`, { token })).body as Place),
  );
  const rank = (place: Place) => (place.status === "queued" ? place.position! : 0);
  return places.sort((a, b) => rank(a) - rank(b)).map((place) => ("place" in place ? place.place : ""));
}

/** A place's lot by docs/design/waiting-room.md, computed by other means than the page's. */
function lotOf(seed: string, publicValue: string | undefined, place: string): bigint {
  const sha256 = (...parts: (Buffer | string)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
  const bytes = Buffer.from(seed, "hex");
  const key = publicValue === undefined ? bytes : sha256(bytes, publicValue);
  return sha256(key, place).readBigUInt64BE() >> 12n;
}

for (const publicValue of [undefined, "7 11 23 31 42 44 + 9 (Extra)"]) {
  const event = publicValue ? "lot-value" : "lot";
  test(`browser computes the server's order: ${publicValue ? "a" : "no"} public value`, async () => {
    const tokens = await prequeue(event, 40);
    const { page, complaints, close } = await visit(browser, PHONE);
    await page.goto(`${server.url}/events/${event}/queue`);
    await page.getByText("41 people are here, you among them.").waitFor();
    const mine = await page.evaluate(() => JSON.parse(localStorage.getItem("onrush.visitor")!).token);

    await page.getByRole("link", { name: "How the draw works, and how to check it" }).click();
    await page.getByText("The draw can be checked as soon as the sale has opened").waitFor();
    expect(await page.getByText("Not known yet").count()).toBe(4);

    await server.organise("POST", `/events/${event}/prequeue/close`);
    await server.organise("POST", `/events/${event}/open`, publicValue ? { public_value: publicValue } : {});
    await page.reload();
    await check(page);
    await page.getByText("The draw is as it was announced").waitFor();
    await page.getByText("The list has 41 places, as was announced.").waitFor();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download the order (CSV)" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`draw-${event}.csv`);
    const rows = (await contentOf(download)).toString().trim().split("\r\n");
    expect(rows[0]).toBe("rank,place,lot,joined");
    const { seed } = (await server.ask("GET", `/events/${event}/draw`)).body;
    for (const row of rows.slice(1)) {
      const [, place, lot] = row.split(",");
      expect(lot).toBe(String(lotOf(seed, publicValue, place!)));
    }
    const drawn = rows.slice(1).map((row) => row.split(",")[1]!);
    await expect
      .poll(() => servedOrder(event, [...tokens, mine]).then((order) => order.join()), { timeout: 20_000 })
      .toBe(drawn.join());

    const own = (await server.ask("GET", `/events/${event}/queue`, { token: mine })).body.place;
    const rank = drawn.indexOf(own) + 1;
    expect(await page.getByTestId("rank").textContent()).toBe(`Your place came out as number ${rank} of 41.`);
    const limit = publicValue ? "If it really could not be known before" : "could have known it in advance";
    await page.getByText(limit).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
}

test("promised value is read while people wait, and beside the value once the sale is open", async () => {
  const source = "the six numbers of the lottery of 5 December, ascending";
  await prequeue("promised", 3);
  await server.organise("PATCH", "/events/promised/room", { public_value_source: source });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/promised/draw`);
  await page.getByText(`nobody can know before: ${source}.`).waitFor();
  await page.getByText("Promised public value", { exact: true }).waitFor();
  await page.getByText(source, { exact: true }).waitFor();
  expect(await page.getByText("Not known yet").count()).toBe(4);
  await server.organise("POST", "/events/promised/prequeue/close");
  await server.organise("POST", "/events/promised/open", { public_value: "4 8 15 16 23 42" });
  await page.reload();
  await check(page);
  await page.getByText("The draw is as it was announced").waitFor();
  await page.getByText("Look up yourself whether it is the one that was promised.").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("spaces of a public value are shown as they are hashed", async () => {
  await prequeue("spaced", 1);
  const { page, close } = await visit(browser);
  await page.route("**/api/v1/events/spaced/draw", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, public_value: "4  8 15" } });
  });
  await page.goto(`${server.url}/events/spaced/draw`);
  const value = page.getByRole("definition").filter({ hasText: "4 8 15" }).getByRole("code");
  await value.waitFor();
  expect(await value.innerText()).toBe("4  8 15");
  await close();
});

test("list that was tampered with is found out", async () => {
  await prequeue("tampered", 5);
  await server.organise("POST", "/events/tampered/prequeue/close");
  await server.organise("POST", "/events/tampered/open");
  const { page, close } = await visit(browser);
  await page.route("**/draw/entrants", async (route) => {
    const list = await (await route.fetch()).text();
    const lines = list.trim().split("\n");
    await route.fulfill({
      contentType: "text/plain",
      body: `${[lines[1], lines[0], ...lines.slice(2)].join("\n")}\n`,
    });
  });
  await page.goto(`${server.url}/events/tampered/draw`);
  await check(page);
  await page.getByText("The draw is not as it was announced").waitFor();
  await page.getByText("The list does not have the fingerprint that was published.").waitFor();
  await page.getByText("The seed is the one whose fingerprint was published.").waitFor();
  await close();
});

test("fingerprint that was noted before and has changed is shown as changed", async () => {
  await prequeue("swapped", 3);
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/swapped/draw`);
  await page.getByText(/^Your browser noted this fingerprint on/).waitFor();
  await page.route("**/api/v1/events/swapped/draw", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, seed_hash: "0".repeat(64) } });
  });
  await page.reload();
  await page.getByText(/your browser noted another one: [0-9a-f]{64}\. Ask the organiser why\./).waitFor();
  await close();
});

/** What this browser noted of a draw. */
function notesOf(page: Page, event: string): Promise<NotedDraw> {
  return page.evaluate((name) => JSON.parse(localStorage.getItem(name) ?? "{}"), `onrush.draw.${event}`);
}

test("promise that was noted before and is another one, or gone, is shown as such", async () => {
  const source = "the lottery of 4 December";
  await prequeue("repromised", 1);
  const promise = (source: string | null) =>
    server.organise("PATCH", "/events/repromised/room", { public_value_source: source });
  await promise(source);
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/repromised/draw`);
  await page.getByText(/^Your browser noted this promise on/).waitFor();
  await promise("the lottery of 5 December");
  await page.reload();
  await page.getByText(/^On .* another public value was promised: the lottery of 4 December\. Ask/).waitFor();
  await promise(null);
  await page.reload();
  await page.getByText("None is promised").waitFor();
  await page.getByText(`a public value was promised that is not promised any more: ${source}. Ask`).waitFor();
  expect(await violations(page)).toEqual([]);
  // Back to what it was: this browser saw nothing else first.
  await promise(source);
  await page.reload();
  await page.getByText(source, { exact: true }).waitFor();
  expect(await page.getByText("Ask the organiser why").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("notes of a browser that noted no promises yet are read", async () => {
  await prequeue("old-notes", 1);
  await server.organise("PATCH", "/events/old-notes/room", { public_value_source: "the lottery" });
  const { seed_hash: hash } = (await server.ask("GET", "/events/old-notes/draw")).body;
  const { page, close } = await visit(browser);
  await page.goto(server.url);
  const old: NotedDraw = { seedHash: { hash, at: Date.now() - 3_600_000 } };
  await page.evaluate((text) => localStorage.setItem("onrush.draw.old-notes", text), JSON.stringify(old));
  await page.goto(`${server.url}/events/old-notes/draw`);
  await page.getByText(/^Your browser noted it on .*, and it is still the same\.$/).waitFor();
  await page.getByText(/^Your browser noted this promise on/).waitFor();
  expect(await notesOf(page, "old-notes")).toMatchObject({ ...old, source: { text: "the lottery" } });
  await close();
});

test("waiting page that is left open notes the list before the sale opens", async () => {
  const event = "left-open";
  await prequeue(event, 2);
  await server.organise("PATCH", `/events/${event}/room`, { public_value_source: "the lottery" });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.clock.install();
  await page.goto(`${server.url}/events/${event}/queue`);
  await page.getByText("3 people are here, you among them.").waitFor();
  await server.organise("PATCH", `/events/${event}`, { opens_at: Date.now() + 4_000 });
  const looked = page.waitForResponse(`**/events/${event}/draw`);
  await page.reload();
  await (await looked).finished();
  const drawNow = async () => (await server.ask("GET", `/events/${event}/draw`)).body as Draw;
  await expect.poll(async () => (await drawNow()).entrants_hash).toBeDefined();
  let asked = 0;
  page.on("request", (request) => (asked += Number(request.url().endsWith(`/api/v1/events/${event}`))));
  // Pages look within a minute from then.
  await page.clock.fastForward(60_000);
  const hash = async () => (await notesOf(page, event)).entrantsHash?.hash;
  await expect.poll(hash).toMatch(/^[0-9a-f]{64}$/);
  const draw = await drawNow();
  expect(await hash()).toBe(draw.entrants_hash);
  expect(draw.seed).toBeUndefined();
  await page.getByText("The list is fixed. The organiser opens the sale once").waitFor();
  expect(await page.getByText("The sale opens any moment now").count()).toBe(0);
  // The sale does not open at that time, so nobody looks whether it has.
  await page.clock.fastForward(15_000);
  await page.evaluate(() => fetch("/api/v1/events").then((answer) => answer.text()));
  expect(asked).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("waiting page that is hidden does not look at its draw, and looks once it is seen", async () => {
  await prequeue("unseen", 1);
  const { page, complaints, close } = await visit(browser);
  await page.clock.install();
  const looked = page.waitForResponse("**/events/unseen/draw");
  let looks = 0;
  page.on("request", (request) => (looks += Number(request.url().endsWith("/events/unseen/draw"))));
  await page.goto(`${server.url}/events/unseen/queue`);
  await (await looked).finished();
  await page.getByText("2 people are here, you among them.").waitFor();
  const show = (state: string) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  // What a page asks for as soon as this time is over, it asks for before the answer to this.
  const longPause = async () => {
    await page.clock.fastForward(310_000);
    await page.evaluate(() => fetch("/api/v1/events").then((answer) => answer.text()));
  };
  await show("hidden");
  await longPause();
  expect(looks).toBe(1);
  await server.organise("POST", "/events/unseen/prequeue/close");
  await show("visible");
  await page.clock.fastForward(5_000);
  await page.getByText("The list for the draw is fixed with 2 people").waitFor();
  expect(looks).toBe(2);
  await longPause();
  expect(looks).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

test("who waits for a promised draw is told when its list is fixed, not when the sale opens", async () => {
  const event = "told";
  const hour = 3_600_000;
  await openEvent(server, event, {
    settings: {
      prequeue_at: Date.now() + hour,
      opens_at: Date.now() + 2 * hour,
      room: { order: "draw", public_value_source: "the lottery" },
    },
    phase: "scheduled",
  });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/${event}/queue`);
  await page.getByText(/^The list for the draw is fixed on .* at the latest\. The organiser opens/).waitFor();
  await server.organise("POST", `/events/${event}/prequeue`);
  await page.getByText("The list for the draw is fixed, at the latest, in").waitFor();
  await page.getByText(/^On .*\. The organiser opens the sale after that/).waitFor();
  expect(await page.getByText(/^(Opens in|The sale)/).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("who joins after the list is fixed is told that they come after it", async () => {
  await prequeue("late", 2);
  await server.organise("POST", "/events/late/prequeue/close");
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/late/queue`);
  await page.getByText("3 people are here, you among them.").waitFor();
  await page.getByText("The list for the draw is fixed with 2 people; whoever joins now comes").waitFor();
  expect(await page.getByText("has the same chance").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("promised draw whose list is fixed before its time is not counted down to it", async () => {
  const event = "listed-early";
  await openEvent(server, event, {
    settings: {
      opens_at: Date.now() + 3_600_000,
      room: { order: "draw", public_value_source: "the lottery" },
    },
    phase: "prequeue",
  });
  await server.organise("POST", `/events/${event}/prequeue/close`);
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/${event}/queue`);
  await page.getByText("The list is fixed. The organiser opens the sale once").waitFor();
  expect(await page.getByRole("timer").count()).toBe(0);
  await close();
});

test.each([
  ["sale", { capacity: 1 }, "The sale opens any moment now."],
  ["draw", { order: "draw", public_value_source: "the lottery" }, "The list for the draw is being fixed."],
])("opening of a %s that was postponed while people wait is counted down to", async (kind, room, due) => {
  const event = `postponed-${kind}`;
  const isDraw = kind === "draw";
  await openEvent(server, event, {
    settings: { opens_at: Date.now() + 3_600_000, room },
    phase: "prequeue",
  });
  const { page, complaints, close } = await visit(browser);
  await page.clock.install();
  // What the page was told before it was postponed.
  let opensAt: number | undefined;
  await page.route(`**/api/v1/events/${event}`, async (route) => {
    const response = await route.fetch();
    const view = (await response.json()) as { at: number };
    opensAt ??= view.at + 60_000;
    await route.fulfill({ json: { ...view, opens_at: opensAt } });
  });
  let asked = 0;
  page.on("request", (request) => (asked += Number(request.url().endsWith(`/api/v1/events/${event}`))));
  // What has been answered has been taken in before the answer to this.
  const takenIn = () => page.evaluate(() => fetch("/api/v1/events").then((answer) => answer.text()));
  const looked = async (during: () => Promise<unknown>) => {
    const look = isDraw ? page.waitForResponse(`**/events/${event}/draw`) : undefined;
    await during();
    await (await look)?.finished();
    await takenIn();
  };
  await looked(() => page.goto(`${server.url}/events/${event}/queue`));
  await page.getByRole("timer").waitFor();
  await page.unroute(`**/api/v1/events/${event}`);
  await page.clock.fastForward(60_000);
  await page.getByText(due).waitFor();
  expect(await page.getByText(/^The list is fixed/).count()).toBe(0);
  const before = asked;
  if (isDraw) {
    // A list that is due is looked at within a minute, and may be late by as much.
    await looked(() => page.clock.fastForward(60_000));
    expect(asked).toBe(before);
  }
  await looked(() => page.clock.fastForward(60_000));
  await page.getByRole("timer").waitFor();
  expect(await page.getByText(due).count()).toBe(0);
  if (isDraw) expect(asked).toBe(before + 1);
  expect(complaints).toEqual([]);
  await close();
});

test("time at which the list was fixed is told", async () => {
  await prequeue("fixed-at", 1);
  await server.organise("POST", "/events/fixed-at/prequeue/close");
  const { page, close } = await visit(browser);
  await page.route("**/api/v1/events/fixed-at/draw", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, list_fixed_at: Date.UTC(2026, 11, 5, 18, 0) } });
  });
  await page.goto(`${server.url}/events/fixed-at/draw`);
  await page.getByText(/^Fixed on Dec 5, 2026, 6:00\sPM$/).waitFor();
  await close();
});

/** A draw that was promised a value and opened with one, before a visitor who saw the promise. */
async function promisedAndOpened(event: string) {
  await prequeue(event, 3);
  await server.organise("PATCH", `/events/${event}/room`, { public_value_source: "the lottery" });
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/${event}/draw`);
  await page.getByText(/^Your browser noted this promise on/).waitFor();
  await server.organise("POST", `/events/${event}/prequeue/close`);
  await server.organise("POST", `/events/${event}/open`, { public_value: "4 8 15" });
  /** What the server would answer if it told this instead. */
  const tell = async (instead: Partial<Draw>) => {
    await page.unroute(`**/api/v1/events/${event}/draw`);
    await page.route(`**/api/v1/events/${event}/draw`, async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, ...instead } });
    });
    await page.reload();
    await check(page);
  };
  return { page, close, tell };
}

test("promised draw that was opened without a value is not as it was announced", async () => {
  const { page, close, tell } = await promisedAndOpened("broken");
  await tell({});
  await page.getByText("The draw is as it was announced").waitFor();
  await page.getByText("A public value was promised, and one was mixed in.").waitFor();
  await tell({ public_value: undefined });
  await page.getByText("The draw is not as it was announced").waitFor();
  await page.getByText("A public value was promised, but none was mixed in.").waitFor();
  await page.getByText("The list is the one whose fingerprint was published.").waitFor();
  await close();
});

test("draw whose promise is not the one that was noted, or gone, is not as it was announced", async () => {
  const { page, close, tell } = await promisedAndOpened("exchanged");
  for (const public_value_source of ["another lottery", undefined]) {
    await tell({ public_value_source });
    await page.getByText("The draw is not as it was announced").waitFor();
    await page.getByText("What was promised is not what your browser noted earlier.").waitFor();
    await page.getByText("The seed is the one whose fingerprint was published.").waitFor();
  }
  expect(await page.getByText("A public value was promised, and").count()).toBe(0);
  await close();
});

test("seed whose fingerprint was swapped, and a place behind its rank, are found out", async () => {
  await prequeue("reseeded", 3);
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/reseeded/queue`);
  await page.getByText("4 people are here, you among them.").waitFor();
  await page.getByRole("link", { name: "How the draw works, and how to check it" }).click();
  await page.getByText(/^Your browser noted/).waitFor();
  await server.organise("POST", "/events/reseeded/prequeue/close");
  await server.organise("POST", "/events/reseeded/open");
  // Another seed, with the fingerprint that it has: the list and the count are as they were.
  const seed = "5e".repeat(32);
  const seedHash = createHash("sha256").update(Buffer.from(seed, "hex")).digest("hex");
  await page.route("**/api/v1/events/reseeded/draw", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, seed, seed_hash: seedHash } });
  });
  await page.reload();
  await check(page);
  await page.getByText("The draw is not as it was announced").waitFor();
  await page.getByText("The seed does not have the fingerprint that was published.").waitFor();
  await page.getByText("The list is the one whose fingerprint was published.").waitFor();

  await page.unroute("**/api/v1/events/reseeded/draw");
  await page.route("**/api/v1/events/reseeded/queue", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, status: "queued", position: 9, total: 9 } });
  });
  await page.reload();
  await check(page);
  await page.getByText("The draw is not as it was announced").waitFor();
  await page
    .getByText("Yet your position is 9, behind people who were drawn after you.", { exact: false })
    .waitFor();
  await page.getByText("The seed is the one whose fingerprint was published.").waitFor();
  await close();
});

interface Beating {
  beats: number;
}

test("hundred thousand lots are computed while the page stays alive", async () => {
  await prequeue("many", 1);
  await server.organise("POST", "/events/many/prequeue/close");
  await server.organise("POST", "/events/many/open");
  const { page, close } = await visit(browser);
  const digits = (index: number) => index.toString(16).padStart(32, "0");
  const list = Array.from({ length: 100_000 }, (_, index) => `${digits(index * 7_919)}\n`).join("");
  await page.route("**/draw/entrants", (route) => route.fulfill({ contentType: "text/plain", body: list }));
  await page.goto(`${server.url}/events/many/draw`);
  const check = page.getByRole("button", { name: "Check the draw" });
  await check.waitFor();
  await page.evaluate(() => {
    const state = window as unknown as Beating;
    state.beats = 0;
    const beat = () => {
      state.beats += 1;
      setTimeout(beat, 10);
    };
    beat();
  });
  const beats = () => page.evaluate(() => (window as unknown as Beating).beats);
  const before = await beats();
  await check.click();
  await page.getByText("The list has 100,000 places, which is not what was announced.").waitFor();
  // A page that computes all lots in one go has no time for anything else until it is done.
  expect((await beats()) - before).toBeGreaterThan(10);
  await close();
});

test("event that is served in turn says that it has no draw", async () => {
  await openEvent(server, "fifo", { pools: [{ pool: "ga", capacity: 1, price_minor: 1 }] });
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/fifo/draw`);
  await page.getByText("This event has no draw").waitFor();
  await close();
});
