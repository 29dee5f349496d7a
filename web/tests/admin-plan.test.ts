import { readFileSync } from "node:fs";
import path from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { planOf, seatsOf } from "../src/admin/plan/model/file";
import { aislesOf } from "../src/admin/plan/model/arrange";
import { ranksOf } from "../src/admin/plan/model/best";
import { type Plan, placesOf, type Point } from "../src/admin/plan/model/document";
import { signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { addRows, give, open, saved } from "./plan-pages";
import { REFUSED, TAKEN } from "./refused-plans";
import { ADMIN_KEY, openEvent, Server, smallPlan } from "./server";
import { oddAndEven } from "./units/plans";

const THEATRE = path.resolve(import.meta.dirname, "../../examples/theatre.json");

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

function parts(page: Page): Locator {
  return page.getByRole("listbox", { name: "Sections and rows" });
}

/** After which of its seats a plan has aisles on the server: those of the editor, and its end. */
function aislesThere(plan: Plan): Set<number> {
  return aislesOf(plan).add(placesOf(plan).at(-1)!.key);
}

/** The seats of an event as the feed tells them: with rank and aisle. */
async function added(event: string): Promise<{ seat: string; rank?: number; aisle?: boolean }[]> {
  const { body } = await server.ask("GET", `/admin/feed?event=${event}&limit=100`, { token: ADMIN_KEY });
  const changes = body.entries.flatMap((entry: { changes: object[] }) => entry.changes);
  return changes.find((change: object) => "seats_added" in change).seats_added.seats;
}

test("a theatre is built, numbered, previewed and sent, and its best seats are held", async () => {
  await openEvent(server, "house", { settings: { room: null, single_seats: "allow" }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await signIn(page, server, "/admin/events/house/edit");
  await page.getByRole("link", { name: "Draw the plan here" }).click();
  const drawing = page.getByRole("application", { name: "Drawing of the plan" });
  await drawing.waitFor();

  const curve = { Shape: "curved", Rows: 5, "Seats in the first row": 8, "Radius of the first row": 250 };
  const middle = { "Middle of the curve, from the left": 500, "Middle of the curve, from the top": 50 };
  await addRows(page, { Section: "Left", ...curve, ...middle, "Angle in degrees": -28 });
  await addRows(page, { Section: "Right", "Angle in degrees": 28 });
  await page.getByText("80 seats", { exact: false }).first().waitFor();
  await page.getByText("40 seats chosen").waitFor();

  // By keyboard: the rows of a section from the back, and its seats from the middle.
  await parts(page).focus();
  await page.keyboard.press("Home");
  await page.getByText("40 seats chosen").waitFor();
  const rows = page.getByRole("form", { name: "Name the rows" });
  await rows.getByLabel("First letter (1 is A)").fill("3");
  await rows.getByRole("button").press("Enter");
  const numbers = page.getByRole("form", { name: "Number the seats" });
  await numbers.getByLabel("Beginning").selectOption("right");
  await numbers.getByRole("button").press("Enter");
  await page.getByRole("option", { name: "Row G: 8 seats" }).waitFor();

  // Two categories, the front rows in the better one.
  await page.getByLabel("New category").fill("Front");
  await page.getByRole("button", { name: "Add category" }).click();
  await page.getByRole("button", { name: "Move Front up" }).click();
  await page.getByRole("option", { name: "Row C: 8 seats" }).first().click();
  await page.getByRole("option", { name: "Row A: 8 seats" }).click({ modifiers: ["Control"] });
  await page.getByText("16 seats chosen").waitFor();
  const chosen = page.getByRole("region", { name: "What is chosen" });
  await chosen.getByLabel("Category").selectOption("Front");

  // An aisle in the middle of one row, which a reader of the lists hears of as well.
  await page.getByRole("option", { name: "Row A: 8 seats" }).click();
  const seats = page.getByRole("listbox", { name: "Seats of the row" });
  await seats.focus();
  for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await page.getByText("1 seat chosen").waitFor();
  await chosen.getByRole("button", { name: "Aisle after these seats" }).click();
  await seats.focus();
  await page.keyboard.press("Home");
  await chosen.getByRole("checkbox", { name: "Wheelchair place" }).check();
  await seats.focus();
  await page.keyboard.press("ArrowRight");
  await chosen.getByRole("button", { name: "Keep for the nearest wheelchair place" }).click();
  expect(await violations(page)).toEqual([]);

  // Something too much is undone, and undone once too often.
  const before = await saved(page);
  await drawing.focus();
  await page.keyboard.press("Control+a");
  await page.getByText("80 seats chosen").waitFor();
  await page.keyboard.press("Delete");
  await page.getByText("There are no seats yet.").waitFor();
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+Shift+Z");
  expect(await saved(page)).toEqual(before);

  await page.getByText("Stage, texts and areas").click();
  await page.getByRole("button", { name: "Add to the drawing" }).click();
  await page.getByRole("option", { name: "Stage", exact: true }).waitFor();
  await page.getByText("Nothing is wrong with this plan.").waitFor();

  await page.getByLabel("Price of Front in EUR").fill("80");
  await page.getByLabel("Price of Category 1 in EUR").fill("45.5");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("img", { name: "Preview" }).waitFor();
  await page.getByLabel("Colour the seats").selectOption("rank");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Preview" }).click();

  const plan = planOf(await saved(page));
  await page.getByRole("button", { name: "Add 80 seats to the event" }).click();
  await page.getByText("80 seats were added to the event.").waitFor();
  expect(complaints).toEqual([]);
  await close();

  // The server's seats, ranks and aisles are those of the preview.
  const there = await added("house");
  const ranks = ranksOf(plan);
  const aisles = aislesThere(plan);
  expect(there.map(({ seat, rank, aisle }) => [seat, rank ?? 0, aisle ?? false])).toEqual(
    placesOf(plan).map(({ key, seat }) => [seat.seat_guid, ranks.get(key), aisles.has(key)]),
  );
  const map = (await server.ask("GET", "/events/house/seats")).body;
  const drawn = seatsOf(plan).map(({ id, x, y, row, number, section }) => [id, x, y, row, number, section]);
  expect(
    map.seats.map((it: Record<string, unknown>) => [
      it["id"],
      it["x"],
      it["y"],
      it["row"],
      it["number"],
      it["section"],
    ]),
  ).toEqual(drawn);

  await server.organise("POST", "/events/house/open");
  const token = await server.visitor();
  const wish = { best: { quantity: 3, categories: ["Front"], sections: ["Right"] } };
  const held = await server.ask("POST", "/events/house/bookings", { token, key: "k", body: wish });
  expect(held.status).toBe(201);
  const best: string[] = held.body.lines.seats;
  // The aisle is after the fourth seat, and the first two are kept for somebody.
  expect([...best].sort()).toEqual(["Right-A-5", "Right-A-6", "Right-A-7"]);
  expect(held.body.amount_minor).toBe(24_000);
  const companion = await server.ask("POST", "/events/house/bookings", {
    token: await server.visitor(),
    key: "k",
    body: { seats: ["Right-A-2"] },
  });
  expect(companion.body.code).toBe("COMPANION_ALONE");
});

test("rows that are listed by number have the same aisles on the server as in the editor", async () => {
  const bent = oddAndEven(20, 0).map(({ x }) => ({ x: 9 * Math.sin(x / 9), y: 9 * Math.cos(x / 9) }));
  const row = (back: number, places: Point[], first = 1, step = 1) => ({
    row_number: String(back),
    position: { x: 500, y: 70 + 30 * back },
    seats: places.map(({ x, y }, nth) => ({
      seat_guid: `${back}-${first + step * nth}`,
      seat_number: String(first + step * nth),
      position: { x: 25 * x, y: 25 * y },
      category: "Stalls",
    })),
  });
  const [odd, even] = [1, 0].map((rest) => oddAndEven(20, 0).filter((_, nth) => (nth + 1) % 2 === rest));
  const rows = [
    row(1, oddAndEven(20, 0)),
    row(2, oddAndEven(20, 3)),
    row(3, bent),
    // One row in two objects: of those that follow each other, only 19 and 2 are not side by side.
    row(4, odd!, 1, 2),
    row(4, even!, 2, 2),
  ];
  const file = { ...(smallPlan(1, 1) as object), zones: [{ name: "Stalls", rows }] };
  const wish = { plan: file, prices: { Stalls: 500 }, phase: "scheduled" } as const;
  await openEvent(server, "by-number", { settings: { room: null }, ...wish });
  const plan = planOf(file);
  const aisles = aislesThere(plan);
  // Only 1 and 2 are beside each other, and not even they where an aisle is in the middle.
  expect(aisles.size).toBe(18 + 19 + 18 + 1 + 1);
  const there = await added("by-number");
  expect(there.map(({ seat, aisle }) => [seat, aisle ?? false])).toEqual(
    placesOf(plan).map(({ key, seat }) => [seat.seat_guid, aisles.has(key)]),
  );
});

test("a plan in a file is the same after it was opened and saved, and is changed by mouse", async () => {
  await openEvent(server, "file", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "file");
  await page.getByLabel("Open a file").setInputFiles(THEATRE);
  await page.getByText("A plan of 588 seats was opened.").waitFor();
  const original = JSON.parse(readFileSync(THEATRE, "utf8"));
  expect(await saved(page)).toEqual(original);

  const drawing = page.getByRole("application", { name: "Drawing of the plan" });
  await drawing.scrollIntoViewIfNeeded();
  const box = (await drawing.boundingBox())!;
  const at = (x: number, y: number) => [box.x + box.width * x, box.y + box.height * y] as const;
  // A frame around the whole drawing has all of it.
  await page.mouse.move(...at(0.02, 0.02));
  await page.mouse.down();
  await page.mouse.move(...at(0.5, 0.5));
  await page.mouse.move(...at(0.9, 0.99));
  await page.mouse.up();
  await page.getByText("588 seats chosen").waitFor();
  // A click on empty paper chooses nothing.
  await page.mouse.click(...at(0.03, 0.03));
  await page.getByText("0 seats chosen").waitFor();

  // One row is moved by the keys, and comes back by the button.
  await page.getByRole("option", { name: "Row A: 16 seats" }).first().click();
  await drawing.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  const changed = planOf(await saved(page));
  const moved = placesOf(changed).filter((place, nth) => {
    const was = placesOf(planOf(original))[nth]!;
    return Math.abs(place.x - was.x - 25) < 0.02 && Math.abs(place.y - was.y - 5) < 0.02;
  });
  expect(moved).toHaveLength(16);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  expect(await saved(page)).toEqual(original);
  expect(complaints).toEqual([]);
  await close();
});

test("a drag moves what is chosen, a double click chooses a row, and a reload loses nothing", async () => {
  await openEvent(server, "drag", { settings: { room: null }, phase: "scheduled" });
  const { page, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "drag");
  await give(page, JSON.stringify(smallPlan(1, 3)));
  await page.getByText("A plan of 3 seats was opened.").waitFor();
  const drawing = page.getByRole("application", { name: "Drawing of the plan" });
  await drawing.scrollIntoViewIfNeeded();
  const box = (await drawing.boundingBox())!;
  // Three seats in one row, 25 apart, in a plan of 100 by 60: its middle is at 50, 30.
  const scale = await page.evaluate(() => {
    const canvas = document.querySelector("canvas")!;
    return Math.min(canvas.clientWidth / (100 + 62.5), canvas.clientHeight / (60 + 62.5), 40 / 25);
  });
  const spot = (x: number, y: number) =>
    [box.x + box.width / 2 + (x - 50) * scale, box.y + box.height / 2 + (y - 30) * scale] as const;
  await page.mouse.click(...spot(0, 0));
  await page.getByText("1 seat chosen").waitFor();
  await page.mouse.move(...spot(0, 0));
  await page.mouse.down();
  await page.mouse.move(...spot(4, 10));
  await page.mouse.move(...spot(4, 20));
  await page.mouse.up();
  await page.getByRole("button", { name: "Undo" }).waitFor();
  const xy = async () => placesOf(planOf(await saved(page))).map(({ x, y }) => [x, y]);
  expect(await xy()).toEqual([
    [4, 20],
    [25, 0],
    [50, 0],
  ]);
  await page.mouse.dblclick(...spot(25, 0));
  await page.getByText("3 seats chosen").waitFor();
  await page.mouse.click(...spot(25, 0), {});
  await page.getByText("1 seat chosen").waitFor();
  await page.keyboard.down("Shift");
  await page.mouse.click(...spot(50, 0));
  await page.keyboard.up("Shift");
  await page.getByText("2 seats chosen").waitFor();

  await page.getByLabel("Price of Stalls in EUR").fill("12");
  await page.reload();
  await page.getByText("This is your draft of last time.", { exact: false }).waitFor();
  expect(await xy()).toEqual([
    [4, 20],
    [25, 0],
    [50, 0],
  ]);
  expect(await page.getByLabel("Price of Stalls in EUR").inputValue()).toBe("12");
  await close();
});

test("what cannot be used gets a sentence, and changes nothing", async () => {
  await openEvent(server, "bad", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "bad");
  await give(page, JSON.stringify(smallPlan(2, 4)));
  await page.getByText("A plan of 8 seats was opened.").waitFor();
  const before = await saved(page);

  await give(page, "{");
  await page.getByText("This file is not a seating plan.", { exact: false }).waitFor();
  await give(page, JSON.stringify({ ...before, zones: [{ rows: [{ seats: [{ seat_guid: 1 }] }] }] }));
  await page.getByText("zones[0].rows[0].seats[0].seat_guid", { exact: false }).waitFor();
  const seat = (id: string) => ({ seat_guid: id, category: "Stalls" });
  const house = (seats: unknown[]) => JSON.stringify({ ...before, zones: [{ rows: [{ seats }] }] });
  await give(page, house([seat("A-1"), seat("A-2"), seat("A-1")]));
  await page.getByText("Several seats of this file have the id A-1.", { exact: false }).waitFor();
  await give(page, house(Array.from({ length: 250_001 }, (_, nth) => seat(String(nth)))));
  await page
    .getByText("This file has 250,001 seats; a plan has at most 250,000.", { exact: false })
    .waitFor();
  await addRows(page, { Rows: 500, "Seats in the first row": 1_000 });
  await page.getByText("These would be 500,000 seats more", { exact: false }).waitFor();
  await page.getByLabel("New category").fill("Stalls");
  await page.getByRole("button", { name: "Add category" }).click();
  await page.getByText("There is a category “Stalls” already.").waitFor();
  // A rank that is none does not stay in its field as if it were kept.
  await page.getByRole("option", { name: "Row A: 4 seats" }).click();
  const rank = page.getByRole("spinbutton", { name: "Rank" });
  for (const wrong of ["2.5", "1000001", "-1", "1e"]) {
    await rank.focus();
    await page.keyboard.type(wrong);
    await page.keyboard.press("Tab");
    await page.getByText("a rank is a whole number from 0 to 1,000,000.", { exact: false }).waitFor();
    expect(await rank.inputValue()).toBe("");
    expect(await rank.evaluate((field: HTMLInputElement) => field.validity.badInput)).toBe(false);
    await page.getByRole("option", { name: "Row B: 4 seats" }).click();
    await page.getByText("a rank is a whole number", { exact: false }).waitFor({ state: "detached" });
  }
  expect(await saved(page)).toEqual(before);
  expect(await violations(page)).toEqual([]);

  // What can be mended is opened, and said: nothing is sent before.
  const twice = (number: string, id: string) => ({
    ...seat(id),
    seat_number: number,
    position: { x: 9, y: 9 },
  });
  const rows = [{ row_number: "A", seats: [twice("1", "A-1"), twice("1", "A 2")] }];
  await give(page, JSON.stringify({ ...before, zones: [{ name: "Floor", rows }] }));
  await page.getByText("Seats have the same section, row and number: 2, such as Floor A 1.").waitFor();
  await page.getByText("Seats are on top of each other: 2", { exact: false }).waitFor();
  await page.getByText("Ids have signs other than", { exact: false }).waitFor();
  expect(await page.getByRole("button", { name: "Add 2 seats to the event" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Choose these: Seats have the same section" }).click();
  await page.getByText("2 seats chosen").waitFor();
  const numbers = page.getByRole("form", { name: "Number the seats" });
  await numbers.getByRole("button").click();
  await page.getByText("Seats are on top of each other: 2", { exact: false }).waitFor();
  expect(await page.getByText("Ids have signs other than", { exact: false }).count()).toBe(0);

  // What the server refuses stands where it is sent, and leads to the seat.
  await page.getByLabel("Price of Stalls in EUR").fill("10");
  await page.getByRole("button", { name: "Add 2 seats to the event" }).click();
  await page.getByText("2 seats were added to the event.").waitFor();
  await page.getByRole("button", { name: "Add 2 seats to the event" }).click();
  await page.getByText("Some of these seats are there already.").waitFor();
  await page.getByRole("button", { name: "Choose seat", exact: false }).click();
  await page.getByText("1 seat chosen").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("a plan that was numbered anew is asked about before its seats are on sale twice", async () => {
  const plan = smallPlan(1, 2);
  const settings = { room: null };
  await openEvent(server, "twice", { settings, plan, prices: { Stalls: 500 }, phase: "scheduled" });
  const { page, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "twice");
  await give(page, JSON.stringify(plan).replaceAll('"seat_guid":"', '"seat_guid":"new-'));
  await page.getByText("A plan of 2 seats was opened.").waitFor();
  const add = page.getByRole("button", { name: "Add 2 seats to the event" });
  await add.click();
  const meant = page.getByLabel("2 seats stand where others with other ids are on sale already.");
  await meant.waitFor();
  expect((await server.ask("GET", "/events/twice/seats")).body.seats).toHaveLength(2);
  await meant.check();
  await add.click();
  await page.getByText("2 seats were added to the event.").waitFor();
  expect((await server.ask("GET", "/events/twice/seats")).body.seats).toHaveLength(4);
  await close();
});

test("a file that was numbered anew is asked about before its seats are on sale twice, too", async () => {
  const plan = smallPlan(1, 2);
  const settings = { room: null };
  await openEvent(server, "anew", { settings, plan, prices: { Stalls: 500 }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await signIn(page, server, "/admin/events/anew/edit");
  const choose = (ids: string) => {
    const text = JSON.stringify(plan).replaceAll('"seat_guid":"', `"seat_guid":"${ids}-`);
    const file = { name: `${ids}.json`, mimeType: "application/json", buffer: Buffer.from(text) };
    return page.getByLabel("Seating plan").setInputFiles(file);
  };
  let sent = 0;
  page.on("request", (request) => (sent += Number(request.method() === "PUT")));
  const add = page.getByRole("button", { name: "Import 2 seats" });
  const meant = page.getByLabel("2 seats stand where others with other ids are on sale already.");
  await choose("new");
  await page.getByLabel("Price of Stalls in EUR", { exact: true }).fill("5");
  await add.click();
  await meant.check();
  expect(await violations(page)).toEqual([]);

  // What was said of one file is not said of another.
  await choose("newer");
  await meant.waitFor({ state: "detached" });
  await add.click();
  await meant.waitFor();
  expect(await meant.isChecked()).toBe(false);
  expect(sent).toBe(0);
  await meant.check();
  await add.click();
  await page.getByText("2 seats were imported.").waitFor();
  expect(sent).toBe(1);
  const there = async () => (await server.ask("GET", "/events/anew/seats")).body.seats.length;
  await expect.poll(there).toBe(4);
  expect(complaints).toEqual([]);
  await close();
});

test("the server refuses what the editor calls a mistake, and takes what it does not", async () => {
  await openEvent(server, "refused", { settings: { room: null }, phase: "scheduled" });
  const send = (event: string, plan: unknown) =>
    server.ask("PUT", `/admin/events/${event}/seat-map`, {
      token: ADMIN_KEY,
      body: { plan, prices: { One: 500 } },
    });
  for (const { what, plan, why } of REFUSED) {
    const { status, body } = await send("refused", plan);
    expect([400, 409, 413, 422], what).toContain(status);
    expect(JSON.stringify(body), what).toContain(why);
  }
  for (const [nth, [what, plan]] of TAKEN.entries()) {
    await openEvent(server, `taken-${nth}`, { settings: { room: null }, phase: "scheduled" });
    expect((await send(`taken-${nth}`, plan)).body, what).not.toHaveProperty("code");
  }
});

test("a wing is copied to the other side, and who removes seats by keyboard is led on", async () => {
  await openEvent(server, "wings", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "wings");
  await addRows(page, {
    Section: "Left",
    Rows: 2,
    "Seats in the first row": 4,
    "Middle of the first row, from the left": 150,
  });
  const other = page.getByRole("form", { name: "Another section" });
  await other.getByLabel("Its name").fill("Right");
  await other.getByRole("button", { name: "Copy them there, mirrored" }).press("Enter");
  await page.getByRole("option", { name: "Right: 8 seats" }).waitFor();
  const all = placesOf(planOf(await saved(page)));
  expect(all.slice(8, 12).map(({ x, seat }) => [1_000 - x, seat.seat_guid])).toEqual(
    [3, 2, 1, 0].map((nth) => [all[nth]!.x, `Right-A-${nth + 1}`]),
  );
  await page.getByRole("button", { name: "Remove", exact: true }).press("Enter");
  await page.getByText("8 seats · 0 seats chosen").waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("application");
  expect(complaints).toEqual([]);
  await close();
});

test("on a small phone in the dark it is no wider than the screen", async () => {
  await openEvent(server, "phone", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, {
    ...PHONE,
    viewport: { width: 360, height: 740 },
    colorScheme: "dark",
  });
  await open(page, server, "phone");
  await give(page, JSON.stringify(smallPlan(3, 8)));
  await page.getByText("A plan of 24 seats was opened.").waitFor();
  await page.getByRole("button", { name: "Choose all" }).click();
  await page.getByRole("option", { name: "Row B: 8 seats" }).click();
  for (const closed of ["Stage, texts and areas", "Name and size"]) await page.getByText(closed).click();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("a theatre of 2,000 seats stays fluent while it is moved", async () => {
  await openEvent(server, "large", { settings: { room: null }, phase: "scheduled" });
  const { page, close } = await visit(browser, { viewport: { width: 1280, height: 900 } });
  await open(page, server, "large");
  await addRows(page, {
    Shape: "curved",
    Rows: 40,
    "Seats in the first row": 50,
    "Radius of the first row": 400,
  });
  await page.getByText("2,000 seats chosen").waitFor();
  await page.getByRole("application", { name: "Drawing of the plan" }).focus();
  for (let press = 0; press < 20; press += 1) await page.keyboard.press("ArrowDown");
  const [first] = placesOf(planOf(await saved(page)));
  expect(first!.y).toBeGreaterThan(0);

  // The lists choose as much at once.
  await page.getByRole("button", { name: "Choose nothing" }).click();
  await page.getByText("seats · 0 seats chosen").waitFor();
  await page.evaluate(() => {
    const add = Reflect.get(Set.prototype, "add") as (value: unknown) => Set<unknown>;
    Set.prototype.add = function (value) {
      document.body.dataset.added = String(Number(document.body.dataset.added ?? 0) + 1);
      return add.call(this, value);
    };
  });
  await parts(page).focus();
  await page.keyboard.press("Control+a");
  await page.getByText("2,000 seats chosen").waitFor();
  // A few times for each seat, and not once more for each of 40 rows.
  expect(await page.evaluate(() => Number(document.body.dataset.added))).toBeLessThan(2_000 * 20);
  await page.getByRole("option", { name: "Row C: 50 seats" }).click();
  await page.getByText("seats · 50 seats chosen").waitFor();
  await page.getByRole("option", { name: "Row E: 50 seats" }).click({ modifiers: ["Shift"] });
  await page.getByText("150 seats chosen").waitFor();
  await close();
});
