/** What the tests of the organiser's pages have in common. */
import type { Page } from "playwright-core";
import { ADMIN_KEY, type Server } from "./server";

/** Signs in at this page and waits until it is there. */
export async function signIn(page: Page, server: Server, to = "/admin", key = ADMIN_KEY): Promise<void> {
  await page.goto(server.url + to);
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
}

export interface Sold {
  booking: string;
  token: string;
}

/** A visitor who joins, holds these lines, and pays at the box office. */
export async function sell(server: Server, event: string, lines: unknown): Promise<Sold> {
  const held = await hold(server, event, lines);
  await server.organise("POST", `/events/${event}/bookings/${held.booking}/confirm`, {
    payment: `box-office-${held.booking.slice(-8)}`,
  });
  return held;
}

/** A visitor who joins, if there is a queue, and holds these lines. */
export async function hold(server: Server, event: string, lines: unknown): Promise<Sold> {
  const token = await server.visitor();
  await server.ask("POST", `/events/${event}/queue`, { token });
  const answer = await server.ask("POST", `/events/${event}/bookings`, { token, key: "one", body: lines });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return { booking: answer.body.booking, token };
}

/** The code of a booking's first ticket. */
export async function ticketCode(server: Server, sold: Sold): Promise<string> {
  const answer = await server.ask("GET", `/bookings/${sold.booking}/tickets`, { token: sold.token });
  return answer.body.tickets[0].code;
}

/** What a page asked for. */
export interface Asked {
  key: string | undefined;
  body: unknown;
}

/** Has what pages ask for there done, and loses the first answer; all that is asked for. Looks go on. */
export async function loseFirstAnswer(page: Page, to: string): Promise<Asked[]> {
  const asked: Asked[] = [];
  await page.route(to, async (route) => {
    const request = route.request();
    if (request.method() === "GET") return route.continue();
    asked.push({ key: request.headers()["idempotency-key"], body: request.postDataJSON() });
    if (asked.length > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  return asked;
}
