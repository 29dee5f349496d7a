import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { launch, loaded, violations, visit } from "./browser";
import { openEvent, SCANNER_KEY, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "tour", { pools: [{ pool: "ga", capacity: 10, price_minor: 4500 }] });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("wrong key is refused in words, the right one leads to the page that was asked for", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/admin/inventory`);
  await page.getByLabel("Key", { exact: true }).fill("no-such-key-at-all");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("This key is not right").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel("Key", { exact: true }).fill("an-admin-key-for-tests");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Inventory", level: 1 }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Inventory", level: 1 }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("provider's link leads back to what was asked for, where URLSearchParams has no size", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.addInitScript(() => void Reflect.deleteProperty(URLSearchParams.prototype, "size"));
  await page.route("**/api/v1/session/ways", (route) =>
    route.fulfill({ json: { oidc: { name: "Hall of Ours" } } }),
  );
  await page.goto(`${server.url}/admin/bookings?status=confirmed`);
  const link = page.getByRole("link", { name: "Sign in with Hall of Ours" });
  const to = new URL((await link.getAttribute("href"))!, server.url).searchParams.get("to");
  expect(to).toBe("/admin/bookings?status=confirmed");
  expect(complaints).toEqual([]);
  await close();
});

test("who signs out is out, also after a reload", async () => {
  const { page, close } = await visit(browser);
  await signIn(page, server);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Organiser sign-in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Organiser sign-in" }).waitFor();
  await close();
});

test("session that ends while somebody types loses nothing", async () => {
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/new");
  await page.getByLabel("Id", { exact: true }).fill("typed");
  await page.getByLabel("Title", { exact: true }).fill("Typed before the session ended");
  await page.context().clearCookies();
  await page.getByRole("radio", { name: "Everybody may buy at once" }).check();
  await page.getByRole("button", { name: "Create event" }).click();
  await page.getByText("Your session has ended").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByText("Your session has ended").waitFor();
  await page.getByLabel("Key", { exact: true }).fill("an-admin-key-for-tests");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${server.url}/admin/events/typed/edit`);
  const { body } = await server.ask("GET", "/events/typed");
  expect(body.title).toBe("Typed before the session ended");
  await close();
});

test("dialog during which the session ended does what it was asked, signed in again", async () => {
  await openEvent(server, "paused", { pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }] });
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/paused");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.context().clearCookies();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  const signing = page.getByRole("dialog", { name: "Organiser sign-in" });
  await signing.getByLabel("Key", { exact: true }).fill("an-admin-key-for-tests");
  expect(await violations(page)).toEqual([]);
  await signing.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await server.ask("GET", "/events/paused")).body.phase).toBe("paused");
  await close();
});

test("another tab's sign-in does not stop this one from changing things", async () => {
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/events/new");
  const other = await page.context().newPage();
  await other.goto(`${server.url}/admin`);
  await other.getByRole("button", { name: "Sign out", exact: true }).click();
  await signIn(other, server);
  await page.getByLabel("Id", { exact: true }).fill("two-tabs");
  await page.getByLabel("Title", { exact: true }).fill("Two tabs");
  await page.getByRole("radio", { name: "Everybody may buy at once" }).check();
  await page.getByRole("button", { name: "Create event" }).click();
  await page.waitForURL(`${server.url}/admin/events/two-tabs/edit`);
  await close();
});

test("scanner key opens check-in and nothing else", async () => {
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin", SCANNER_KEY);
  await page.waitForURL(`${server.url}/admin/check-in`);
  await page.getByRole("heading", { name: "Check-in" }).waitFor();
  expect(await page.getByRole("navigation").getByRole("link").count()).toBe(1);
  await page.goto(`${server.url}/admin/bookings`);
  await page.waitForURL(`${server.url}/admin/check-in`);
  await close();
});

test("every page is without violations", async () => {
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server);
  const pages = {
    "": "Events",
    "/events/new": "New event",
    "/events/tour/edit": "Event tour",
    "/bookings": "Bookings",
    "/sagas": "Sagas",
    "/money": "Payments and refunds",
    "/feed": "Feed",
    "/messages": "Messages",
    "/flags": "Flags",
    "/inventory": "Inventory",
    "/actions": "Who did what",
    "/check-in": "Check-in",
  };
  for (const [to, heading] of Object.entries(pages)) {
    await page.goto(`${server.url}/admin${to}`);
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await loaded(page);
    expect(await violations(page), to).toEqual([]);
  }
  expect(complaints).toEqual([]);
  await close();
});
