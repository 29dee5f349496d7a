import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Action } from "../src/api/schema";
import { hold, sell, signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { ADMIN_KEY, BOX_OFFICE_KEY, CARDS, KEYS, openEvent, SCREEN_KEY, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start({ ONRUSH_CONFIG: KEYS }), launch()]);
  await openEvent(server, "tour", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 100, price_minor: 4_500 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Holds a unit and pays for it at the sandbox's page as this buyer. */
async function pay(name: string, email: string): Promise<string> {
  const held = await hold(server, "tour", { pools: { ga: 1 } });
  const payment = await server.ask("POST", `/bookings/${held.booking}/payment`, {
    token: held.token,
    key: "pay",
    body: { buyer: { name, email, language: "en" } },
  });
  const { page, close } = await visit(browser);
  await page.goto(payment.body.url);
  await page.locator("input").first().fill(CARDS.good);
  await page.getByRole("button").first().click();
  const status = async () =>
    (await server.ask("GET", `/bookings/${held.booking}`, { token: held.token })).body.status;
  await expect.poll(status, { timeout: 20_000 }).toBe("confirmed");
  await close();
  return held.booking;
}

/** The text of a file that a click on a link, or on a button, downloads. */
async function download(page: Page, name: string, role: "link" | "button" = "link"): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole(role, { name }).click()]);
  let text = "";
  for await (const part of await file.createReadStream()) text += part;
  return text;
}

test("bookings are found by buyer, exported and refunded; their buyer is erased", async () => {
  const booking = await pay("Ann Lee", "ann@example.org");
  await pay("Bo Nguyen", "bo@example.org");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/bookings");
  await page.getByLabel("Booking, name or mail address").fill("ann@EXAMPLE");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("Bo Nguyen").waitFor({ state: "detached" });
  await page.getByText("Ann Lee").waitFor();
  expect(await violations(page)).toEqual([]);
  const csv = await download(page, "Export as CSV", "button");
  expect(csv).toContain(booking);
  expect(csv).not.toContain("Bo Nguyen");

  await page.getByRole("link", { name: booking }).click();
  await page.getByText("ann@example.org").waitFor();
  await page.getByRole("button", { name: "Cancel and refund" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Amount to give back").fill("46");
  await dialog.getByLabel("Reason").fill("ill");
  await dialog.getByRole("button", { name: "Cancel and refund" }).click();
  // The page itself says that it is more than was paid; the dialog stays, with what was typed.
  await dialog.getByText("Enter €45.00 or less.").waitFor();
  expect(await dialog.getByLabel("Reason").inputValue()).toBe("ill");
  await dialog.getByLabel("Amount to give back").fill("45");
  await dialog.getByRole("button", { name: "Cancel and refund" }).click();
  await page.getByRole("region", { name: "Refunds" }).getByText("Done").waitFor({ timeout: 20_000 });
  expect(await violations(page)).toEqual([]);

  const kept = JSON.parse(await download(page, "Export buyer's data", "button"));
  expect(kept.bookings).toHaveLength(1);
  const [about] = kept.bookings;
  expect([about.booking, about.buyer.name]).toEqual([booking, "Ann Lee"]);
  expect(about.money.refunds[0].amount_minor).toBe(4_500);
  await page.getByText("that your browser has saved").waitFor();
  expect(await violations(page)).toEqual([]);

  await page.getByRole("button", { name: "Erase buyer" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Erase buyer" }).click();
  await page.getByText("The buyer's data are erased.").waitFor();
  await page.getByText("ann@example.org").waitFor({ state: "detached" });

  await page.goto(`${server.url}/admin/money`);
  const refunds = page.getByRole("region", { name: "Refunds" });
  await refunds.getByRole("link", { name: booking }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${server.url}/admin/sagas`);
  await page.getByText("None is stuck.").waitFor();
  await page.getByRole("link", { name: booking }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("whom somebody looks for stands in no address, and is there again on the way back", async () => {
  const booking = await pay("Fay Oh", "fay@example.org");
  await pay("Gus Bo", "gus@example.org");
  const { page, complaints, close } = await visit(browser);
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url(), request.headers().referer ?? ""));
  await signIn(page, server, "/admin/bookings");
  const text = page.getByLabel("Booking, name or mail address");
  const found = async () => {
    await page.getByText("Fay Oh").waitFor();
    await page.getByText("Gus Bo").waitFor({ state: "detached" });
    expect(await text.inputValue()).toBe("fay@example.org");
  };
  await text.fill("fay@example.org");
  await page.getByLabel("Event id").fill("tour");
  const answered = page.waitForResponse((answer) => answer.request().postData()?.includes("fay@") === true);
  await page.getByRole("button", { name: "Search" }).click();
  await answered;
  await found();
  expect(new URL(page.url()).search).toBe("?event=tour");
  const csv = await download(page, "Export as CSV", "button");
  expect([csv.includes(booking), csv.includes("gus@example.org")]).toEqual([true, false]);

  await page.getByRole("link", { name: booking }).click();
  await page.getByText("Tickets checked in").waitFor();
  await page.goBack();
  await found();
  await page.reload();
  await found();
  // Links that lead elsewhere take nothing along.
  await page.getByRole("navigation").getByRole("link", { name: "Bookings" }).click();
  await expect.poll(() => text.inputValue()).toBe("");
  expect(addresses.filter((address) => /@|%40/.test(address))).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("address of before, with whom somebody looks for in it, finds the same and loses that", async () => {
  await pay("Jo Ash", "jo@example.org");
  await pay("Kit Roe", "kit@example.org");
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/`);
  await signIn(page, server, "/admin/bookings?text=jo%40example.org&event=tour");
  const text = page.getByLabel("Booking, name or mail address");
  const found = async () => {
    await page.getByText("Jo Ash").waitFor();
    await page.getByText("Kit Roe").waitFor({ state: "detached" });
    expect(await text.inputValue()).toBe("jo@example.org");
    expect(await page.getByLabel("Event id").inputValue()).toBe("tour");
  };
  await expect.poll(() => new URL(page.url()).search).toBe("?event=tour");
  await found();
  await page.reload();
  await found();
  // No step of the history has it, and none is added.
  await page.goBack();
  expect(page.url()).toBe(`${server.url}/`);
  expect(complaints).toEqual([]);
  await close();
});

test("whoever skips to the content still looks for the same, and not on the way back from it", async () => {
  await pay("Hal Ode", "hal@example.org");
  await pay("Ida Poe", "ida@example.org");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/bookings");
  const text = page.getByLabel("Booking, name or mail address");
  await page.getByText("Ida Poe").waitFor();
  await text.fill("hal@example.org");
  await text.press("Enter");
  await page.getByText("Ida Poe").waitFor({ state: "detached" });
  // Twice, as the second time the address has the part already.
  for (let times = 0; times < 2; times += 1) {
    await page.getByRole("link", { name: "Skip to content" }).press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
    expect(new URL(page.url()).hash).toBe("#main");
    expect(await text.inputValue()).toBe("hal@example.org");
    const csv = await download(page, "Export as CSV", "button");
    expect([csv.includes("Hal Ode"), csv.includes("Ida Poe")]).toEqual([true, false]);
  }
  await page.reload();
  await page.getByText("Hal Ode").waitFor();
  expect(await text.inputValue()).toBe("hal@example.org");

  await page.goBack();
  await expect.poll(() => new URL(page.url()).hash).toBe("");
  expect(await text.inputValue()).toBe("hal@example.org");
  // The list of all has the same address, and nothing beside it.
  await page.goBack();
  await page.getByText("Ida Poe").waitFor();
  expect(await text.inputValue()).toBe("");
  expect(complaints).toEqual([]);
  await close();
});

test("refund beyond what was paid is refused in words, and nothing is cancelled", async () => {
  const sold = await sell(server, "tour", { pools: { ga: 1 } });
  const { page, close } = await visit(browser, PHONE);
  await signIn(page, server, `/admin/bookings/${sold.booking}`);
  await page.getByRole("button", { name: "Cancel and refund" }).click();
  const dialog = page.getByRole("dialog");
  const amount = dialog.getByLabel("Amount to give back");
  await amount.evaluate((field: HTMLInputElement) => (field.form!.noValidate = true));
  await amount.fill("4500");
  await dialog.getByLabel("Reason").fill("a slip of the finger");
  await dialog.getByRole("button", { name: "Cancel and refund" }).click();
  await dialog.getByText("That is more than was paid.").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Keep the booking" }).click();
  const status = await server.ask("GET", `/bookings/${sold.booking}`, { token: sold.token });
  expect(status.body.status).toBe("confirmed");
  await close();
});

test("box office without a right to receipts opens a booking, and nothing is refused to it", async () => {
  const booking = await pay("Cy Park", "cy@example.org");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/bookings", BOX_OFFICE_KEY);
  await page.getByRole("link", { name: booking }).click();
  await page.getByText("cy@example.org").waitFor();
  await page.getByRole("button", { name: "Remove visitor" }).waitFor();
  // With the next look at the booking everything was asked for that its page asks for.
  await page.waitForResponse((answer) => answer.url().endsWith(`/admin/sagas/${booking}`));
  expect(await page.getByText("Your key gives no right to this.").count()).toBe(0);
  const { body } = await server.ask("GET", "/admin/actions?name=box-office", { token: ADMIN_KEY });
  const done = body.actions.map(({ method, path, status }: Action) => `${method} ${path} ${status}`);
  expect(done).toEqual(["POST /api/v1/session 200"]);
  expect(complaints).toEqual([]);
  await close();
});

test("seats of a booking are named by the drawing, and by their ids where it is not told", async () => {
  const prices = { Stalls: 4_000 };
  await openEvent(server, "seated", { settings: { room: null }, plan: smallPlan(2, 4), prices });
  const { booking } = await sell(server, "seated", { seats: ["A-1", "B-2"] });
  const { page, complaints, close } = await visit(browser);
  const histories: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/admin/events/seated/seats/")) histories.push(request.url());
  });
  await signIn(page, server, `/admin/bookings/${booking}`);
  await page.getByText("Stalls, row A, seat 1").waitFor();
  await page.getByText("Stalls, row B, seat 2").waitFor();

  await page.route("**/events/seated/seats/plan", (route) =>
    route.fulfill({
      status: 410,
      contentType: "application/problem+json",
      body: JSON.stringify({ status: 410, code: "EVENT_ARCHIVED", detail: "over", retryable: false }),
    }),
  );
  const refused = page.waitForResponse("**/events/seated/seats/plan");
  await page.reload();
  await refused;
  await page.getByText("A-1", { exact: true }).waitFor();
  await page.getByText("B-2", { exact: true }).waitFor();
  expect(await page.getByText("Stalls, row").count()).toBe(0);
  expect(await page.getByRole("alert").count()).toBe(0);
  // The server reads the whole feed for each of these.
  expect(histories).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("who only reads finds bookings by their ids, and is shown no buyers", async () => {
  const booking = await pay("Ed Ito", "ed@example.org");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/bookings", SCREEN_KEY);
  const link = page.getByRole("link", { name: booking });
  await link.waitFor();
  const isShown = async () => {
    const words = ["Buyer", "Not known", "Ed Ito", "ed@example.org"];
    const found = await Promise.all(words.map((word) => page.getByText(word, { exact: true }).count()));
    return found.some((count) => count > 0);
  };
  expect(await isShown()).toBe(false);
  expect(await violations(page)).toEqual([]);
  const text = page.getByLabel("Booking", { exact: true });
  await text.fill("Ed Ito");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("No booking fits.").waitFor();
  await text.fill(booking.slice(-12));
  await page.getByRole("button", { name: "Search" }).click();
  await link.click();
  await page.getByText("Tickets checked in").waitFor();
  expect(await isShown()).toBe(false);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  ["payments", "/admin/money", "payments"],
  ["sagas", "/admin/sagas", "sagas"],
  ["what was done", "/admin/actions", "actions"],
])("more of %s is more of what was searched for, whatever is typed since", async (_, to, list) => {
  await pay("Di Chan", "di@example.org");
  const { page, close } = await visit(browser);
  const asked: (string | null)[] = [];
  await page.route(`**/api/v1/admin/${list}?*`, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    asked.push(query.get("event"));
    if (query.has("after")) return route.fulfill({ json: { [list]: [] } });
    const answer = await (await route.fetch()).json();
    return route.fulfill({ json: { ...answer, next: "what-follows" } });
  });
  await signIn(page, server, to);
  const more = page.getByRole("button", { name: "Show more" });
  await more.waitFor();
  await page.getByLabel("Event id").fill("tour");
  await more.click();
  await more.waitFor({ state: "detached" });
  expect(asked.at(-1)).toBeNull();

  await page.getByRole("button", { name: "Search" }).click();
  await more.waitFor();
  await page.getByLabel("Event id").fill("another");
  await more.click();
  await more.waitFor({ state: "detached" });
  expect(asked.at(-1)).toBe("tour");
  await close();
});

test("visitor is removed and banned from a booking's page, let back in in the control room", async () => {
  const held = await hold(server, "tour", { pools: { ga: 2 } });
  const status = async () =>
    (await server.ask("GET", `/bookings/${held.booking}`, { token: held.token })).body.status;
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${held.booking}`);
  const action = "Remove visitor";
  await page.getByRole("button", { name: action }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Exclude them from this event from now on").check();
  await dialog.getByText("Guests can come back with a new identity.").waitFor();
  await dialog.getByLabel("Reason").fill("a bot");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: action }).click();
  await page.getByText("The visitor is removed. Holds released: 1. Places given up: 0.").waitFor();
  expect(await status()).toBe("released");
  const again = { token: held.token, key: "two", body: { pools: { ga: 1 } } };
  const refused = await server.ask("POST", "/events/tour/bookings", again);
  expect([refused.status, refused.body.code]).toEqual([403, "VISITOR_BANNED"]);

  await page.goto(`${server.url}/admin/events/tour`);
  const bans = page.getByRole("region", { name: "Excluded visitors" }).first();
  await bans.getByText("a bot").waitFor();
  await bans.getByRole("button", { name: "Let back in" }).click();
  await dialog.getByLabel("Reason").fill("a mistake");
  await dialog.getByRole("button", { name: "Let back in" }).click();
  await page.getByText("Nobody is excluded from this event.").waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await server.ask("POST", "/events/tour/bookings", again)).status).toBe(201);
  expect(complaints).toEqual([]);
  await close();
});

test("draw is closed before its public value is asked for", async () => {
  await openEvent(server, "lot", {
    settings: { room: { order: "draw" } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "scheduled",
  });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/lot");
  const act = async (name: string) => {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await act("Open prequeue");
  await server.ask("POST", "/events/lot/queue", { token: await server.visitor() });
  await act("Close prequeue");
  await page.getByRole("button", { name: "Open the sale" }).click();
  await page.getByLabel("Public value").fill("7 12 19 23 31 44");
  await page.getByRole("dialog").getByRole("button", { name: "Open the sale" }).click();
  await page.getByText("Open", { exact: true }).waitFor();
  expect((await server.ask("GET", "/events/lot/draw")).body.public_value).toBe("7 12 19 23 31 44");
  await close();
});

test("promised value is told where the sale is opened, which does not open without one", async () => {
  const source = "the six numbers of the lottery of 5 December, ascending";
  await openEvent(server, "lot-promised", {
    settings: { room: { order: "draw", public_value_source: source } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "scheduled",
  });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/lot-promised");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Open prequeue", exact: true }).click();
  await dialog.getByRole("button", { name: "Open prequeue", exact: true }).click();
  await page.getByRole("button", { name: "Close prequeue", exact: true }).click();
  expect(await page.getByRole("button", { name: "Open the sale" }).count()).toBe(0);
  await dialog.getByText(source).waitFor();
  await dialog.getByRole("button", { name: "Close prequeue", exact: true }).click();
  await page.getByRole("button", { name: "Open the sale" }).click();
  await dialog.getByText(`You promised: ${source}`).waitFor();
  await dialog.getByRole("button", { name: "Open the sale" }).click();
  const field = page.getByLabel("Public value");
  expect(await field.evaluate((it: HTMLInputElement) => it.validity.valueMissing)).toBe(true);
  expect((await server.ask("GET", "/events/lot-promised/draw")).body.seed).toBeUndefined();
  await page.getByText("with single spaces between them").waitFor();
  await field.fill("  4 8  15 16\u00a023 42 ");
  await dialog.getByRole("button", { name: "Open the sale" }).click();
  await page.getByText("Open", { exact: true }).waitFor();
  const draw = (await server.ask("GET", "/events/lot-promised/draw")).body;
  expect(draw).toMatchObject({ public_value: "4 8 15 16 23 42", public_value_source: source });
  await close();
});

test("draw whose prequeue somebody else closed has its public value asked for all the same", async () => {
  await openEvent(server, "lot-elsewhere", {
    settings: { room: { order: "draw" } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "scheduled",
  });
  await server.organise("POST", "/events/lot-elsewhere/prequeue");
  await server.ask("POST", "/events/lot-elsewhere/queue", { token: await server.visitor() });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/lot-elsewhere");
  await page.getByRole("button", { name: "Close prequeue" }).waitFor();
  await server.organise("POST", "/events/lot-elsewhere/prequeue/close");
  await page.getByRole("button", { name: "Open the sale" }).click();
  await page.getByLabel("Public value").fill("7 12 19");
  await page.getByRole("dialog").getByRole("button", { name: "Open the sale" }).click();
  await page.getByText("Open", { exact: true }).waitFor();
  expect((await server.ask("GET", "/events/lot-elsewhere/draw")).body.public_value).toBe("7 12 19");
  await close();
});

test("control room follows a promise that somebody else changes, and a list that they fix", async () => {
  const event = "lot-followed";
  await openEvent(server, event, {
    settings: { room: { order: "draw", public_value_source: "the lottery of 4 December" } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
    phase: "prequeue",
  });
  const { page, close } = await visit(browser);
  const looked = page.waitForResponse(`**/events/${event}/draw`);
  await signIn(page, server, `/admin/events/${event}`);
  await looked;
  const source = "the lottery of 5 December";
  await server.organise("PATCH", `/events/${event}/room`, { public_value_source: source });
  await page.getByRole("button", { name: "Close prequeue", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(source).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await page.getByRole("button", { name: "Open the sale" }).count()).toBe(0);

  await server.organise("POST", `/events/${event}/prequeue/close`);
  await page.getByRole("button", { name: "Open the sale" }).click();
  await dialog.getByText(`You promised: ${source}`).waitFor();
  expect(await page.getByRole("button", { name: "Close prequeue" }).count()).toBe(0);
  await close();
});

test("dialog stays until what was begun has an answer", async () => {
  await openEvent(server, "slow", { pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }] });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/slow");
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/admin/events/slow/pause", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Pause", exact: true }).click();
  await expect.poll(() => dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  // Somebody else was faster: the answer is a refusal.
  await server.organise("POST", "/events/slow/pause");
  answer();
  await dialog.getByText("paused").first().waitFor();
  expect(await dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(false);
  await close();
});
