import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sell, signIn, ticketCode } from "./admin";
import { launch, loaded, PHONE, violations, visit } from "./browser";
import { ADMIN_KEY, openEvent, SCANNER_KEY, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const OFFICE = { by: "ann", why: "families" };
const ADULT = { id: "adult", name: "Adult", percent_bp: 10_000 };
const CHILD = { id: "child", name: "Child", percent_bp: 5_000, max: 3, proof: true };
const GROUP = { id: "group", name: "Group", less_minor: 500, min: 4 };

/** An event with a pool and seats that adults and children buy; groups of four pay less in the pool. */
async function open(event: string, settings: Record<string, unknown> = {}): Promise<void> {
  await openEvent(server, event, {
    settings: { room: null, ...settings },
    pools: [{ pool: "standing", capacity: 20, price_minor: 2_000 }],
    plan: smallPlan(2, 6),
    prices: { Stalls: 4_500 },
  });
  await setTypes(event, { pool: "standing" }, [ADULT, CHILD, GROUP]);
  await setTypes(event, { category: "Stalls" }, [ADULT, CHILD]);
}

async function setTypes(event: string, of: object, types: object[]): Promise<void> {
  await server.organise("PUT", `/events/${event}/types`, { ...of, types, ...OFFICE });
}

const basket = (page: Page) => page.getByRole("complementary", { name: "Your choice" });
const stepper = (page: Page, name: string) => page.getByRole("group", { name, exact: true });
const more = (page: Page, name: string) => page.getByRole("button", { name: `More: ${name}`, exact: true });
const fewer = (page: Page, name: string) => page.getByRole("button", { name: `Fewer: ${name}`, exact: true });

/** Chooses seats of row A in the list. */
async function pick(page: Page, ...numbers: number[]): Promise<void> {
  await page.getByRole("button", { name: "Choose from a list" }).click();
  const row = page.getByRole("group", { name: /^Row A,/ });
  for (const number of numbers) await row.getByRole("button", { name: `Seat ${number},` }).click();
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what the API answers
async function heldBooking(page: Page): Promise<any> {
  await page.waitForURL(/\/bookings\//);
  const booking = decodeURIComponent(new URL(page.url()).pathname.split("/")[2]!);
  const stored = await page.evaluate(() => localStorage.getItem("onrush.visitor"));
  const { token } = JSON.parse(stored!);
  return (await server.ask("GET", `/bookings/${booking}`, { token })).body;
}

test("two adults, a child and a child's seat are one hold at the prices that were told", async () => {
  await open("family", { fees: { fixed_minor: 100 } });
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/family/choose`);
  await pick(page, 2);
  await more(page, "Adult, Standing").click();
  await more(page, "Adult, Standing").click();
  await more(page, "Child, Standing").click();
  await basket(page).getByText("€96.00").waitFor();
  await basket(page).getByRole("button", { name: "Ticket types (4)" }).tap();
  await basket(page).getByText("2 × Adult, Standing").waitFor();
  await basket(page).getByText("€20.00 each").waitFor();
  await basket(page).getByText("1 × Child, Standing").waitFor();
  await basket(page).getByLabel("Ticket type: Stalls, row A, seat 2").selectOption("child");
  // 2 × 20, 10, 22.50 for the seat, and 1 for the booking.
  await basket(page).getByText("€73.50").waitFor();
  expect(await violations(page)).toEqual([]);

  // A reload forgets nothing of it.
  await page.reload();
  await basket(page).getByText("€73.50").waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  const booking = await heldBooking(page);
  expect(booking.amount_minor).toBe(7_350);
  expect(booking.lines).toMatchObject({ pools: { standing: 3 }, seats: ["A-2"] });
  const units = booking.types.map((it: { type: { id: string }; pools?: object; seats?: string[] }) => [
    it.type.id,
    it.pools ?? it.seats,
  ]);
  expect(units).toEqual([
    ["adult", { standing: 2 }],
    ["child", { standing: 1 }],
    ["child", ["A-2"]],
  ]);

  const order = page.getByRole("region", { name: "Your order" });
  await order.getByRole("row", { name: /2 × Adult, Standing.*€40\.00/ }).waitFor();
  await order.getByRole("row", { name: /1 × Child, Standing Bring proof to the door.*€10\.00/ }).waitFor();
  const seat = order.getByRole("row", { name: /row A, seat 2 .*Child · Bring proof to the door.*€22\.50/ });
  await seat.waitFor();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${server.url}/bookings`);
  await page.getByText("1 × Child, Standing").waitFor();
  await page.getByText("row A, seat 2 (Child)").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("least and most are told before anybody asks, and other numbers are not offered", async () => {
  await open("bounds", { max_per_user: 6 });
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/bounds/choose`);
  await page.getByText("at most 3 a booking · proof at the door").first().waitFor();
  await page.getByText("at least 4 a booking").waitFor();

  // A group begins with four, and ends below.
  await more(page, "Group, Standing").click();
  await basket(page).getByText("4 × Group, Standing").waitFor();
  await basket(page).getByText("€60.00").waitFor();
  await fewer(page, "Group, Standing").click();
  await basket(page).getByText("Nothing chosen yet.").waitFor();

  for (let child = 0; child < 3; child += 1) await more(page, "Child, Standing").click();
  expect(await more(page, "Child, Standing").getAttribute("aria-disabled")).toBe("true");
  // Six are the most for one person, so that there is no group beside three children.
  expect(await more(page, "Group, Standing").getAttribute("aria-disabled")).toBe("true");
  expect(await violations(page)).toEqual([]);
  for (let child = 0; child < 3; child += 1) await fewer(page, "Child, Standing").click();

  await pick(page, 1, 2, 3, 4);
  for (const seat of [1, 2, 3, 4]) {
    await basket(page).getByLabel(`Ticket type: Stalls, row A, seat ${seat}`).selectOption("child");
  }
  await basket(page).getByText("Child: at most 3 a booking. Choose that many or none, please.").waitFor();
  expect(await page.getByRole("button", { name: "Hold these" }).isDisabled()).toBe(true);
  await basket(page).getByLabel("Ticket type: Stalls, row A, seat 4").selectOption("adult");
  await basket(page).getByText("€112.50").waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  expect((await heldBooking(page)).amount_minor).toBe(11_250);
  expect(complaints).toEqual([]);
  await close();
});

test("what the server refuses about types is told in words", async () => {
  await open("refused");
  const { page, complaints, close } = await visit(browser);
  // The page knows nothing of what the organiser does meanwhile.
  let old: string | undefined;
  await page.route("**/availability", async (route) => {
    if (old === undefined) {
      const response = await route.fetch();
      old = await response.text();
    }
    await route.fulfill({ contentType: "application/json", body: old });
  });
  await page.goto(`${server.url}/events/refused/choose`);
  await more(page, "Child, Standing").click();
  await setTypes("refused", { pool: "standing" }, [ADULT, { ...CHILD, min: 2 }]);
  await page.getByRole("button", { name: "Hold these" }).click();
  const limit = "Child (Standing): 2 to 3 a booking, and this would be 1. Nothing was held.";
  await page.getByRole("alert").filter({ hasText: limit }).waitFor();
  expect(await violations(page)).toEqual([]);

  await setTypes("refused", { pool: "standing" }, [ADULT]);
  await page.getByRole("button", { name: "Hold these" }).click();
  await page
    .getByRole("alert")
    .filter({ hasText: "The ticket types of Standing are others by now." })
    .waitFor();
  await page.unroute("**/availability");
  await page.getByText("Ticket types have changed meanwhile.").waitFor();
  await basket(page).getByText("Nothing chosen yet.").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("an answer that gets lost is asked for again with the same types and the same key", async () => {
  await open("lost-answer");
  const { page, complaints, close } = await visit(browser);
  const asked: [string | null, string | null][] = [];
  await page.route("**/lost-answer/bookings", async (route) => {
    const request = route.request();
    asked.push([await request.headerValue("idempotency-key"), request.postData()]);
    if (asked.length > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.goto(`${server.url}/events/lost-answer/choose`);
  await more(page, "Adult, Standing").click();
  await more(page, "Child, Standing").click();
  await page.getByRole("button", { name: "Hold these" }).click();
  const booking = await heldBooking(page);
  expect(booking.amount_minor).toBe(3_000);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
  expect(JSON.parse(asked[0]![1]!).types).toEqual({ pools: { standing: { adult: 1, child: 1 } } });
  const pools = (await server.ask("GET", "/events/lost-answer/availability")).body.pools;
  expect(pools[0].held).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

test("the best seats are of the types that were asked for", async () => {
  await open("best-family");
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/best-family/choose`);
  expect(await stepper(page, "Adult").locator("output").textContent()).toBe("2");
  await more(page, "Child").tap();
  await fewer(page, "Adult").tap();
  // The last one of all cannot be taken away.
  await fewer(page, "Adult").tap();
  expect(await fewer(page, "Child").getAttribute("aria-disabled")).toBe("true");
  await more(page, "Adult").tap();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Best seats" }).tap();
  const booking = await heldBooking(page);
  expect(booking.lines.seats).toHaveLength(2);
  expect(booking.amount_minor).toBe(4_500 + 2_250);
  expect(booking.types.map((it: { type: { id: string } }) => it.type.id).sort()).toEqual(["adult", "child"]);
  expect(complaints).toEqual([]);
  await close();
});

test("best seats in numbers that no booking may have are not asked for", async () => {
  await open("best-bounds");
  await setTypes("best-bounds", { category: "Stalls" }, [{ ...ADULT, min: 3 }, CHILD]);
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/best-bounds/choose`);
  await page.getByText("Adult: at least 3 a booking. Choose that many or none, please.").waitFor();
  const ask = page.getByRole("button", { name: "Best seats" });
  expect(await ask.getAttribute("aria-disabled")).toBe("true");
  await more(page, "Adult").tap();
  await expect.poll(() => ask.getAttribute("aria-disabled")).toBe("false");
  expect(await violations(page)).toEqual([]);
  await ask.tap();
  expect((await heldBooking(page)).amount_minor).toBe(13_500);
  expect(complaints).toEqual([]);
  await close();
});

test("seats that stand in for others are of the type that all of them are of", async () => {
  await open("stand-in");
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/stand-in/choose`);
  await pick(page, 1, 2);
  const others = page.getByRole("checkbox", { name: /^If one of these is gone/ });
  await others.waitFor();
  await basket(page).getByLabel("Ticket type: Stalls, row A, seat 1").selectOption("child");
  await others.waitFor({ state: "detached" });
  await basket(page).getByLabel("Ticket type: Stalls, row A, seat 2").selectOption("child");
  await others.waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  const booking = await heldBooking(page);
  expect(booking.lines.seats).toEqual(["A-1", "A-2"]);
  expect(booking.amount_minor).toBe(4_500);
  await close();
});

test("keyboard alone chooses a type for a seat and units of a type", async () => {
  await open("keys");
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/keys/choose`);
  await pick(page, 3);
  await more(page, "Child, Standing").focus();
  await page.keyboard.press("Enter");
  const select = basket(page).getByLabel("Ticket type: Stalls, row A, seat 3");
  await select.focus();
  await page.keyboard.press("c");
  await basket(page).getByText("€32.50").waitFor();
  await page.getByRole("button", { name: "Hold these" }).focus();
  await page.keyboard.press("Enter");
  expect((await heldBooking(page)).amount_minor).toBe(3_250);
  expect(complaints).toEqual([]);
  await close();
});

test("an event's page tells what each type costs", async () => {
  await open("prices");
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/events/prices`);
  const row = page.getByRole("row", { name: /^Standing/ });
  await row.getByText("Child: €10.00").waitFor();
  await row.getByText("Group: €15.00").waitFor();
  await row.getByText("€10.00 to €20.00").waitFor();
  await close();
});

test("a ticket says what it was bought as, and the door is told to look at the proof", async () => {
  await open("door");
  const sold = await sell(server, "door", {
    pools: { standing: 1 },
    seats: ["A-1"],
    types: { pools: { standing: { child: 1 } } },
  });
  const buyer = await visit(browser, PHONE);
  const guest = JSON.stringify({ user: "buyer", token: sold.token, expires_at: Date.now() + 86_400_000 });
  await buyer.page.addInitScript((guest) => localStorage.setItem("onrush.visitor", guest), guest);
  await buyer.page.goto(`${server.url}/bookings/${sold.booking}/tickets`);
  const tickets = buyer.page.getByRole("article");
  await tickets.nth(0).getByText("Child").waitFor();
  await tickets.nth(0).getByText("Bring proof to the door").waitFor();
  await tickets.nth(1).getByText("Adult").waitFor();
  expect(await tickets.nth(1).getByText("Bring proof to the door").count()).toBe(0);
  expect(await violations(buyer.page)).toEqual([]);
  await buyer.close();

  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  const admit = async (code: string) => {
    await page.getByLabel("Ticket code").fill(code);
    await page.getByRole("button", { name: "Check in", exact: true }).click();
  };
  await admit(await ticketCode(server, sold));
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.getByText("Child: check proof").waitFor();
  expect(await violations(page)).toEqual([]);
  const to = `/bookings/${sold.booking}/tickets`;
  const { tickets: codes } = (await server.ask("GET", to, { token: sold.token })).body;
  await admit(codes[1].code);
  await page.getByText("Adult", { exact: true }).waitFor();
  expect(await page.getByText("check proof").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("a check-in whose answer got lost still says that proof is needed", async () => {
  await open("lost-door");
  const wish = { pools: { standing: 1 }, types: { pools: { standing: { child: 1 } } } };
  const sold = await sell(server, "lost-door", wish);
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/check-in", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByLabel("Ticket code").fill(await ticketCode(server, sold));
  await page.getByRole("button", { name: "Check in", exact: true }).click();
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/check-in");
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.getByText("child: check proof").waitFor();
  await close();
});

test("the organiser sets types, in order, changes them and takes them away", async () => {
  await openEvent(server, "office", {
    settings: { room: null },
    pools: [{ pool: "standing", capacity: 9, price_minor: 2_000 }],
    plan: smallPlan(2, 6),
    prices: { Stalls: 4_500 },
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/office");
  const panel = page.getByRole("region", { name: "Ticket types" }).first();
  const change = panel.getByRole("button", { name: "Change types standing" });
  await change.click();
  const dialog = page.getByRole("dialog");
  const part = (n: number) => dialog.getByRole("group", { name: `Type ${n}`, exact: true });
  const add = dialog.getByRole("button", { name: "Add a type" });
  await add.click();
  // Whoever adds one writes its name next.
  await page.keyboard.type("Child under 12");
  await part(1).getByRole("combobox").selectOption("percent");
  await part(1).getByLabel("Percent of it").fill("37.5");
  await part(1)
    .getByLabel(/^Least/)
    .fill("1");
  await part(1).getByLabel(/^Most/).fill("4");
  await part(1).getByLabel("Needs proof at the door").check();
  expect(await part(1).getByLabel(/^Id/).inputValue()).toBe("child-under-12");
  await add.click();
  await page.keyboard.type("Adult");
  await part(2).getByLabel("Price in EUR").fill("20");
  await add.click();
  await page.keyboard.type("학생");
  await part(3).getByRole("combobox").selectOption("less");
  await part(3).getByLabel("Price in EUR").fill("4.50");
  await part(2).getByRole("button", { name: "Move forward Adult" }).press("Enter");
  expect(await part(1).getByLabel("Name for buyers").inputValue()).toBe("Adult");
  await dialog.getByLabel("Reason").fill("families");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Change types" }).click();
  await dialog.waitFor({ state: "detached" });
  await panel.getByText("Child under 12: €7.50").waitFor();
  await panel.getByText("37.5% of the base price · at most 4 a booking · proof at the door").waitFor();
  const types = async () => (await server.ask("GET", "/events/office/availability")).body.pools[0].types;
  expect(await types()).toMatchObject([
    { id: "adult", name: "Adult", price_minor: 2_000, min: 0, proof: false },
    { id: "child-under-12", percent_bp: 3_750, price_minor: 750, min: 1, max: 4, proof: true },
    { id: "type-3", name: "학생", less_minor: 450, price_minor: 1_550 },
  ]);
  expect(await violations(page)).toEqual([]);

  await panel.getByRole("button", { name: "How ticket types changed" }).click();
  await panel.getByText("Adult, Child under 12, 학생").waitFor();
  await panel.getByText("Reason: families").waitFor();

  await change.click();
  expect(await part(2).getByLabel("Percent of it").inputValue()).toBe("37.5");
  await dialog.getByRole("button", { name: "Remove 학생" }).click();
  await dialog.getByRole("button", { name: "Remove Child under 12" }).click();
  await dialog.getByRole("button", { name: "Remove Adult" }).click();
  await dialog.getByLabel("Reason").fill("one price");
  await dialog.getByRole("button", { name: "Change types" }).click();
  await dialog.waitFor({ state: "detached" });
  await panel.getByText("Reason: one price").waitFor();
  expect(await types()).toBe(undefined);

  // What the server does not take stays in the dialog.
  await change.click();
  for (const name of ["Adult", "Adult"]) {
    await add.click();
    await page.keyboard.type(name);
  }
  for (const n of [1, 2]) {
    await part(n).getByLabel(/^Id/).fill("adult");
    await part(n).getByLabel("Price in EUR").fill("1");
  }
  await dialog.getByLabel("Reason").fill("twice");
  await dialog.getByRole("button", { name: "Change types" }).click();
  await dialog.getByText("use each id once").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("the types dialog fits a phone", async () => {
  await open("office-phone");
  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, "/admin/events/office-phone");
  const panel = page.getByRole("region", { name: "Ticket types" }).first();
  await panel.getByRole("button", { name: "Change types Stalls" }).tap();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("group", { name: "Type 2" }).waitFor();
  const isWide = await dialog.evaluate((element) => element.scrollWidth > element.clientWidth);
  expect(isWide).toBe(false);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("a booking's page and the feed tell the organiser of types", async () => {
  await open("records");
  const sold = await sell(server, "records", {
    pools: { standing: 3 },
    seats: ["A-1"],
    types: { pools: { standing: { child: 2 } } },
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${sold.booking}`);
  await page.getByRole("listitem").filter({ hasText: "Child (needs proof)" }).waitFor();
  const seat = page.getByRole("listitem").filter({ hasText: "seat 1" });
  await seat.getByText("Adult").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.goto(`${server.url}/admin/feed`);
  await page.getByLabel("Kind").selectOption("types_set");
  await loaded(page);
  await page.getByText("types_set", { exact: true }).last().waitFor();
  expect(
    (await server.ask("GET", "/admin/events/records/types", { token: ADMIN_KEY })).body.history,
  ).toHaveLength(2);
  expect(complaints).toEqual([]);
  await close();
});
