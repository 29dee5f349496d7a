import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loseFirstAnswer, signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { ADMIN_KEY, openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const OFFICE = { by: "ann", why: "presale" };

/** An event of which the fan club has seats 1 and 2 of row A and 3 standing places. */
async function open(event: string): Promise<void> {
  await openEvent(server, event, {
    settings: { room: null },
    pools: [{ pool: "standing", capacity: 3, price_minor: 2_000 }],
    plan: smallPlan(2, 6),
    prices: { Stalls: 4_500 },
  });
  await server.organise("PUT", `/events/${event}/channels/fans`, { codes: ["Fans-2026"], ...OFFICE });
  const units = { pools: { standing: 3 }, seats: ["A-1", "A-2"], to: "fans", ...OFFICE };
  await server.organise("POST", `/events/${event}/allot`, units);
}

const seat = (page: Page, number: number) =>
  page.getByRole("group", { name: /^Row A,/ }).getByRole("button", { name: `Seat ${number},` });

test("a code opens seats and places that nobody else can have", async () => {
  await open("presale");
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/presale/choose`);
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await seat(page, 3).waitFor();
  expect(await seat(page, 1).isDisabled()).toBe(true);
  await page.getByText("none left").first().waitFor();

  await page.getByText("Have a code?").click();
  await page.getByLabel("Code").fill("fans-2027");
  await page.getByRole("button", { name: "Use code" }).click();
  await page.getByRole("alert").filter({ hasText: "No such code for this event." }).waitFor();
  await page.getByLabel("Code").fill(" FANS-2026");
  await page.keyboard.press("Enter");
  await page.getByText("Open for you: fans.").waitFor();
  await seat(page, 1).click();
  await seat(page, 2).click();
  await page.getByText("3 left").waitFor();
  expect(await violations(page)).toEqual([]);

  // A reload forgets neither the code nor the choice.
  await page.reload();
  await page.getByText("Open for you: fans.").waitFor();
  await page.getByRole("complementary").getByText("€90.00").waitFor();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL(/\/bookings\//);
  const shown = await server.ask("GET", "/admin/events/presale/channels", { token: ADMIN_KEY });
  expect(shown.body.channels[0]).toMatchObject({ taken: 2, pools: { standing: 3 }, categories: {} });
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  await close();
});

test("the organiser sets a channel up, moves units, and releases it", async () => {
  await openEvent(server, "office", {
    settings: { room: null },
    pools: [{ pool: "standing", capacity: 9, price_minor: 2_000 }],
    plan: smallPlan(2, 6),
    prices: { Stalls: 4_500 },
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/office");
  const panel = page.getByRole("region", { name: "Channels" }).first();
  await panel.getByRole("button", { name: "Show channels" }).click();
  await panel.getByRole("button", { name: "New channel" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Channel", { exact: true }).fill("fans");
  await dialog.getByLabel(/^Units that may be held/).fill("5");
  await dialog.getByLabel(/^Codes that open it/).fill("first-code\nsecond-code");
  await dialog.getByLabel("Its buyers come through the waiting room").check();
  await dialog.getByLabel("Reason").fill("presale");
  await dialog.getByRole("button", { name: "New channel" }).click();
  await panel.getByRole("rowheader", { name: "fans" }).waitFor();
  const { channels } = (await server.ask("GET", "/admin/events/office/channels", { token: ADMIN_KEY })).body;
  expect(channels[0]).toMatchObject({ channel: "fans", quota: 5, codes: 2, queued: true });

  // What somebody else has changed meanwhile is what the form begins with.
  await server.organise("PUT", "/events/office/channels/fans", {
    quota: 6,
    queued: true,
    why: "more of them",
  });
  await panel.getByRole("button", { name: "Change fans" }).click();
  await expect.poll(() => dialog.getByLabel(/^Units that may be held/).inputValue()).toBe("6");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });

  await panel.getByRole("button", { name: "Move units" }).click();
  await dialog.getByLabel(/^To/).selectOption("fans");
  await dialog.getByLabel("Pool").fill("standing");
  await dialog.getByLabel("Units", { exact: true }).fill("4");
  await dialog.getByLabel("Seats, by id").fill("A-1, A-2");
  await dialog.getByLabel("Reason").fill("their share");
  const keys: (string | undefined)[] = [];
  await page.route("**/admin/events/office/allot", async (route) => {
    keys.push((await route.request().headerValue("idempotency-key")) ?? undefined);
    if (keys.length > 1) return route.continue();
    await route.fulfill({
      status: 409,
      json: { code: "OUTCOME_UNKNOWN", status: 409, detail: "", retryable: false },
    });
  });
  const move = dialog.getByRole("button", { name: "Move", exact: true });
  await move.click();
  await dialog.getByText("This may have been done, or not.", { exact: false }).waitFor();
  await move.click();
  await panel.getByText("standing 4, Stalls 2").waitFor();
  await panel.getByText("their share", { exact: false }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await server.ask("GET", "/events/office/availability")).body.pools[0]).toMatchObject({
    free: 5,
    blocked: 4,
  });

  await panel.getByRole("button", { name: "Release now fans" }).click();
  await dialog.getByLabel("Reason").fill("the rest is for all");
  await dialog.getByRole("button", { name: "Release now" }).click();
  await panel.getByRole("row", { name: /^fans .*Released .*To everybody/ }).waitFor();
  const left = (await server.ask("GET", "/events/office/availability")).body;
  expect(left.pools[0]).toMatchObject({ free: 9, blocked: 0 });
  expect(left.categories[0]).toMatchObject({ free: 12, blocked: 0 });
  expect(new Set(keys).size).toBe(2);
  expect(complaints.filter((text) => !text.includes("409"))).toEqual([]);
  await close();
});

test("move whose answer is lost is to be looked for first, and has one key in its dialog", async () => {
  await open("unheard");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/unheard");
  const panel = page.getByRole("region", { name: "Channels" }).first();
  await panel.getByRole("button", { name: "Show channels" }).click();
  await panel.getByRole("button", { name: "Move units" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^To/).selectOption("fans");
  await dialog.getByLabel("Seats, by id").fill("B-1");
  await dialog.getByLabel("Reason").fill("their share");
  const asked = await loseFirstAnswer(page, "**/admin/events/unheard/allot");
  const move = dialog.getByRole("button", { name: "Move", exact: true });
  await move.click();
  const doubt = dialog.getByRole("alert").filter({ hasText: "it is not known whether this was done" });
  await doubt.filter({ hasText: "look before you do it again" }).waitFor();
  await move.click();
  // Under another key, the seat would be taken already.
  await dialog.waitFor({ state: "detached" });
  await panel.getByText("standing 3, Stalls 3").waitFor();
  expect(asked).toHaveLength(2);
  expect(asked[1]!.key).toBe(asked[0]!.key);
  expect(complaints).toEqual([]);
  await close();
});
