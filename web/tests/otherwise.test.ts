import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Wish } from "../src/api/schema";
import { launch, PHONE, tabTo, violations, visit, type Visit } from "./browser";
import { bookingOf, heading } from "./checkout";
import { BALCONY, hall, row } from "./hall";
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

const FLOOR = [...row("F-A", 1, 2, 3, 4, 5, 6), ...row("F-B", 1, 2, 3, 4, 5, 6)];
const STANDING = { pool: "standing", capacity: 50, price_minor: 3_000 };

/** Somebody in the form of an event in the hall, with pools beside the seats. */
async function enter(
  event: string,
  pools: { pool: string; capacity: number; price_minor: number }[] = [],
  options: Parameters<typeof visit>[1] = {},
): Promise<Visit> {
  await openEvent(server, event, {
    settings: { room: null, max_per_user: 100 },
    pools,
    plan: hall(),
    prices: { Floor: 9_000, Balcony: 4_500 },
  });
  return look(event, options);
}

async function look(event: string, options: Parameters<typeof visit>[1] = {}): Promise<Visit> {
  const buyer = await visit(browser, options);
  await buyer.page.goto(`${server.url}/events/${event}/choose`);
  await submit(buyer.page).waitFor();
  return buyer;
}

/** Somebody else is faster. */
async function take(event: string, body: Wish): Promise<void> {
  const wish = { token: await server.visitor(), key: "faster", body };
  expect((await server.ask("POST", `/events/${event}/bookings`, wish)).status).toBe(201);
}

const submit = (page: Page) => page.getByRole("button", { name: "Best seats" });
const unfold = (page: Page) => page.getByText("If that cannot be had, take …").click();
const others = (page: Page) => page.getByRole("group", { name: "If that cannot be had, take …" });
const other = (page: Page, name: string) => others(page).getByRole("checkbox", { name });
const told = (page: Page) => page.getByRole("alert").filter({ hasText: "Not what you asked for first" });

const GROUPS = "These seats in separate groups; nobody sits alone";
const WIDER = "Other seats in the house, also at other prices";

async function wantSeats(page: Page, quantity: number): Promise<void> {
  for (let seats = 2; seats < quantity; seats += 1)
    await page.getByRole("button", { name: "More: Seats" }).click();
}

/** The keys and bodies of all holds that the page asks for. */
function watchHolds(page: Page): { key: string; wish: Wish }[] {
  const asked: { key: string; wish: Wish }[] = [];
  page.on("request", (request) => {
    if (request.method() !== "POST" || !/\/events\/[^/]+\/bookings$/.test(request.url())) return;
    asked.push({ key: request.headers()["idempotency-key"]!, wish: request.postDataJSON() });
  });
  return asked;
}

test("who was too slow gets on a phone what they would rather have, and is told its price", async () => {
  const { page, complaints, close } = await enter("slow", [], PHONE);
  const asked = watchHolds(page);
  await wantSeats(page, 3);
  await page.getByRole("radio", { name: /^Balcony/ }).check();
  // Folded up, until somebody wants it.
  expect(await others(page).isVisible()).toBe(false);
  await page.getByText("If that cannot be had, take …").tap();
  expect(await others(page).getByRole("checkbox").count()).toBe(3);
  expect(await others(page).getByRole("checkbox", { checked: true }).count()).toBe(0);
  await other(page, WIDER).check();
  expect(await violations(page)).toEqual([]);
  await take("slow", { seats: BALCONY });
  await submit(page).tap();
  await heading(page, "Complete your booking");
  await told(page).getByText("You asked for this: 3 seats, Balcony.").waitFor();
  await told(page).getByText("costs €270.00 in all").waitFor();
  await page.getByRole("button", { name: "Pay €270.00" }).waitFor();
  expect(await violations(page)).toEqual([]);
  const { lines } = await bookingOf(server, page);
  expect(lines.seats!.filter((seat) => FLOOR.includes(seat))).toHaveLength(3);
  expect(asked.map(({ wish }) => wish)).toEqual([
    {
      best: { quantity: 3, categories: ["Balcony"], together: "prefer" },
      otherwise: [{ best: { quantity: 3, together: "prefer" } }],
    },
  ]);
  // Whoever comes back to the page is told it again.
  await page.reload();
  await told(page).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("who has said nothing is refused and told what there is, as before", async () => {
  const { page, complaints, close } = await enter("nothing", [STANDING]);
  const asked = watchHolds(page);
  await page.getByRole("radio", { name: /^Balcony/ }).check();
  await take("nothing", { seats: BALCONY });
  await submit(page).click();
  const alert = page.getByRole("alert").filter({ hasText: "There are no 2 such seats just now" });
  await alert.getByText("Nothing was held.").waitFor();
  expect(await alert.getByText("Nor can anything be had").count()).toBe(0);
  expect(await alert.getByRole("button").allInnerTexts()).toEqual(["Look in all categories and sections"]);
  expect(asked.map(({ wish }) => wish)).toEqual([
    { best: { quantity: 2, categories: ["Balcony"], together: "prefer" } },
  ]);
  expect((await server.ask("GET", "/events/nothing")).body.units.held).toBe(12);
  expect(complaints).toEqual([]);
  await close();
});

test("who gets what they asked for is told of nothing else", async () => {
  const { page, complaints, close } = await enter("had", [STANDING]);
  await wantSeats(page, 4);
  await page.getByRole("checkbox", { name: "Only if all are side by side" }).check();
  await unfold(page);
  await other(page, GROUPS).check();
  await other(page, "4 × Standing").check();
  await submit(page).click();
  await heading(page, "Complete your booking");
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(4);
  expect(await told(page).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("groups come before pools, and whoever sits apart is told so", async () => {
  const { page, complaints, close } = await enter("groups", [STANDING]);
  await wantSeats(page, 4);
  await page.getByRole("checkbox", { name: "Only if all are side by side" }).check();
  await unfold(page);
  await other(page, "4 × Standing").check();
  await other(page, GROUPS).check();
  await take("groups", { seats: [...BALCONY, "F-A-3", "F-A-6", "F-B-3", "F-B-6"] });
  await submit(page).click();
  await told(page).getByText("You asked for this: 4 seats, side by side.").waitFor();
  const { lines } = await bookingOf(server, page);
  expect(lines.pools).toBe(undefined);
  expect(lines.seats).toHaveLength(4);
  expect(complaints).toEqual([]);
  await close();
});

test("wishes go in order and at most five of them, each with what else is chosen", async () => {
  const terrace = { pool: "terrace", capacity: 50, price_minor: 2_500 };
  const { page, complaints, close } = await enter("order", [STANDING, terrace], PHONE);
  const asked = watchHolds(page);
  await wantSeats(page, 4);
  await page.getByRole("radio", { name: /^Balcony/ }).check();
  await page.getByRole("checkbox", { name: "Only if all are side by side" }).check();
  await page.getByRole("button", { name: "More: Terrace" }).tap();
  await page.getByText("If that cannot be had, take …").tap();
  const names = ["Only 3 seats", "4 × Terrace €25.00 each", "4 × Standing €30.00 each", WIDER, GROUPS];
  for (const name of names) await other(page, name).check();
  await page.getByText("(5 chosen)").waitFor();
  await others(page).getByText("5 of these at most.").waitFor();
  expect(await other(page, "Only 2 seats").isDisabled()).toBe(true);
  expect(await violations(page)).toEqual([]);

  // A reload forgets none of it, and shows it.
  await page.reload();
  await other(page, GROUPS).waitFor();
  expect(await others(page).getByRole("checkbox", { checked: true }).count()).toBe(5);
  await take("order", { seats: [...BALCONY, ...FLOOR], pools: { standing: 48 } });
  await submit(page).tap();
  await told(page).getByText("You asked for this: 4 seats, Balcony, side by side.").waitFor();
  const booking = await bookingOf(server, page);
  expect(booking.lines).toEqual({ pools: { terrace: 5 } });
  await told(page).getByText("costs €125.00 in all").waitFor();
  const best = { quantity: 4, categories: ["Balcony"], together: "must" };
  const pools = { terrace: 1 };
  expect(asked[0]!.wish).toEqual({
    pools,
    best,
    otherwise: [
      { pools, best: { ...best, together: "prefer" } },
      { pools, best: { quantity: 4, together: "prefer" } },
      { pools: { standing: 4, terrace: 1 } },
      { pools: { terrace: 5 } },
      { pools, best: { ...best, quantity: 3, together: "prefer" } },
    ],
  });
  expect(complaints).toEqual([]);
  await close();
});

test("where nothing can be had the first refusal is told, and nothing refused is offered again", async () => {
  const { page, complaints, close } = await enter("none");
  await wantSeats(page, 3);
  await page.getByRole("radio", { name: /^Balcony/ }).check();
  await unfold(page);
  await other(page, WIDER).check();
  await take("none", { seats: [...FLOOR, ...BALCONY.slice(2)] });
  await submit(page).click();
  const alert = page.getByRole("alert").filter({ hasText: "There are no 3 such seats just now" });
  await alert.getByText("Nor can anything be had that you would take instead.").waitFor();
  expect(await alert.getByRole("button").allInnerTexts()).toEqual(["Take 2"]);
  expect(await violations(page)).toEqual([]);
  // The offer is a wish by itself.
  await alert.getByRole("button", { name: "Take 2" }).click();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(2);
  expect(await told(page).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("answer that gets lost is asked for again with the same wishes and the same key", async () => {
  const { page, complaints, close } = await enter("lost", [STANDING]);
  const asked = watchHolds(page);
  let isLost = true;
  await page.route("**/api/v1/events/lost/bookings", async (route) => {
    if (!isLost) return route.continue();
    isLost = false;
    // The server does it, and nobody hears of it.
    await route.fetch();
    await route.abort("connectionreset");
  });
  await unfold(page);
  await other(page, "2 × Standing").check();
  await take("lost", { seats: [...FLOOR, ...BALCONY] });
  await submit(page).click();
  await told(page).waitFor();
  expect((await bookingOf(server, page)).lines).toEqual({ pools: { standing: 2 } });
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
  expect(asked[0]!.wish.otherwise).toEqual([{ pools: { standing: 2 } }]);
  expect((await server.ask("GET", "/events/lost")).body.units.held).toBe(26);
  expect(complaints).toEqual([]);
  await close();
});

test("answer that was lost before a reload is told of with what was asked for first", async () => {
  const { page, complaints, close } = await enter("reload");
  const asked = watchHolds(page);
  let isHeld = false;
  await page.route("**/api/v1/events/reload/bookings", async (route) => {
    if (isHeld) return route.continue();
    await route.fetch();
    isHeld = true;
    // No answer at all: the buyer loses patience.
  });
  await wantSeats(page, 3);
  await unfold(page);
  await other(page, "Only 2 seats").check();
  await take("reload", { seats: [...FLOOR, ...BALCONY.slice(2)] });
  await submit(page).click();
  await expect.poll(() => isHeld).toBe(true);
  await page.reload();
  await page.getByText("We do not know yet whether your choice is held").waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await told(page).getByText("You asked for this: 3 seats.").waitFor();
  expect((await bookingOf(server, page)).lines.seats).toHaveLength(2);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toEqual(asked[0]);
  expect(complaints).toEqual([]);
  await close();
});

test("other wishes are of the ticket types that were asked for, or are not offered", async () => {
  await openEvent(server, "family", {
    settings: { room: null, max_per_user: 100 },
    pools: [STANDING, { ...STANDING, pool: "terrace" }, { ...STANDING, pool: "lounge" }],
    plan: hall(),
    prices: { Floor: 9_000, Balcony: 4_500 },
  });
  const adult = { id: "adult", name: "Adult", percent_bp: 10_000 };
  const child = { id: "child", name: "Child", percent_bp: 5_000, max: 3 };
  const setTypes = (of: object, types: object[]) =>
    server.organise("PUT", "/events/family/types", { ...of, types, by: "ann", why: "families" });
  await setTypes({ category: "Floor" }, [adult]);
  await setTypes({ category: "Balcony" }, [adult, child]);
  await setTypes({ pool: "standing" }, [adult, child]);
  await setTypes({ pool: "terrace" }, [adult]);
  const { page, complaints, close } = await look("family");
  const asked = watchHolds(page);
  await page.getByRole("radio", { name: /^Balcony/ }).check();
  await unfold(page);
  const offered = () => others(page).locator(".name").allInnerTexts();
  expect(await offered()).toEqual([WIDER, "2 × Standing", "2 × Terrace", "2 × Lounge", "Only 1 seat"]);
  await page.getByRole("button", { name: "More: Child", exact: true }).click();
  // Neither Floor nor the terrace has children; whose seat would be one less is not known.
  expect(await offered()).toEqual(["3 × Standing", "3 × Lounge"]);
  await page.getByRole("button", { name: "More: Child, Standing" }).click();
  await other(page, "3 × Standing from €15.00").check();
  expect(await violations(page)).toEqual([]);
  await take("family", { seats: BALCONY });
  await submit(page).click();
  await told(page).getByText("costs €90.00 in all").waitFor();
  const { types } = await bookingOf(server, page);
  expect(types!.map(({ type, pools }) => [type.id, pools])).toEqual([
    ["adult", { standing: 2 }],
    ["child", { standing: 2 }],
  ]);
  expect(asked[0]!.wish.otherwise).toEqual([
    { pools: { standing: 4 }, types: { pools: { standing: { adult: 2, child: 2 } } } },
  ]);
  expect(complaints).toEqual([]);
  await close();
});

test("keyboard alone says what else would do", async () => {
  const { page, complaints, close } = await enter("keys", [STANDING]);
  await tabTo(page, page.locator("summary").filter({ hasText: "If that cannot be had, take …" }));
  await page.keyboard.press("Enter");
  await tabTo(page, other(page, "2 × Standing"));
  await page.keyboard.press("Space");
  await take("keys", { seats: [...FLOOR, ...BALCONY] });
  await tabTo(page, submit(page));
  await page.keyboard.press("Enter");
  await told(page).getByText("costs €60.00 in all").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test.each(["en", "th", "vi", "ko", "id"])("a phone shows all of it in %s", async (language) => {
  const event = `phone-${language}`;
  await openEvent(server, event, {
    settings: { room: null, max_per_user: 100 },
    pools: [{ pool: "standing-behind-the-mixing-desk", capacity: 50, price_minor: 1_234_567 }],
    plan: hall(),
    prices: { Floor: 9_000, Balcony: 4_500 },
  });
  const { page, complaints, close } = await visit(browser, {
    ...PHONE,
    viewport: { width: 360, height: 740 },
  });
  await page.addInitScript((language) => localStorage.setItem("onrush.language", language), language);
  await page.goto(`${server.url}/events/${event}/choose`);
  await page.locator(".kind").nth(2).tap();
  await page.locator("#otherwise-title").tap();
  const boxes = page.locator("[aria-labelledby=otherwise-title] input");
  for (let box = 0; box < (await boxes.count()); box += 1) await boxes.nth(box).check();
  const tooWide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(await tooWide()).toBeLessThanOrEqual(0);
  expect(await violations(page)).toEqual([]);
  await take(event, { seats: [...FLOOR, ...BALCONY] });
  await page.locator("form .button.primary").tap();
  await page.locator("[role=alert]").waitFor();
  expect((await bookingOf(server, page)).lines).toEqual({ pools: { "standing-behind-the-mixing-desk": 2 } });
  expect(await tooWide()).toBeLessThanOrEqual(0);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});
