/** The drawing of a plan under fingers, as on a tablet. */
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { placesOf } from "../src/admin/plan/model/document";
import { drawnAreas, planOf, seatsOf } from "../src/admin/plan/model/file";
import { sceneOf } from "../src/admin/plan/scene";
import { House } from "../src/lib/seatmap/house";
import { fit } from "../src/lib/seatmap/view";
import { signIn } from "./admin";
import { contentOf, launch, violations, visit, type Visit } from "./browser";
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

interface Spot {
  x: number;
  y: number;
}

/** Fingers on the screen, each with a number. */
class Fingers {
  readonly #session: CDPSession;
  readonly #down = new Map<number, Spot>();

  private constructor(session: CDPSession) {
    this.#session = session;
  }

  static async on(page: Page): Promise<Fingers> {
    return new Fingers(await page.context().newCDPSession(page));
  }

  async #send(type: "touchStart" | "touchMove" | "touchEnd" | "touchCancel", fingers: Iterable<number>) {
    const touchPoints = [...fingers].map((id) => ({ id, ...this.#down.get(id)! }));
    await this.#session.send("Input.dispatchTouchEvent", { type, touchPoints });
  }

  async put(finger: number, spot: Spot): Promise<void> {
    this.#down.set(finger, spot);
    await this.#send("touchStart", this.#down.keys());
  }

  async move(to: Record<number, Spot>): Promise<void> {
    for (const [finger, spot] of Object.entries(to)) this.#down.set(Number(finger), spot);
    await this.#send("touchMove", this.#down.keys());
  }

  async lift(finger: number): Promise<void> {
    await this.#send("touchEnd", [finger]);
    this.#down.delete(finger);
  }

  /** The browser takes all of them, as for a gesture of its own. */
  async cancel(): Promise<void> {
    this.#down.clear();
    await this.#send("touchCancel", []);
  }

  async tap(spot: Spot): Promise<void> {
    await this.put(1, spot);
    await this.lift(1);
  }

  async drag(from: Spot, to: Spot): Promise<void> {
    await this.put(1, from);
    await this.move({ 1: { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } });
    await this.move({ 1: to });
    await this.lift(1);
  }
}

interface Table extends Visit {
  fingers: Fingers;
  /** Where a point of the plan is on the screen while all of the plan is shown. */
  spot: (x: number, y: number) => Spot;
}

/**
 * Four rows of 30 seats on a tablet so high that nothing scrolls. A-1 is at 0, 0, its neighbour at
 * 25, 0, and the row behind at 0, 30.
 */
async function tablet(event: string): Promise<Table> {
  await openEvent(server, event, { settings: { room: null }, phase: "scheduled" });
  const there = await visit(browser, { viewport: { width: 1024, height: 1366 }, hasTouch: true });
  const { page } = there;
  await signIn(page, server, `/admin/events/${event}/plan`);
  const drawing = page.getByRole("application", { name: "Drawing of the plan" });
  await drawing.waitFor();
  const plan = smallPlan(4, 30);
  const buffer = Buffer.from(JSON.stringify(plan));
  await page
    .getByLabel("Open a file")
    .setInputFiles({ name: "plan.json", mimeType: "application/json", buffer });
  await page.getByText("A plan of 120 seats was opened.").waitFor();
  // A draft of last time has nothing to be undone.
  await page.reload();
  await page.getByText("This is your draft of last time.", { exact: false }).waitFor();
  await drawing.scrollIntoViewIfNeeded();
  const box = (await drawing.locator("canvas").boundingBox())!;
  const view = fit(sceneOf(planOf(plan)), box.width, box.height);
  const spot = (x: number, y: number) => ({
    x: box.x + (x - view.left) * view.scale,
    y: box.y + (y - view.top) * view.scale,
  });
  return { ...there, fingers: await Fingers.on(page), spot };
}

/** Where all seats are, by their ids, in the file that the page saves. */
async function placed(page: Page): Promise<Map<string, Spot>> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as a file" }).click();
  const plan = planOf(JSON.parse((await contentOf(await download)).toString()));
  return new Map(placesOf(plan).map(({ seat, x, y }) => [seat.seat_guid, { x, y }]));
}

/** How far each seat is from where it was; those that are there still are left out. */
async function moved(page: Page, before: Map<string, Spot>): Promise<Record<string, Spot>> {
  const ways: Record<string, Spot> = {};
  for (const [id, { x, y }] of await placed(page)) {
    const was = before.get(id)!;
    if (x !== was.x || y !== was.y) ways[id] = { x: x - was.x, y: y - was.y };
  }
  return ways;
}

/** As a reader hears it: how many seats are chosen. */
async function chosen(page: Page): Promise<string> {
  const status = page.getByRole("status").filter({ hasText: "chosen" });
  return (await status.innerText()).replace(/.*· /, "");
}

function canUndo(page: Page): Promise<boolean> {
  return page.getByRole("button", { name: "Undo" }).isEnabled();
}

test("two fingers move and zoom the drawing, and choose and move nothing", async () => {
  const { page, complaints, close, fingers, spot } = await tablet("pinch");
  const before = await placed(page);
  await fingers.tap(spot(0, 0));
  await expect.poll(() => chosen(page)).toBe("1 seat chosen");

  // One on the chosen seat, the other on one that is not, and then apart by twice as much.
  await fingers.put(1, spot(0, 0));
  await fingers.put(2, spot(250, 0));
  await fingers.move({ 1: spot(0, 30), 2: spot(250, 30) });
  await fingers.move({ 1: spot(0, 30), 2: spot(500, 30) });
  await fingers.lift(2);
  // The one that is left moves the view, not the seats: by 50 units of before, to the right.
  await fingers.move({ 1: spot(25, 30) });
  await fingers.move({ 1: spot(50, 30) });
  await fingers.lift(1);
  expect(await chosen(page)).toBe("1 seat chosen");
  expect(await canUndo(page)).toBe(false);

  // A-1 is where the finger was lifted, and others are twice as far from it as they were.
  await fingers.tap(spot(50 + 2 * 100, 30 + 2 * 60));
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowDown");
  expect(await moved(page, before)).toEqual({ "C-5": { x: 0, y: 5 } });
  expect(complaints).toEqual([]);
  await close();
});

test("a drag is taken back when a second finger lands, or the browser takes the first", async () => {
  const { page, complaints, close, fingers, spot } = await tablet("back");
  const before = await placed(page);
  await page.getByRole("option", { name: "Row A: 30 seats" }).tap();
  await expect.poll(() => chosen(page)).toBe("30 seats chosen");

  // Seats that are chosen, one that is not, and a frame from empty paper.
  const drags = [
    [spot(0, 0), spot(100, 15)],
    [spot(50, 30), spot(100, 45)],
    [spot(-25, -25), spot(200, 45)],
  ] as const;
  for (const [from, to] of drags) {
    await fingers.put(1, from);
    await fingers.move({ 1: to });
    await fingers.put(2, spot(400, 60));
    await fingers.lift(2);
    await fingers.lift(1);
    await fingers.put(1, from);
    await fingers.move({ 1: to });
    await fingers.cancel();
    expect(await chosen(page)).toBe("30 seats chosen");
    expect(await canUndo(page)).toBe(false);
  }
  expect(await moved(page, before)).toEqual({});

  // A finger that lands afterwards drags as ever, in one step.
  await fingers.drag(spot(0, 0), spot(0, -20));
  const way = { x: 0, y: -20 };
  const row = Array.from({ length: 30 }, (_, nth) => [`A-${nth + 1}`, way]);
  expect(await moved(page, before)).toEqual(Object.fromEntries(row));
  await page.getByRole("button", { name: "Undo" }).tap();
  expect(await canUndo(page)).toBe(false);
  expect(await moved(page, before)).toEqual({});
  expect(complaints).toEqual([]);
  await close();
});

test("several seats are chosen by touch: one by one, by a frame, and moved together", async () => {
  const { page, complaints, close, fingers, spot } = await tablet("several");
  const before = await placed(page);
  const several = page.getByRole("button", { name: "Choose several" });
  const size = (await several.boundingBox())!;
  expect(Math.min(size.width, size.height)).toBeGreaterThanOrEqual(44);
  expect(await several.getAttribute("aria-pressed")).toBe("false");
  await several.tap();
  expect(await several.getAttribute("aria-pressed")).toBe("true");
  expect(await violations(page)).toEqual([]);

  // Neighbours tapped in haste are no double click, which would choose their row.
  await fingers.tap(spot(0, 0));
  await fingers.tap(spot(25, 0));
  await expect.poll(() => chosen(page)).toBe("2 seats chosen");
  await fingers.tap(spot(0, 0));
  await expect.poll(() => chosen(page)).toBe("1 seat chosen");
  // Nobody loses what is chosen by a finger beside a seat.
  await fingers.tap(spot(0, -30));
  expect(await chosen(page)).toBe("1 seat chosen");
  // A frame may begin on a seat, also on a chosen one, and adds.
  await fingers.drag(spot(20, -5), spot(60, 35));
  await expect.poll(() => chosen(page)).toBe("4 seats chosen");
  await fingers.drag(spot(-15, 75), spot(30, 105));
  await expect.poll(() => chosen(page)).toBe("6 seats chosen");
  // Two fingers choose nothing here either.
  await fingers.put(1, spot(200, 0));
  await fingers.put(2, spot(300, 0));
  await fingers.lift(1);
  await fingers.lift(2);
  expect(await chosen(page)).toBe("6 seats chosen");
  expect(await canUndo(page)).toBe(false);

  await several.tap();
  expect(await several.getAttribute("aria-pressed")).toBe("false");
  await fingers.drag(spot(50, 0), spot(50, -20));
  const way = { x: 0, y: -20 };
  const ids = ["A-2", "A-3", "B-2", "B-3", "D-1", "D-2"];
  expect(await moved(page, before)).toEqual(Object.fromEntries(ids.map((id) => [id, way])));
  await page.getByRole("button", { name: "Undo" }).tap();
  expect(await canUndo(page)).toBe(false);
  expect(await chosen(page)).toBe("6 seats chosen");
  expect(complaints).toEqual([]);
  await close();
});

test("choosing several works by mouse and keys too, and not while the view is dragged", async () => {
  const { page, complaints, close, spot } = await tablet("mouse");
  const before = await placed(page);
  const several = page.getByRole("button", { name: "Choose several" });
  const hand = page.getByRole("button", { name: "Drag to move the view" });
  const click = ({ x, y }: Spot) => page.mouse.click(x, y);
  const drag = async (from: Spot, to: Spot) => {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y);
    await page.mouse.up();
  };
  await several.focus();
  await page.keyboard.press("Space");
  expect(await several.getAttribute("aria-pressed")).toBe("true");
  await click(spot(0, 0));
  await click(spot(100, 0));
  await expect.poll(() => chosen(page)).toBe("2 seats chosen");
  await drag(spot(95, 25), spot(160, 40));
  await expect.poll(() => chosen(page)).toBe("5 seats chosen");
  // Two clicks on a seat are its row.
  await page.mouse.dblclick(spot(0, 90).x, spot(0, 90).y);
  await expect.poll(() => chosen(page)).toBe("35 seats chosen");

  await hand.focus();
  await page.keyboard.press("Enter");
  expect(await hand.getAttribute("aria-pressed")).toBe("true");
  expect(await several.getAttribute("aria-pressed")).toBe("false");
  await drag(spot(100, 30), spot(150, 30));
  await click(spot(250, 30));
  expect(await chosen(page)).toBe("35 seats chosen");
  await several.click();
  expect(await hand.getAttribute("aria-pressed")).toBe("false");
  // The view was moved by 50 units.
  await click(spot(50, 0));
  await expect.poll(() => chosen(page)).toBe("34 seats chosen");
  expect(await canUndo(page)).toBe(false);
  expect(await moved(page, before)).toEqual({});
  expect(complaints).toEqual([]);
  await close();
});

test("two fingers zoom the buyers' map as before, of which one finger taps a seat", async () => {
  const { page, complaints, close, fingers } = await tablet("preview");
  const plan = planOf(smallPlan(4, 30));
  await page.getByRole("button", { name: "Preview" }).tap();
  const map = page.getByRole("img", { name: "Preview" });
  const box = (await map.boundingBox())!;
  const house = new House(seatsOf(plan), [], drawnAreas(plan));
  const view = fit(house, box.width, box.height);
  const spot = (x: number, y: number) => ({
    x: box.x + (x - view.left) * view.scale,
    y: box.y + (y - view.top) * view.scale,
  });
  await fingers.put(1, spot(0, 0));
  await fingers.put(2, spot(250, 0));
  await fingers.move({ 2: spot(500, 0) });
  await fingers.lift(2);
  await fingers.lift(1);
  await fingers.tap(spot(2 * 100, 2 * 60));
  await page.getByText("(C-5)").waitFor();
  expect(complaints).toEqual([]);
  await close();
});
