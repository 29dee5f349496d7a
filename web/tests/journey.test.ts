import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, visit } from "./browser";
import { CARDS, openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("fan with a phone queues, is let in, takes a seat, pays, has a ticket that opens the door", async () => {
  await openEvent(server, "tour", {
    settings: { title: "Winter tour", room: { capacity: 1 } },
    plan: smallPlan(4, 8),
    prices: { Stalls: 4_500 },
  });
  const early = await server.visitor();
  await server.ask("POST", "/events/tour/queue", { token: early });

  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(server.url);
  await page.getByRole("link", { name: "Winter tour" }).click();
  await page.getByRole("link", { name: "Join the waiting room" }).click();
  await page.getByText("Nobody is ahead of you. You are next.").waitFor();

  // Whoever was in leaves, and the next one is let in.
  await server.ask("DELETE", "/events/tour/queue", { token: early });
  await page.getByRole("button", { name: "Enter now" }).click();
  await page.waitForURL("**/events/tour/choose");
  await page.getByRole("button", { name: "Choose from a list" }).click();
  await page
    .getByRole("group", { name: /^Row A,/ })
    .getByRole("button", { name: /^Seat 3,/ })
    .click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await page.waitForURL("**/bookings/tour.*");
  await page.getByLabel("Name").fill("Ann Lee");
  await page.getByLabel("E-mail address").fill("ann@example.org");
  await page.getByRole("button", { name: /^Pay/ }).click();

  // The sandbox's page, and back by its own link.
  await page.locator("input[name=card]").fill(CARDS.good);
  await page.getByRole("button", { name: /pay/i }).click();
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await page.waitForURL(`${server.url}/bookings/tour.*`);
  await page
    .getByRole("link", { name: /ticket/i })
    .first()
    .click();
  await page.getByRole("img", { name: /code/i }).waitFor();
  const booking = /bookings\/([^/]+)/.exec(page.url())![1]!;
  const token = JSON.parse((await page.evaluate(() => localStorage.getItem("onrush.visitor")))!).token;
  const { body } = await server.ask("GET", `/bookings/${booking}/tickets`, { token });
  expect(body.tickets.map((ticket: { for: unknown }) => ticket.for)).toEqual([{ seat: "A-3" }]);
  const entry = await server.organise("POST", "/../check-in", { code: body.tickets[0].code });
  expect(entry.name).toBe("Ann Lee");
  expect(complaints).toEqual([]);
  await close();

  const audit = await server.audit();
  expect(audit).toMatchObject({ violations: 0, sold: 1, captured_minor: 4_500, confirmed_minor: 4_500 });
});
