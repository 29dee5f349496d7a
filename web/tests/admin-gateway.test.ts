import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hold, signIn } from "./admin";
import { launch, violations, visit } from "./browser";
import { CARDS, openEvent, Server } from "./server";

const SANDBOX_SECRET = "a-sandbox-for-the-pages";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  const settings = { ONRUSH_SANDBOX_SECRET: SANDBOX_SECRET };
  [server, browser] = await Promise.all([Server.start(settings), launch()]);
  await openEvent(server, "tour", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 100, price_minor: 4_500 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Holds a unit and pays for it; the booking, and the payment at the sandbox. */
async function pay(): Promise<{ booking: string; payment: URL }> {
  const held = await hold(server, "tour", { pools: { ga: 1 } });
  const wish = { token: held.token, key: "pay" };
  const { body } = await server.ask("POST", `/bookings/${held.booking}/payment`, wish);
  const form = new URLSearchParams({ action: "pay", card: CARDS.good });
  await fetch(body.url, { method: "POST", body: form, headers: { accept: "application/json" } });
  const status = async () =>
    (await server.ask("GET", `/bookings/${held.booking}`, { token: held.token })).body.status;
  await expect.poll(status, { timeout: 20_000 }).toBe("confirmed");
  return { booking: held.booking, payment: new URL(`/v1/payments/${body.payment}`, body.url) };
}

/** Has the gateway's own desk give a payment back. */
async function giveBack(payment: URL): Promise<void> {
  const done = await fetch(`${payment}/desk`, {
    method: "POST",
    headers: { authorization: `Bearer ${SANDBOX_SECRET}` },
    body: JSON.stringify({ do: "refund", amount_minor: 4_500 }),
  });
  expect(done.status).toBe(200);
}

/** The table of what the gateway's own desk did, once so many of it wait for somebody. */
async function waitingAtDesk(page: Page, count: number): Promise<Locator> {
  const table = page.getByRole("region", { name: "At the gateway’s own desk" });
  await expect
    .poll(async () => {
      await page.reload();
      await page.getByRole("heading", { name: "At the gateway’s own desk" }).waitFor();
      return table.getByText("Money went back").count();
    })
    .toBe(count);
  return table;
}

test("what the gateway's own desk did is on the pages until somebody settles it", async () => {
  const { booking, payment } = await pay();
  await giveBack(payment);
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/money");
  const table = await waitingAtDesk(page, 1);
  await table.getByRole("link", { name: booking }).waitFor();
  await page.getByText("1 thing that the gateway’s own desk did waits for you.").waitFor();
  expect(await violations(page)).toEqual([]);

  await table.getByRole("button", { name: "Settle" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("the buyer keeps the ticket");
  await dialog.getByRole("button", { name: "Settle" }).click();
  await page.getByText("Nothing was done there.").waitFor();
  await page.getByLabel("Only what nobody settled").uncheck();
  await table.getByText("admin: the buyer keeps the ticket").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("what was typed about one entry of the desk is not said about another", async () => {
  await giveBack((await pay()).payment);
  await giveBack((await pay()).payment);
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/money");
  const settle = (await waitingAtDesk(page, 2)).getByRole("button", { name: "Settle" });
  const dialog = page.getByRole("dialog");
  await settle.first().click();
  await dialog.getByLabel("Reason").fill("the buyer keeps the ticket");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await settle.last().click();
  expect(await dialog.getByLabel("Reason").inputValue()).toBe("");
  await close();
});

test("a gateway that refuses our key is told in the control room, with what to do", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.route("**/api/v1/admin/gateway", (route) =>
    route.fulfill({
      json: {
        gateway: "stripe",
        state: "key_refused",
        since: 1_790_000_000_000,
        last_failure: { kind: "key_refused", why: "status 401: no such key", at: 1_790_000_000_000 },
        what_to_do: "set stripe.secret_key to a key that Stripe accepts",
        desk_open: 0,
      },
    }),
  );
  await signIn(page, server, "/admin/events/tour");
  const notice = page.getByRole("alert");
  await notice.getByText("The payment gateway does not accept our key").waitFor();
  await notice.getByText("set stripe.secret_key to a key that Stripe accepts").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});
