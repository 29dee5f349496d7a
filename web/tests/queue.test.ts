import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, visit } from "./browser";
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

const GA = [{ pool: "ga", capacity: 100, price_minor: 5_000 }];

/** An event with room for one, and people by the API who are in it or wait in front. */
async function eventWithOneInside(event: string, waiting = 0, room: Record<string, unknown> = {}) {
  await openEvent(server, event, { pools: GA, settings: { room: { capacity: 1, ...room } } });
  const tokens: string[] = [];
  for (let count = 0; count <= waiting; count += 1) {
    const token = await server.visitor();
    await server.ask("POST", `/events/${event}/queue`, { token });
    tokens.push(token);
  }
  await expect
    .poll(async () => (await server.ask("GET", `/events/${event}/queue`, { token: tokens[0]! })).body.status)
    .toBe("active");
  return tokens;
}

function leave(event: string, token: string) {
  return server.ask("DELETE", `/events/${event}/queue`, { token });
}

async function positionIs(page: Page, position: number): Promise<void> {
  await expect
    .poll(() => page.getByTestId("position").textContent(), { timeout: 15_000 })
    .toBe(String(position));
}

async function openQueue(page: Page, event: string): Promise<void> {
  await page.goto(`${server.url}/events/${event}/queue`);
}

test("visitor joins, moves up, is admitted and shows up", async () => {
  const [inside, ahead] = await eventWithOneInside("journey", 1);
  const { page, complaints, close } = await visit(browser, PHONE);
  await openQueue(page, "journey");
  await positionIs(page, 2);
  expect(await page.title()).toBe("2 · Event journey");
  await page.getByText("Live", { exact: true }).waitFor();

  await leave("journey", inside!);
  await positionIs(page, 1);
  await page.getByText("Nobody is ahead of you. You are next.").waitFor();
  await page.getByText("You have moved up 1 place since you came.").waitFor();

  await leave("journey", ahead!);
  await page.getByRole("heading", { name: "It is your turn!" }).waitFor();
  expect(await page.title()).toBe("Your turn! · Event journey");
  await page.getByRole("button", { name: "Enter now" }).click();
  await page.waitForURL(`${server.url}/events/journey/choose`);
  await page.goBack();
  await page.getByRole("heading", { name: "You are in" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});
