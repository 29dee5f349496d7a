/** Numbers and times as organisers type them. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { launch, violations, visit } from "./browser";
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

test("amount and number typed as the page writes them are what they are on the page", async () => {
  await openEvent(server, "dong", { settings: { room: null, currency: "VND" }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server);
  await page.goto(`${server.url}/admin/events/dong/edit?lang=vi`);
  const pools = page.locator("#pools");
  await pools.getByLabel("Mã nhóm suất").fill("san");
  await pools.getByLabel("Giá (VND)").fill("150.000");
  await pools.getByText(/^= 150\.000\s₫$/).waitFor();
  await pools.getByLabel("Số suất", { exact: true }).fill("2.000");
  expect(await violations(page)).toEqual([]);
  await pools.getByRole("button", { name: "Thêm nhóm suất" }).click();
  await pools.getByRole("rowheader", { name: "san" }).waitFor();
  const { pools: made } = (await server.ask("GET", "/events/dong/availability")).body;
  expect(made).toMatchObject([{ pool: "san", price_minor: 150_000, capacity: 2_000 }]);
  expect(complaints).toEqual([]);
  await close();
});

test("amount that can be read in two ways is asked for again, and not sent", async () => {
  await openEvent(server, "twofold", { settings: { room: null, currency: "VND" }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/twofold/edit");
  const pools = page.locator("#pools");
  await pools.getByLabel("Pool id").fill("ga");
  await pools.getByLabel("Units", { exact: true }).fill("10");
  await pools.getByLabel("Price in VND").fill("150.000");
  await pools.getByRole("button", { name: "Add pool" }).click();
  await pools.getByText("Write the number like 1,234", { exact: false }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await server.ask("GET", "/events/twofold/availability")).body.pools).toEqual([]);
  await pools.getByLabel("Price in VND").fill("150,000");
  await pools.getByRole("button", { name: "Add pool" }).click();
  await pools.getByRole("rowheader", { name: "ga" }).waitFor();
  const { pools: made } = (await server.ask("GET", "/events/twofold/availability")).body;
  expect(made).toMatchObject([{ pool: "ga", price_minor: 150_000, capacity: 10 }]);
  expect(complaints).toEqual([]);
  await close();
});

test("amount with a decimal comma is one with decimals", async () => {
  await openEvent(server, "comma", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "scheduled",
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/comma/edit");
  const fee = page.getByLabel("Fee per booking, in EUR");
  await fee.fill("12,50");
  await page.getByText("= €12.50", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Saved.").waitFor();
  const fees = { fixed_minor: 1_250, percent_bp: 0 };
  expect((await server.ask("GET", "/events/comma")).body.fees).toEqual(fees);
  expect(complaints).toEqual([]);
  await close();
});

test("opening that is past is asked about before the sale opens", async () => {
  await openEvent(server, "yesterday", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "scheduled",
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/yesterday/edit");
  await page.getByLabel("Sale opens").fill("2020-05-01T10:30");
  const save = page.getByRole("button", { name: "Save changes" });
  await save.click();
  const dialog = page.getByRole("dialog", { name: "Open the sale of Event yesterday?" });
  await dialog.getByText("the sale opens as soon as this is saved", { exact: false }).waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  const event = async () => (await server.ask("GET", "/events/yesterday")).body;
  expect(await event()).toMatchObject({ phase: "scheduled" });
  expect((await event()).opens_at).toBeUndefined();

  await save.click();
  await dialog.getByRole("button", { name: "Open the sale" }).click();
  await page.getByText("Saved.").waitFor();
  await expect.poll(async () => (await event()).phase).toBe("open");
  expect(complaints).toEqual([]);
  await close();
});

test("time is told in full below its field, with the offset of its day", async () => {
  await openEvent(server, "summer", { settings: { room: null }, phase: "scheduled" });
  const { page, complaints, close } = await visit(browser, { timezoneId: "Europe/Berlin" });
  await signIn(page, server, "/admin/events/summer/edit");
  await page.getByText("All times are in your time zone: Europe/Berlin.", { exact: true }).waitFor();
  await page.getByLabel("Sale opens").fill("2036-01-15T20:00");
  await page.getByText(/15.*2036.*GMT\+1$/).waitFor();
  await page.getByLabel("Sale opens").fill("2036-07-15T20:00");
  await page.getByText(/15.*2036.*GMT\+2$/).waitFor();
  expect(await violations(page)).toEqual([]);

  await page.getByLabel("Sale closes").fill("2036-12-24T20:00");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Saved.").waitFor();
  const { opens_at, closes_at } = (await server.ask("GET", "/events/summer")).body;
  expect(opens_at).toBe(Date.parse("2036-07-15T18:00:00Z"));
  expect(closes_at).toBe(Date.parse("2036-12-24T19:00:00Z"));

  // A year of five digits does not leave the field.
  const isRefused = await page.getByLabel("Sale opens").evaluate((field: HTMLInputElement) => {
    field.value = "20265-12-24T20:00";
    return field.value === "" || field.validity.rangeOverflow;
  });
  expect(isRefused).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});
