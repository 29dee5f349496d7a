import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { contentOf, launch, PHONE, tabTo, violations, visit } from "./browser";
import { fillIn, heading, holdAndVisit, untilStatus, useCard, type Holder } from "./checkout";
import { CARDS, openEvent, Server } from "./server";

let settings: string;
let server: Server;
let browser: Browser;

const SELLER = `[seller]\nname = "Hall of Ours"\naddress = ["1 Long Lane", "Town"]\n`;

beforeAll(async () => {
  // A seller has an address of several lines, which no variable sets.
  settings = await mkdtemp(path.join(tmpdir(), "onrush-seller-"));
  const file = path.join(settings, "onrush.toml");
  await writeFile(file, SELLER);
  [server, browser] = await Promise.all([Server.start({ ONRUSH_CONFIG: file }), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await rm(settings, { recursive: true, force: true });
});

async function open(event: string, at = server): Promise<void> {
  await openEvent(at, event, {
    settings: { room: null, tax: { name: "VAT", rate_bp: 1_900 } },
    pools: [{ pool: "ga", capacity: 20, price_minor: 2_500 }],
  });
}

/** Holds two, pays for them on the pages, and is back at the confirmed booking. */
async function buy(event: string, options = {}, at = server): Promise<Holder> {
  const holder = await holdAndVisit(browser, at, event, { pools: { ga: 2 } }, options);
  const { page } = holder;
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  await untilStatus(at, holder, "confirmed");
  await page.goto(`${at.url}/bookings/${holder.booking}`);
  return holder;
}

/** The numbers that were issued for a booking, once there are so many. */
async function issued(who: Holder, count: number): Promise<string[]> {
  let numbers: string[] = [];
  const read = async () => {
    const answer = await server.ask("GET", `/bookings/${who.booking}/receipts`, { token: who.token });
    numbers = answer.body.receipts.map((receipt: { number: string }) => receipt.number);
    return numbers.length;
  };
  await expect.poll(read).toBe(count);
  return numbers;
}

async function cancel(event: string, booking: string, refund_minor: number): Promise<void> {
  const why = { by: "crew", why: "ill", refund_minor };
  await server.organise("POST", `/events/${event}/bookings/${booking}/cancel`, why);
}

const paper = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

const width = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth);

/** What comes of doing something that keeps a file. */
async function kept(page: Page, act: () => Promise<void>): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), bytes: await contentOf(download) };
}

test("what is paid has a receipt to keep, and what goes back a credit note", async () => {
  await open("paid");
  const holder = await buy("paid", PHONE);
  const { page, complaints, close } = holder;
  const [number] = await issued(holder, 1);
  const receipt = paper(page, `Receipt ${number} (PDF)`);
  await receipt.waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await width(page)).toBe(PHONE.viewport!.width);
  const file = await kept(page, () => receipt.tap());
  expect(file.name).toBe(`${number}.pdf`);
  expect(file.bytes.subarray(0, 5).toString()).toBe("%PDF-");

  await cancel("paid", holder.booking, 2_500);
  const [, note] = await issued(holder, 2);
  await page.reload();
  await heading(page, "This booking is cancelled");
  await receipt.waitFor();
  const credit = paper(page, `Credit note ${note} (PDF)`);
  expect((await kept(page, () => credit.tap())).bytes.subarray(0, 5).toString()).toBe("%PDF-");
  expect(await violations(page)).toEqual([]);
  expect(await width(page)).toBe(PHONE.viewport!.width);
  expect(complaints).toEqual([]);
  await close();
});

test("a receipt that is issued a moment later is shown by itself", async () => {
  await open("moment");
  const holder = await buy("moment");
  const { page, close } = holder;
  const [number] = await issued(holder, 1);
  let looks = 0;
  await page.route("**/receipts", async (route) => {
    looks += 1;
    if (looks > 2) return route.continue();
    return route.fulfill({ json: { booking: holder.booking, receipts: [] } });
  });
  await page.reload();
  await paper(page, `Receipt ${number} (PDF)`).waitFor();
  expect(looks).toBe(3);
  await close();
});

test("keyboard alone keeps a receipt in the language of the page", async () => {
  await open("keys");
  const holder = await buy("keys");
  const { page, complaints, close } = holder;
  const [number] = await issued(holder, 1);
  const english = await kept(page, async () => {
    await tabTo(page, paper(page, `Receipt ${number} (PDF)`));
    await page.keyboard.press("Enter");
  });
  await page.addInitScript(() => localStorage.setItem("onrush.language", "th"));
  await page.reload();
  const thai = await kept(page, async () => {
    await tabTo(page, paper(page, `ใบเสร็จรับเงิน ${number} (PDF)`));
    await page.keyboard.press("Enter");
  });
  expect(thai.bytes.equals(english.bytes)).toBe(false);
  expect(complaints).toEqual([]);
  await close();
});

test("a receipt that cannot be had says why, and is asked for again", async () => {
  await open("away");
  const holder = await buy("away");
  const { page, close } = holder;
  const [number] = await issued(holder, 1);
  await page.route("**/receipts/*.pdf?*", (route) => route.abort());
  await paper(page, `Receipt ${number} (PDF)`).click();
  await page.getByRole("alert").filter({ hasText: "The server cannot be reached." }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.unroute("**/receipts/*.pdf?*");
  const file = await kept(page, () => page.getByRole("button", { name: "Try again" }).click());
  expect(file.name).toBe(`${number}.pdf`);
  expect(await page.getByRole("alert").count()).toBe(0);
  await close();
});

test("the organiser gives money back, and both pages have the credit note", async () => {
  await open("office");
  const holder = await buy("office");
  const [number] = await issued(holder, 1);
  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, `/admin/bookings/${holder.booking}`);
  const documents = page.getByRole("region", { name: "Receipts" });
  const receipt = documents.getByRole("link", { name: `Receipt ${number} (PDF)`, exact: true });
  const file = await kept(page, async () => {
    await tabTo(page, receipt);
    await page.keyboard.press("Enter");
  });
  expect(file.name).toBe(`${number}.pdf`);
  expect(file.bytes.subarray(0, 5).toString()).toBe("%PDF-");

  await page.getByRole("button", { name: "Cancel and refund" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount to give back").fill("50");
  await dialog.getByLabel("Reason").fill("ill");
  await dialog.getByRole("button", { name: "Cancel and refund" }).click();
  const [, note] = await issued(holder, 2);
  await documents.getByRole("link", { name: `Credit note ${note} (PDF)`, exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(await width(page)).toBe(PHONE.viewport!.width);
  // The buyer looks at their page again.
  await holder.page.evaluate(() => dispatchEvent(new Event("online")));
  await paper(holder.page, `Credit note ${note} (PDF)`).waitFor();
  await holder.close();

  await page.goto(`${server.url}/admin/bookings?event=office`);
  const link = (name: string) => page.getByRole("link", { name, exact: true });
  const table = await kept(page, () => link("Receipts as CSV").tap());
  expect(table.name).toBe("receipts.csv");
  const rows = table.bytes.toString().trim().split("\n").slice(1);
  expect(rows.map((row) => row.split(",")[0])).toEqual([`"${number}"`, `"${note}"`]);
  const books = await kept(page, () => link("Bookkeeping as JSON Lines").tap());
  expect(books.name).toBe("bookkeeping.jsonl");
  const postings = books.bytes.toString().trim().split("\n");
  const found = new Set(postings.map((posting) => JSON.parse(posting).document));
  expect([...found]).toEqual([number, note]);
  expect(await violations(page)).toEqual([]);
  expect(await width(page)).toBe(PHONE.viewport!.width);
  expect(complaints).toEqual([]);
  await close();
});

test("an open booking's receipts are asked for once, and again when money goes back", async () => {
  await open("watched");
  const holder = await buy("watched");
  const [number] = await issued(holder, 1);
  await holder.close();
  const { page, close } = await visit(browser);
  let [looks, rounds] = [0, 0];
  page.on("request", (request) => {
    if (request.url().includes("/admin/receipts?")) looks += 1;
    if (request.url().endsWith(`/admin/sagas/${holder.booking}`)) rounds += 1;
  });
  await signIn(page, server, `/admin/bookings/${holder.booking}`);
  await page.getByRole("link", { name: `Receipt ${number} (PDF)`, exact: true }).waitFor();
  await expect.poll(() => rounds).toBeGreaterThan(3);
  expect(looks).toBe(1);

  await cancel("watched", holder.booking, 2_500);
  const [, note] = await issued(holder, 2);
  await page.getByRole("link", { name: `Credit note ${note} (PDF)`, exact: true }).waitFor();
  const [looksThen, roundsThen] = [looks, rounds];
  await expect.poll(() => rounds).toBeGreaterThan(roundsThen + 2);
  expect(looks).toBe(looksThen);
  await close();
});

test("without a seller nothing is shown, and it is asked once", async () => {
  const plain = await Server.start();
  try {
    await open("plain", plain);
    const { page, booking, complaints, close } = await buy("plain", {}, plain);
    // What was asked on arrival may still be under way, and does not count.
    const here = page.url();
    await page.goto(`${plain.url}/healthz`);
    let looks = 0;
    await page.route("**/receipts", (route) => {
      looks += 1;
      return route.continue();
    });
    const off = page.waitForResponse((answer) => answer.url().endsWith("/receipts"));
    await page.goto(here);
    expect((await off).status()).toBe(409);
    await heading(page, "Your booking is confirmed");
    // The page is looked at again, and has its answer.
    const looked = page.waitForResponse((answer) => answer.url().endsWith("/payment"));
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await looked;
    expect(await page.getByRole("region", { name: "Receipts" }).count()).toBe(0);
    expect(looks).toBe(1);
    expect(complaints).toEqual([]);
    await close();

    const office = await visit(browser);
    const asked = office.page.waitForResponse((answer) => answer.url().includes("/admin/receipts"));
    await signIn(office.page, plain, "/admin/bookings");
    expect((await asked).status()).toBe(409);
    await office.page.getByRole("link", { name: booking }).waitFor();
    expect(await office.page.getByRole("link", { name: "Receipts as CSV" }).count()).toBe(0);
    await office.page.getByRole("link", { name: booking }).click();
    await office.page.getByText("Tickets checked in").waitFor();
    expect(await office.page.getByRole("region", { name: "Receipts" }).count()).toBe(0);
    expect(office.complaints).toEqual([]);
    await office.close();
  } finally {
    await plain.stop();
  }
});
