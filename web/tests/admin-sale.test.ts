import path from "node:path";
import type { Browser, Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Availability } from "../src/api/schema";
import { hold, loseFirstAnswer, sell, signIn } from "./admin";
import { launch, violations, visit } from "./browser";
import { KEYS, openEvent, SCREEN_KEY, Server, smallPlan } from "./server";

const THEATRE = path.resolve(import.meta.dirname, "../../examples/theatre.json");

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start({ ONRUSH_CONFIG: KEYS }), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** What a big figure of the control room says, as a number. */
async function figure(page: Page, name: string): Promise<number> {
  const text = await page.locator(`[data-figure="${name}"]`).innerText();
  return Number(text.split(" ")[0]!.replaceAll(",", ""));
}

/** Answers a dialog that asks why. */
async function confirm(page: Page, button: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  if ((await dialog.getByLabel("Reason").count()) > 0) await dialog.getByLabel("Reason").fill("as agreed");
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

test("organiser makes an event from a plan, opens, watches, lets more in, pauses, refunds one", async () => {
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin");
  await page.getByRole("link", { name: "New event" }).click();
  await page.getByLabel("Id", { exact: true }).fill("play");
  await page.getByLabel("Title", { exact: true }).fill("The play");
  await page.getByLabel("Sale opens").fill("2036-05-01T10:30");
  await page.getByRole("radio", { name: "Through a waiting room" }).check();
  await page.getByLabel("People in the room at once").fill("2");
  await page.getByLabel("A hold lasts, in minutes").fill("8");
  await page.getByLabel("Fee per booking, in EUR").fill("1.50");
  await page.getByLabel("Tax: its name").fill("VAT");
  await page.getByLabel("Tax in percent").fill("7.25");
  await page.getByRole("button", { name: "Create event" }).click();
  await page.waitForURL(`${server.url}/admin/events/play/edit`);
  const made = (await server.ask("GET", "/events/play")).body;
  expect(made.opens_at).toBe(Date.parse("2036-05-01T10:30:00Z"));
  expect(made.hold_ttl_ms).toBe(480_000);
  expect(made.room.capacity).toBe(2);
  expect(made.fees).toEqual({ fixed_minor: 150, percent_bp: 0 });
  expect(made.tax).toEqual({ name: "VAT", rate_bp: 725 });

  await page.getByLabel("Seating plan").setInputFiles(THEATRE);
  await page.getByText("588 seats", { exact: true }).waitFor();
  const prices = { "Front stalls": 90, Stalls: 70, Circle: 60.5, Boxes: 120, "Restricted view": 30 };
  for (const [category, price] of Object.entries(prices)) {
    await page.getByLabel(`Price of ${category} in EUR`, { exact: true }).fill(String(price));
  }
  expect(await violations(page)).toEqual([]);
  // They are there, though the answer that says so is lost.
  await page.route("**/admin/events/play/seat-map", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Import 588 seats" }).click();
  await page.getByText("588 seats were imported.").waitFor();
  const { categories } = (await server.ask("GET", "/events/play/availability")).body as Availability;
  expect(categories.find((category) => category.name === "Circle")?.price_minor).toBe(6_050);

  await page.getByRole("link", { name: "Control room" }).click();
  await page.getByRole("button", { name: "Open the sale" }).click();
  expect(await violations(page)).toEqual([]);
  await confirm(page, "Open the sale");
  await page.getByText("Open", { exact: true }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();

  const sold = await sell(server, "play", { seats: ["S-B-1", "S-B-2"] });
  const held = await hold(server, "play", { seats: ["S-B-3"] });
  for (let n = 0; n < 6; n += 1) {
    await server.ask("POST", "/events/play/queue", { token: await server.visitor() });
  }
  await expect.poll(() => figure(page, "sold"), { timeout: 20_000 }).toBe(2);
  await expect.poll(() => figure(page, "held"), { timeout: 20_000 }).toBe(1);
  await expect.poll(() => figure(page, "waiting"), { timeout: 20_000 }).toBeGreaterThan(3);
  await page.getByRole("region", { name: "Arrivals and admissions per minute" }).waitFor();
  expect(await violations(page)).toEqual([]);

  // The slider moves by keys as well: the end of it is more than all who wait.
  const capacity = page.getByRole("slider", { name: "People in the room at once" });
  await capacity.focus();
  await capacity.press("End");
  await expect.poll(() => figure(page, "waiting"), { timeout: 20_000 }).toBe(0);
  const room = (await server.ask("GET", "/events/play")).body.room;
  expect(room.capacity).toBe(Number(await capacity.getAttribute("max")));
  await page.getByText(`In effect: ${room.capacity}`).waitFor();

  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await confirm(page, "Pause");
  await page.getByText("Paused", { exact: true }).waitFor();
  expect((await server.ask("GET", "/events/play")).body.phase).toBe("paused");

  await page.goto(`${server.url}/admin/bookings?event=play&status=confirmed`);
  await page.getByRole("link", { name: sold.booking }).click();
  await page.getByText("Stalls, row B, seat 1").waitFor();
  const soldAt = await page.locator('[data-fact="confirmed"]').innerText();
  await page.getByRole("button", { name: "Cancel and refund" }).click();
  await page.getByLabel("Amount to give back, in EUR").fill("20");
  expect(await violations(page)).toEqual([]);
  await confirm(page, "Cancel and refund");
  await page.getByText("Cancelled", { exact: true }).waitFor();
  expect(await page.locator('[data-fact="refund"]').innerText()).toBe("€20.00");
  expect(await page.locator('[data-fact="confirmed"]').innerText()).toBe(soldAt);
  expect(await violations(page)).toEqual([]);
  const after = await server.ask("GET", `/bookings/${sold.booking}`, { token: sold.token });
  expect(after.body).toMatchObject({ status: "cancelled", refund_minor: 2_000 });
  const kept = await server.ask("GET", `/bookings/${held.booking}`, { token: held.token });
  expect(kept.body.status).toBe("held");
  expect(complaints).toEqual([]);
  await close();
});

test("list of pools forgets a failure that is over", async () => {
  await openEvent(server, "steady", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 0 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/steady");
  const pools = page.getByRole("region", { name: "Pools", exact: true }).first();
  await pools.waitFor();
  const no = { status: 500, json: { status: 500, code: "INTERNAL", detail: "no", retryable: false } };
  let isAway = true;
  await page.route("**/events/steady/availability", (route) =>
    isAway ? route.fulfill(no) : route.continue(),
  );
  await pools.getByRole("alert").waitFor();
  isAway = false;
  await pools.getByRole("alert").waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
  await close();
});

test("what the server refuses stands at its field, and nothing typed is lost", async () => {
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/new");
  await page.getByLabel("Id", { exact: true }).fill("refused");
  await page.getByLabel("Title", { exact: true }).fill("Too long");
  await page.getByRole("radio", { name: "Everybody may buy at once" }).check();
  await page.getByLabel("A hold lasts, in minutes").fill("60");
  await page.getByRole("button", { name: "Create event" }).click();
  const field = page.getByLabel("A hold lasts at most, in minutes");
  await expect.poll(() => field.getAttribute("aria-invalid"), { timeout: 20_000 }).toBe("true");
  expect(await page.getByLabel("Title", { exact: true }).inputValue()).toBe("Too long");
  await page.getByText("hold_max_ms: use at least hold_ttl_ms").first().waitFor();
  expect(await violations(page)).toEqual([]);
  await field.fill("90");
  await page.getByRole("button", { name: "Create event" }).click();
  await page.waitForURL(`${server.url}/admin/events/refused/edit`);
  await close();
});

test("edited settings, texts and pools are kept; what was not touched is not sent", async () => {
  await openEvent(server, "edited", { pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }] });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/edited/edit");
  const settings = page.getByRole("form", { name: "Settings" });
  await settings.getByLabel("Title", { exact: true }).fill("Edited");
  await settings.getByLabel("Units per person at most").fill("3");
  const asked = page.waitForRequest((request) => request.method() === "PATCH");
  await page.getByRole("button", { name: "Save changes" }).click();
  expect((await asked).postDataJSON()).toEqual({ title: "Edited", max_per_user: 3 });
  await page.getByText("Saved.").waitFor();

  const texts = page.locator("#texts");
  await texts.getByLabel("Language").selectOption("th");
  await texts.getByLabel("Title").fill("ทัวร์ฤดูหนาว");
  await texts.getByRole("button", { name: "Save text in ไทย" }).click();
  await texts.getByText("Saved.").waitFor();
  expect((await server.ask("GET", "/events/edited/texts")).body.texts.th).toMatchObject({
    title: "ทัวร์ฤดูหนาว",
  });

  const pools = page.locator("#pools");
  await pools.getByLabel("Pool id").fill("balcony");
  await pools.getByLabel("Price in EUR").fill("12.34");
  await pools.getByLabel("Units", { exact: true }).fill("40");
  await pools.getByRole("button", { name: "Add pool" }).click();
  await pools.getByRole("rowheader", { name: "balcony" }).waitFor();
  await pools.getByRole("button", { name: "Change units balcony" }).click();
  await page.getByRole("dialog").getByLabel("Units").fill("55");
  await confirm(page, "Change units");
  const available = async () => (await server.ask("GET", "/events/edited/availability")).body.pools[1];
  expect(await available()).toMatchObject({ pool: "balcony", price_minor: 1_234, capacity: 55 });
  await close();
});

test("fee that is emptied is taken away", async () => {
  await openEvent(server, "feeless", {
    settings: { room: null, fees: { fixed_minor: 150 } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  expect((await server.ask("GET", "/events/feeless")).body.fees).toEqual({ fixed_minor: 150, percent_bp: 0 });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/feeless/edit");
  await page.getByLabel("Fee per booking, in EUR").fill("");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Saved.").waitFor();
  expect((await server.ask("GET", "/events/feeless")).body.fees).toBeUndefined();
  expect(complaints).toEqual([]);
  await close();
});

test("fee that somebody else set meanwhile is not taken back, and shown beside what is typed", async () => {
  await openEvent(server, "shared", { settings: { room: null, fees: { fixed_minor: 150 } } });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/shared/edit");
  const fixed = page.getByLabel("Fee per booking, in EUR");
  await fixed.fill("2");
  const theirs = { fixed_minor: 150, percent_bp: 500 };
  await server.organise("PATCH", "/events/shared", { fees: theirs });
  const fees = async () => (await server.ask("GET", "/events/shared")).body.fees;
  const save = page.getByRole("button", { name: "Save changes" });
  await save.click();
  await page.getByText("Somebody else has changed this setting meanwhile.").waitFor();
  expect(await fees()).toEqual(theirs);
  expect(await page.getByText("Saved.").count()).toBe(0);
  expect(await violations(page)).toEqual([]);

  await page.getByRole("button", { name: "Show their changes" }).click();
  await page.getByText("What others have changed is shown as they set it.").waitFor();
  expect(Number(await page.getByLabel("Fee in percent of the price").inputValue())).toBe(5);
  expect(Number(await fixed.inputValue())).toBe(2);
  expect(await violations(page)).toEqual([]);
  await save.click();
  await page.getByText("Saved.").waitFor();
  expect(await fees()).toEqual({ fixed_minor: 200, percent_bp: 500 });
  expect(complaints).toEqual([]);
  await close();
});

test("blocked seat says by whom and why, and a sold one leads to its booking", async () => {
  await openEvent(server, "why", {
    settings: { room: null },
    plan: smallPlan(3, 6),
    prices: { Stalls: 4_000 },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/why");
  const map = page.getByRole("region", { name: "Seat map" });
  const find = async (seat: string) => {
    await map.getByLabel("Find a seat by its id").fill(seat);
    await map.getByRole("button", { name: "Show", exact: true }).click();
    await map.getByText(`Stalls, row ${seat[0]}, seat ${seat[2]}`).waitFor();
  };
  await find("A-1");
  await map.getByRole("button", { name: "Block", exact: true }).click();
  await confirm(page, "Block");
  await map.getByText("Reason: as agreed").waitFor();
  await map.getByText("By admin", { exact: true }).waitFor();
  const seats = async () => (await server.ask("GET", "/events/why/seats/status")).body.status;
  expect(await seats()).toMatch(/^b/);

  const { booking } = await sell(server, "why", { seats: ["A-2"] });
  await find("A-2");
  await map.getByRole("link", { name: booking }).first().waitFor();
  expect(await violations(page)).toEqual([]);

  // Somebody holds the very seat that is looked at: it says so by itself.
  await find("A-3");
  await hold(server, "why", { seats: ["A-3"] });
  await map.getByText("Held", { exact: true }).first().waitFor({ timeout: 20_000 });

  const pools = page.getByRole("region", { name: "Pools" }).first();
  await pools.getByRole("button", { name: "Block ga" }).click();
  await page.getByRole("dialog").getByLabel("Units").fill("4");
  await confirm(page, "Block");
  await pools.getByRole("button", { name: "Explain ga" }).click();
  await pools.getByText("Reason: as agreed").waitFor();
  await pools.getByText("4 units").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("units of a pool go back on sale by the reason they were blocked for, and nobody types it", async () => {
  await openEvent(server, "platform", {
    settings: { room: null },
    pools: [
      { pool: "ga", capacity: 10, price_minor: 4_500 },
      { pool: "balcony", capacity: 10, price_minor: 4_500 },
    ],
  });
  await server.organise("POST", "/events/platform/block", { pools: { ga: 4 }, why: "camera" });
  await server.organise("POST", "/events/platform/block", { pools: { ga: 2 }, why: "sound" });
  await server.organise("PUT", "/events/platform/channels/fans", { why: "presale" });
  const allotted = { pools: { balcony: 3 }, to: "fans", why: "presale" };
  await server.organise("POST", "/events/platform/allot", allotted);
  const blocked = async () => {
    const { pools } = (await server.ask("GET", "/events/platform/availability")).body as Availability;
    return pools.map((pool) => pool.blocked);
  };
  expect(await blocked()).toEqual([6, 3]);
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/platform");
  const pools = page.getByRole("region", { name: "Pools" }).first();
  const dialog = page.getByRole("dialog");
  const unblock = pools.getByRole("button", { name: "Unblock ga", exact: true });
  await unblock.click();
  const which = dialog.getByLabel("Which units");
  await which.selectOption({ label: "2 units blocked: sound" });
  const units = dialog.getByLabel("Units", { exact: true });
  expect(await violations(page)).toEqual([]);
  // More than are blocked for this reason is not sent.
  await units.fill("3");
  await dialog.getByRole("button", { name: "Unblock" }).click();
  expect(await dialog.getByText("Enter 2 or less.").count()).toBe(1);
  expect(await blocked()).toEqual([6, 3]);
  await units.fill("2");
  await confirm(page, "Unblock");
  expect(await blocked()).toEqual([4, 3]);

  // What is set aside in a channel can only be moved.
  expect(await pools.getByRole("button", { name: "Unblock balcony" }).count()).toBe(0);

  await unblock.click();
  expect(await which.inputValue()).toBe("camera");
  expect(await which.locator("option").count()).toBe(1);
  await units.fill("4");
  await confirm(page, "Unblock");
  expect(await blocked()).toEqual([0, 3]);
  await unblock.waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
  await close();
});

test("look at the next seat ends the question about the one before", async () => {
  const prices = { Stalls: 4_000 };
  await openEvent(server, "next", { settings: { room: null }, plan: smallPlan(1, 3), prices });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/next");
  const map = page.getByRole("region", { name: "Seat map" });
  const show = async (seat: string) => {
    await map.getByLabel("Find a seat by its id").fill(seat);
    await map.getByRole("button", { name: "Show", exact: true }).click();
  };
  const first = "**/admin/events/next/seats/A-1";
  await page.route(first, () => {});
  const asked = page.waitForRequest(first);
  await show("A-1");
  await asked;
  const isOfFirst = (request: Request) => request.url().endsWith("/seats/A-1");
  // Sooner than who asks loses patience.
  const ended = page.waitForEvent("requestfailed", { predicate: isOfFirst, timeout: 10_000 });
  await show("A-2");
  await ended;
  await map.getByText("Stalls, row A, seat 2").waitFor();
  expect(await map.getByRole("alert").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("block whose answer is lost is to be looked for first, and has one key in its dialog", async () => {
  await openEvent(server, "unheard", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/unheard");
  const pools = page.getByRole("region", { name: "Pools" }).first();
  await pools.getByRole("button", { name: "Block ga" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Units").fill("4");
  await dialog.getByLabel("Reason").fill("as agreed");
  const asked = await loseFirstAnswer(page, "**/admin/events/unheard/block");
  const block = dialog.getByRole("button", { name: "Block", exact: true });
  await block.click();
  const doubt = dialog.getByRole("alert").filter({ hasText: "it is not known whether this was done" });
  await doubt.filter({ hasText: "look before you do it again" }).waitFor();
  await block.click();
  await dialog.waitFor({ state: "detached" });
  const blocked = async () => (await server.ask("GET", "/events/unheard/availability")).body.pools[0].blocked;
  expect(await blocked()).toBe(4);

  // Another time it is another block.
  await pools.getByRole("button", { name: "Block ga", exact: true }).click();
  await dialog.getByLabel("Units").fill("4");
  await confirm(page, "Block");
  expect(await blocked()).toBe(8);
  expect(asked).toHaveLength(3);
  expect(asked[1]!.key).toBe(asked[0]!.key);
  expect(asked[2]!.key).not.toBe(asked[0]!.key);
  expect(complaints).toEqual([]);
  await close();
});

test("block whose outcome is not known is asked for by another key when it is asked for again", async () => {
  await openEvent(server, "unsure", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/unsure");
  const pools = page.getByRole("region", { name: "Pools" }).first();
  await pools.getByRole("button", { name: "Block ga" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Units").fill("4");
  await dialog.getByLabel("Reason").fill("as agreed");
  const keys: (string | null)[] = [];
  await page.route("**/admin/events/unsure/block", async (route) => {
    keys.push(await route.request().headerValue("idempotency-key"));
    if (keys.length > 1) return route.continue();
    await route.fulfill({
      status: 409,
      json: { code: "OUTCOME_UNKNOWN", status: 409, detail: "", retryable: false },
    });
  });
  const block = dialog.getByRole("button", { name: "Block", exact: true });
  await block.click();
  await dialog.getByText("This may have been done, or not.", { exact: false }).waitFor();
  await block.click();
  await dialog.waitFor({ state: "detached" });
  expect(new Set(keys).size).toBe(2);
  expect((await server.ask("GET", "/events/unsure/availability")).body.pools[0].blocked).toBe(4);
  expect(complaints.filter((text) => !text.includes("409"))).toEqual([]);
  await close();
});

test("feed follows along, shows what changed, and filters by kind", async () => {
  await openEvent(server, "fed", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 0 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/feed");
  await page.getByLabel("Event id").fill("fed");
  await page.getByLabel("Event id").press("Tab");
  const first = page.getByRole("main").getByRole("listitem").first();
  await first.getByText("sale_opened", { exact: true }).waitFor();
  await hold(server, "fed", { pools: { ga: 2 } });
  await first.getByText("hold_placed", { exact: true }).waitFor({ timeout: 20_000 });
  await first.locator("summary").click();
  await first.getByText('"ga": 2').waitFor();
  await page.getByLabel("Kind of change").selectOption("pool_added");
  await first.getByText("pool_added", { exact: true }).waitFor();
  expect(await page.getByText("hold_placed").and(page.locator(".tag")).count()).toBe(0);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Kind of change").selectOption("All kinds");
  await hold(server, "fed", { pools: { ga: 1 } });
  await page.getByRole("button", { name: "Follow" }).click();
  await expect
    .poll(() => page.locator(".tag", { hasText: "hold_placed" }).count(), { timeout: 20_000 })
    .toBe(2);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("who may only read sees what the room is set to, and nothing to set it with", async () => {
  await openEvent(server, "seen", {
    settings: { room: { capacity: 20, outflow_per_min: 300 } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/seen", SCREEN_KEY);
  const room = page.getByRole("region", { name: "Waiting room" });
  await room.getByText("In effect: 20", { exact: true }).waitFor();
  await room.getByText("In effect: 300", { exact: true }).waitFor();
  for (const role of ["slider", "textbox", "checkbox", "status"] as const) {
    expect(await room.getByRole(role).count()).toBe(0);
  }
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("number of people in the room that is typed slowly is set once, at its end", async () => {
  await openEvent(server, "typed", {
    settings: { room: { capacity: 20 } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  const asked: unknown[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") asked.push(request.postDataJSON());
  });
  await signIn(page, server, "/admin/events/typed");
  const room = page.getByRole("region", { name: "Waiting room" });
  const field = room.getByRole("textbox", { name: "People in the room at once" });
  await field.selectText();
  await field.pressSequentially("200", { delay: 400 });
  await field.press("Enter");
  await room.getByText("In effect: 200", { exact: true }).waitFor();
  // What is no number of people is not set, and does not stay there.
  await field.fill("1.5");
  await field.blur();
  expect(await field.inputValue()).toBe("200");
  expect(asked).toEqual([{ capacity: 200 }]);
  expect(complaints).toEqual([]);
  await close();
});

/** The control room of a draw whose prequeue is open, in front of somebody. */
async function beforeDraw(event: string): Promise<{ page: Page; close: () => Promise<void> }> {
  await openEvent(server, event, {
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    settings: { room: { capacity: 1, order: "draw" } },
    phase: "prequeue",
  });
  const { page, close } = await visit(browser);
  const looked = page.waitForResponse(`**/events/${event}/draw`);
  await signIn(page, server, `/admin/events/${event}`);
  await looked;
  await page.getByRole("button", { name: "Close prequeue" }).waitFor();
  return { page, close };
}

test("sale of a draw is not opened on what was known of the draw before", async () => {
  const { page, close } = await beforeDraw("draw-lost");
  // Somebody else closes the prequeue: a public value is promised now.
  await server.organise("POST", "/events/draw-lost/prequeue/close");
  await page.route("**/events/draw-lost/draw", (route) => route.abort());
  const open = page.getByRole("button", { name: "Open the sale" });
  await open.click();
  const said = page.getByRole("dialog").or(page.getByRole("group", { name: "The sale" }).getByRole("alert"));
  await said.first().waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  await page.unroute("**/events/draw-lost/draw");
  await open.click();
  await page
    .getByRole("dialog")
    .getByLabel(/^Public value/)
    .waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await close();
});

test("while the draw is looked at nothing else is asked, and then what was asked for", async () => {
  const { page, close } = await beforeDraw("draw-slow");
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/events/draw-slow/draw", async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest("**/events/draw-slow/draw");
  await page.getByRole("button", { name: "Open the sale" }).click();
  await asked;
  await expect.poll(() => page.getByRole("button", { name: "Close the sale" }).isDisabled()).toBe(true);
  answer();
  await page.getByRole("dialog").getByRole("button", { name: "Open the sale" }).waitFor();
  await close();
});
