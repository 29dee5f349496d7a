import type { Browser, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hold, signIn } from "./admin";
import { launch, violations, visit } from "./browser";
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

test("organiser archives a closed event, is told why not, and finds it in the list no more", async () => {
  const pools = [{ pool: "ga", capacity: 10, price_minor: 0 }];
  await openEvent(server, "over", { settings: { room: null }, pools });
  const held = await hold(server, "over", { pools: { ga: 1 } });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/over");
  await page.getByText("Open", { exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Archive the event" }).count()).toBe(0);
  await server.organise("POST", "/events/over/close");

  await page.getByRole("button", { name: "Archive the event" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("it is over");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Archive the event", exact: true }).click();
  await dialog.getByText("Somebody still waits, is inside or holds something.").waitFor();
  await server.organise("POST", `/events/over/bookings/${held.booking}/confirm`, {});
  await dialog.getByRole("button", { name: "Archive the event", exact: true }).click();
  await page.waitForURL(`${server.url}/admin`);
  expect((await server.ask("GET", "/events/over")).status).toBe(410);
  expect(await page.getByText("Event over", { exact: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("organiser is told that what is confirmed keeps an event until it begins", async () => {
  const pools = [{ pool: "ga", capacity: 10, price_minor: 0 }];
  const startsAt = Date.now() + 86_400_000;
  await openEvent(server, "soon", { settings: { room: null, starts_at: startsAt }, pools });
  const held = await hold(server, "soon", { pools: { ga: 1 } });
  const booking = `/events/soon/bookings/${held.booking}`;
  await server.organise("POST", `${booking}/confirm`, {});
  await server.organise("POST", "/events/soon/close");
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/soon");

  await page.getByRole("button", { name: "Archive the event" }).click();
  const dialog = page.getByRole("dialog");
  const stands = dialog.getByText("While a booking is confirmed it is not archived before that");
  await stands.waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByLabel("Reason").fill("called off");
  const archive = dialog.getByRole("button", { name: "Archive the event", exact: true });
  await archive.click();
  await dialog.getByText("Another step comes first.").waitFor();
  expect((await server.ask("GET", "/events/soon")).status).toBe(200);
  await server.organise("POST", `${booking}/cancel`, { why: "called off" });
  await stands.waitFor({ state: "detached" });
  await archive.click();
  await page.waitForURL(`${server.url}/admin`);
  expect((await server.ask("GET", "/events/soon")).status).toBe(410);
  expect(complaints).toEqual([]);
  await close();
});

test("event is archived although the answer to that was lost", async () => {
  const pools = [{ pool: "ga", capacity: 10, price_minor: 0 }];
  await openEvent(server, "lost", { settings: { room: null }, pools });
  await server.organise("POST", "/events/lost/close");
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/lost");
  let comes = false;
  await page.route("**/admin/events/lost/archive", async (route) => {
    if (comes) await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Archive the event" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("it is over");
  const archive = dialog.getByRole("button", { name: "Archive the event", exact: true });
  await archive.click();
  await dialog.getByRole("alert").waitFor();
  comes = true;
  await archive.click();
  await page.waitForURL(`${server.url}/admin`);
  expect((await server.ask("GET", "/events/lost")).status).toBe(410);
  await close();
});

test.each([
  ["ENGINE_UNREACHABLE", 503],
  ["INTERNAL", 500],
])("event is made although %s says only that it may have been", async (code, status) => {
  const event = `unheard-${status}`;
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/new");
  let comes = false;
  await page.route("**/api/v1/admin/events", async (route) => {
    if (comes) await route.fetch();
    await route.fulfill({
      status,
      contentType: "application/problem+json",
      body: JSON.stringify({ status, code, detail: "not now", retryable: status === 503 }),
    });
  });
  await page.getByLabel("Id", { exact: true }).fill(event);
  await page.getByLabel("Title", { exact: true }).fill("Unheard");
  await page.getByRole("radio", { name: "Through a waiting room" }).check();
  const create = page.getByRole("button", { name: "Create event" });
  await create.click();
  await page.getByText(/it is not known whether this was done\. .* nothing is done twice\./).waitFor();
  comes = true;
  await create.click();
  await page.waitForURL(`${server.url}/admin/events/${event}/edit`);
  expect((await server.ask("GET", `/events/${event}`)).status).toBe(200);
  await close();
});

test("what may have been changed is told apart from what was only to be read", async () => {
  await openEvent(server, "doubted", { settings: { room: null } });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/doubted/edit");
  const refuse = (route: Route, code: string) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({ status: 503, code, detail: "not now", retryable: true }),
    });
  const pools = page.getByRole("form", { name: "Add pool" });
  await pools.getByLabel("Pool id").fill("ga");
  await pools.getByLabel("Price in").fill("10");
  await pools.getByLabel("Units").fill("5");
  const doubt = page.getByText("What you changed may be done all the same.");
  for (const [code, why] of [
    ["ENGINE_UNREACHABLE", "The server gave no answer in time."],
    ["STOPPED", "The server is starting or stopping, or its engine has stopped."],
  ] as const) {
    await page.route("**/admin/events/doubted/pools", (route) => refuse(route, code), { times: 1 });
    await pools.getByRole("button", { name: "Add pool" }).click();
    await page.getByText(why).waitFor();
    await doubt.waitFor();
  }
  await pools.getByRole("button", { name: "Add pool" }).click();
  await page.locator("th", { hasText: /^ga$/ }).waitFor();

  await page.route("**/events/doubted/availability", (route) => refuse(route, "ENGINE_UNREACHABLE"));
  await page.reload();
  await page.getByText("Nothing is lost; please try again.").first().waitFor();
  expect(await doubt.count()).toBe(0);
  await close();
});

const INTERNAL = { status: 500, json: { status: 500, code: "INTERNAL", detail: "no", retryable: false } };

test.each([
  ["lost", "No answer came", (route: Route) => route.abort()],
  ["a proxy's", "No answer came", (route: Route) => route.fulfill({ status: 504, body: "<html>" })],
  ["INTERNAL", "Something went wrong on our side", (route: Route) => route.fulfill(INTERNAL)],
])("change whose answer is %s is said to be one of which nobody knows", async (what, why, answer) => {
  const event = `answer-${what.replaceAll(/\W/g, "-")}`;
  await openEvent(server, event, { settings: { room: null } });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, `/admin/events/${event}/edit`);
  const pools = page.getByRole("form", { name: "Add pool" });
  await pools.getByLabel("Pool id").fill("ga");
  await pools.getByLabel("Price in").fill("10");
  await pools.getByLabel("Units").fill("5");
  await page.route(`**/admin/events/${event}/pools`, async (route) => {
    await route.fetch();
    await answer(route);
  });
  await pools.getByRole("button", { name: "Add pool" }).click();
  const doubt = page.getByRole("alert").filter({ hasText: "it is not known whether this was done" });
  await doubt.filter({ hasText: why }).filter({ hasText: "look before you do it again" }).waitFor();
  expect(await violations(page)).toEqual([]);
  // Whoever looks, as they are told to, sees that it was done.
  await page.reload();
  await page.locator("th", { hasText: /^ga$/ }).waitFor();

  await page.route(`**/events/${event}/availability`, (route) => answer(route));
  await page.reload();
  await page.getByRole("alert").first().waitFor();
  expect(await doubt.count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
