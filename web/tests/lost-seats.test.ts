/** Seats that others take while they are chosen: what is shown of it, what is held, and by which press. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeatMap } from "../src/api/schema";
import { launch, tabTo, violations, visit } from "./browser";
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

const seat = (page: Page, number: number) =>
  page.getByRole("group", { name: /^Row C,/ }).getByRole("button", { name: `Seat ${number},` });

/** Somebody who has chosen these seats of row C in the list, and how often their page asked for a hold. */
async function choosing(event: string, ...numbers: number[]) {
  await openEvent(server, event, {
    settings: { room: null },
    plan: smallPlan(4, 10),
    prices: { Stalls: 4_500 },
  });
  const visitor = await visit(browser);
  const { page } = visitor;
  const holds = { count: 0 };
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith(`/events/${event}/bookings`)) holds.count += 1;
  });
  await page.goto(`${server.url}/events/${event}/choose`);
  await page.getByRole("button", { name: "Choose from a list" }).click();
  for (const number of numbers) await seat(page, number).click();
  return { ...visitor, holds };
}

/** Somebody else is faster. */
async function othersHold(event: string, ...seats: string[]): Promise<void> {
  const wish = { token: await server.visitor(), key: seats.join(), body: { seats } };
  expect((await server.ask("POST", `/events/${event}/bookings`, wish)).status).toBe(201);
}

async function heldSeats(event: string): Promise<string[]> {
  const { seats } = (await server.ask("GET", `/events/${event}/seats`)).body as SeatMap;
  return seats.filter(({ status }) => status === "held").map(({ id }) => id);
}

const lossOf = (page: Page, number: number) =>
  page.getByText(`This seat was just taken: Stalls, row C, seat ${number}.`);
const holdThese = (page: Page) => page.getByRole("button", { name: "Hold these" });
const focused = (page: Page) => page.evaluate(() => document.activeElement?.id);

test("whoever has chosen another seat for the one that was lost holds at the first press", async () => {
  const { page, holds, complaints, close } = await choosing("replaced", 5);
  await othersHold("replaced", "C-5");
  await lossOf(page, 5).waitFor();
  await seat(page, 7).click();
  await holdThese(page).click();
  await page.waitForURL(/\/bookings\//);
  expect(holds.count).toBe(1);
  expect(await heldSeats("replaced")).toEqual(["C-5", "C-7"]);
  expect(complaints).toEqual([]);
  await close();
});

test("whoever holds while a loss is looked into is told by that press that nothing was held", async () => {
  const event = "looked-into";
  const { page, holds, complaints, close } = await choosing(event, 5, 6);
  await page.getByLabel(/If one of these is gone/).uncheck();
  // A seat that is gone may be in a booking of their own: that is answered once they have pressed.
  let answer = (): void => {};
  const isAnswered = new Promise<void>((resolve) => (answer = resolve));
  await page.route(/\/api\/v1\/bookings\?/, async (route) => {
    await isAnswered;
    await route.continue();
  });
  let letThrough = (): void => {};
  const isLetThrough = new Promise<void>((resolve) => (letThrough = resolve));
  await page.route(`**/events/${event}/bookings`, async (route) => {
    await isLetThrough;
    await route.continue();
  });
  await othersHold(event, "C-5", "D-1");
  const ofOthers = page.getByRole("group", { name: /^Row D,/ }).getByRole("button", { name: "Seat 1," });
  await expect.poll(() => ofOthers.getAttribute("aria-disabled")).toBe("true");
  await holdThese(page).click();
  await expect.poll(() => holds.count).toBe(1);
  // It leaves the choice before the server refuses it.
  answer();
  await lossOf(page, 5).waitFor();
  letThrough();
  await page.getByText("Nothing was held. The rest of your choice is still here.").waitFor();
  await holdThese(page).click();
  await page.waitForURL(/\/bookings\//);
  expect(holds.count).toBe(2);
  expect(await heldSeats(event)).toEqual(["C-5", "C-6", "D-1"]);
  expect(complaints).toEqual([]);
  await close();
});

test("double click on the button holds nothing unseen, and a click after it holds what is left", async () => {
  const { page, holds, complaints, close } = await choosing("double", 5, 6);
  await othersHold("double", "C-5");
  await lossOf(page, 5).waitFor();
  await holdThese(page).evaluate((button: HTMLElement) => {
    button.click();
    button.click();
  });
  await page.getByText("Nothing was held. The rest of your choice is still here.").waitFor();
  // The button says when it is ready: Playwright clicks none that is not.
  await holdThese(page).click();
  await page.waitForURL(/\/bookings\//);
  expect(holds.count).toBe(1);
  expect(await heldSeats("double")).toEqual(["C-5", "C-6"]);
  expect(complaints).toEqual([]);
  await close();
});

test("best seats are not held before it was seen that the seat beside them is gone", async () => {
  const { page, holds, complaints, close } = await choosing("beside", 5);
  await page.getByRole("button", { name: "Let us choose" }).click();
  await page.getByText("What you have chosen already (1) is held together with these seats.").waitFor();
  await othersHold("beside", "C-5");
  await lossOf(page, 5).waitFor();
  const best = page.getByRole("button", { name: "Best seats" });
  // A double click as well.
  await best.evaluate((button: HTMLElement) => {
    button.click();
    button.click();
  });
  await page.getByText("Nothing was held.").waitFor();
  // Nothing of what was chosen is left, but the best seats are still wanted.
  await page.getByRole("button", { name: "Hold the rest" }).waitFor();
  expect(await page.getByText("The rest of your choice is still here.").count()).toBe(0);
  expect(holds.count).toBe(0);
  await best.click();
  await page.waitForURL(/\/bookings\//);
  expect(holds.count).toBe(1);
  expect(await heldSeats("beside")).toHaveLength(3);
  expect(complaints).toEqual([]);
  await close();
});

test("keyboard goes on at the button from the notice, or at the seats if nothing is left", async () => {
  const { page, complaints, close } = await choosing("onward", 5);
  const chooseMyself = async (lost: number) => {
    await othersHold("onward", `C-${lost}`);
    await lossOf(page, lost).waitFor();
    await page.getByRole("button", { name: "Choose others myself" }).focus();
    await page.keyboard.press("Enter");
  };
  await chooseMyself(5);
  await expect.poll(() => focused(page)).toBe("seats-title");
  for (const number of [6, 7]) await seat(page, number).click();
  await chooseMyself(6);
  await expect.poll(() => focused(page)).toBe("hold");
  await page.getByRole("button", { name: "Let us choose" }).click();
  await chooseMyself(7);
  await expect.poll(() => focused(page)).toBe("best-title");
  expect(complaints).toEqual([]);
  await close();
});

test("by keyboard what is left of a choice is held from the notice", async () => {
  const { page, holds, complaints, close } = await choosing("by-keyboard", 5, 6);
  await othersHold("by-keyboard", "C-5");
  await lossOf(page, 5).waitFor();
  await holdThese(page).focus();
  await page.keyboard.press("Enter");
  const notice = page.getByRole("group", { name: "Somebody was faster" });
  const hasFocus = () => notice.evaluate((element) => element === document.activeElement);
  await expect.poll(hasFocus).toBe(true);
  const rest = notice.getByRole("button", { name: "Hold the rest" });
  await expect.poll(() => rest.getAttribute("aria-disabled")).toBe("false");
  expect(await violations(page)).toEqual([]);
  expect(holds.count).toBe(0);
  await tabTo(page, rest);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/bookings\//);
  expect(holds.count).toBe(1);
  expect(await heldSeats("by-keyboard")).toEqual(["C-5", "C-6"]);
  expect(complaints).toEqual([]);
  await close();
});
