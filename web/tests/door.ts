/** What the tests of check-in have in common. */
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { hold, type Sold } from "./admin";
import { visit } from "./browser";
import { CARDS, openEvent, type Server, smallPlan } from "./server";

/** The event `door` that tickets are sold for: seats A-1 to B-5, and the pool `ga`. */
export async function openDoor(server: Server): Promise<void> {
  await openEvent(server, "door", {
    settings: { room: null },
    plan: smallPlan(2, 5),
    prices: { Stalls: 4_000 },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
}

/** Types a ticket's code, and checks it in. */
export async function typeIn(page: Page, code: string): Promise<void> {
  await page.getByLabel("Ticket code").fill(code);
  await page.getByRole("button", { name: "Check in", exact: true }).click();
}

/** A visitor who holds these lines and pays under this name. */
export async function buy(
  browser: Browser,
  server: Server,
  event: string,
  lines: unknown,
  name: string,
): Promise<Sold> {
  const held = await hold(server, event, lines);
  const buyer = { name, email: "ann@example.org", language: "en" };
  const payment = await server.ask("POST", `/bookings/${held.booking}/payment`, {
    token: held.token,
    key: "pay",
    body: { buyer },
  });
  const payer = await visit(browser);
  await payer.page.goto(payment.body.url);
  await payer.page.locator("input").first().fill(CARDS.good);
  await payer.page.getByRole("button").first().click();
  const status = async () =>
    (await server.ask("GET", `/bookings/${held.booking}`, { token: held.token })).body.status;
  await expect.poll(status, { timeout: 20_000 }).toBe("confirmed");
  await payer.close();
  return held;
}

/** Lets the server's answers wait from now on, until the returned function is called. */
export async function holdAnswers(page: Page): Promise<() => void> {
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/v1/check-in", async (route) => {
    await held;
    await route.continue();
  });
  return () => answer();
}
