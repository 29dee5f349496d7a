import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, visit } from "./browser";
import { addRows, give, open, saved } from "./plan-pages";
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

const DESK = { viewport: { width: 1280, height: 900 } };

/** Waits until the draft is in the browser. */
async function kept(page: Page): Promise<void> {
  await page.getByText("Kept in this browser", { exact: true }).waitFor();
}

test("two sections and two categories of one name are shown, and a reload shows them again", async () => {
  await openEvent(server, "twins", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, DESK);
  await open(page, server, "twins");
  const plan = smallPlan(2, 4) as { zones: object[]; categories: object[] };
  const [zone] = plan.zones;
  const twin = JSON.parse(JSON.stringify(zone).replaceAll(/"seat_guid":"/g, '"seat_guid":"twin-'));
  const twins = { ...plan, zones: [zone, twin], categories: [...plan.categories, ...plan.categories] };
  await give(page, JSON.stringify(twins));
  await page.getByText("A plan of 16 seats was opened.").waitFor();
  await page.getByText("Two categories have the name", { exact: false }).waitFor();
  await kept(page);
  await page.reload();
  await page.getByText("This is your draft of last time.", { exact: false }).waitFor();
  expect((await saved(page)).zones).toHaveLength(2);
  expect(complaints).toEqual([]);
  await close();
});

test("a section is not called as another is", async () => {
  await openEvent(server, "names", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, DESK);
  await open(page, server, "names");
  await addRows(page, { Section: "Left", Rows: 1 });
  await addRows(page, { Section: "Right" });
  const name = page.getByLabel("Name of the section");
  await name.fill("Left");
  await name.press("Tab");
  await page.getByText("There is a section “Left” already.", { exact: false }).waitFor();
  expect(await name.inputValue()).toBe("Right");
  await name.fill("Rear");
  await name.press("Tab");
  await page.getByRole("option", { name: "Rear: 20 seats" }).waitFor();
  expect(await page.getByText("There is a section", { exact: false }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("of two pages with one plan neither writes over the other's draft unasked", async () => {
  await openEvent(server, "pair", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, DESK);
  await open(page, server, "pair");
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByRole("application", { name: "Drawing of the plan" }).waitFor();
  await addRows(page, { Section: "Mine", Rows: 1, "Seats in the first row": 3 });
  await kept(page);
  await addRows(other, { Section: "Yours", Rows: 1, "Seats in the first row": 5 });
  const warning = other.getByText("Another page of this browser edits this plan too", { exact: false });
  await warning.waitFor();
  other.once("dialog", (dialog) => void dialog.dismiss());
  await other.getByRole("link", { name: "To the event's page" }).click();
  await warning.waitFor();
  expect(other.url()).toContain("/plan");

  const zones = async (page: Page) => (await saved(page)).zones.map((zone: { name: string }) => zone.name);

  await other.getByRole("button", { name: "Go on with the other draft" }).click();
  await other.getByRole("option", { name: "Mine: 3 seats" }).waitFor();
  await kept(other);
  await other.getByRole("button", { name: "Undo" }).click();
  expect(await zones(other)).toEqual(["Yours"]);
  await kept(other);

  await addRows(page, { Section: "More" });
  await page.getByRole("button", { name: "Keep what is here" }).click();
  await kept(page);
  await page.reload();
  await page.getByText("This is your draft of last time.", { exact: false }).waitFor();
  expect(await zones(page)).toEqual(["Mine", "More"]);
  expect(complaints).toEqual([]);
  await close();
});

test("drafts of many events and a house of 60,000 seats stay, and so do those of before", async () => {
  const { page, complaints, close } = await visit(browser, DESK);
  const events = ["d-1", "d-2", "d-3", "d-4", "d-5", "d-6"];
  for (const event of [...events, "old"]) {
    await openEvent(server, event, { settings: { room: null }, phase: "scheduled" });
  }
  await open(page, server, events[0]!);
  await addRows(page, {
    Rows: 120,
    "Seats in the first row": 500,
    "From seat to seat": 1,
    "From row to row": 1,
  });
  await page.getByText("60,000 seats chosen").waitFor();
  await kept(page);
  for (const event of events.slice(1)) {
    await page.goto(page.url().replace(/d-\d/, event));
    await addRows(page, { Section: event, Rows: 1 });
    await kept(page);
  }
  const old = JSON.stringify({ at: 1, prices: { Stalls: 7 }, plan: smallPlan(1, 2) });
  await page.evaluate((text) => localStorage.setItem("onrush.plan.old", text), old);
  for (const [event, seats] of [
    ["d-1", "60,000 seats"],
    ["d-2", "20 seats"],
    ["old", "2 seats"],
  ]) {
    await page.goto(page.url().replace(/events\/[^/]+/, `events/${event}`));
    await page.getByText("This is your draft of last time.", { exact: false }).waitFor();
    await page.getByText(`${seats} · 0 seats chosen`).waitFor();
  }
  expect(complaints).toEqual([]);
  await close();
});

test("a plan that the editor cannot show is not lost with it", async () => {
  await openEvent(server, "broken", { settings: { room: null }, phase: "scheduled" });
  const { page, close } = await visit(browser, DESK);
  await open(page, server, "broken");
  // Nothing is known to break the editor: so the browser fails while it draws.
  await page.evaluate(() => {
    const format = Intl.PluralRules.prototype.select;
    Intl.PluralRules.prototype.select = function (this: Intl.PluralRules, n: number) {
      if (n === 9) throw new Error("a fault of the editor");
      return format.call(this, n);
    };
  });
  await addRows(page, { Section: "Nine", Rows: 1, "Seats in the first row": 9 });
  await page.getByText("The editor cannot show this plan.", { exact: false }).waitFor();
  expect((await saved(page)).zones[0].name).toBe("Nine");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("0 seats · 0 seats chosen").waitFor();
  await close();
});
