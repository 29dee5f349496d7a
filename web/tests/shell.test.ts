import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, visit } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("page that does not exist says so and leads back", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/a/b/c`);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.getByRole("link", { name: "All events" }).click();
  await page.waitForURL(`${server.url}/`);
  expect(complaints).toEqual([]);
  await close();
});

test("documents have the policy, and what is below assets is kept for good", async () => {
  const response = await fetch(`${server.url}/`, { headers: { "accept-encoding": "gzip" } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-security-policy")).toContain("script-src 'self'; connect-src 'self'");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await response.text())![1]!;
  const part = await fetch(server.url + script);
  expect(part.headers.get("cache-control")).toContain("immutable");
  const again = await fetch(server.url + script, { headers: { "if-none-match": part.headers.get("etag")! } });
  expect(again.status).toBe(304);
});

/** A page that was opened before the server was updated asks for parts that are gone. */
test("page whose next part is gone is loaded anew, once", async () => {
  const { page, close } = await visit(browser);
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  let isGone = () => loads < 2;
  await page.route(/\/assets\/Bookings-.*\.js/, (route) =>
    isGone() ? route.fulfill({ status: 404 }) : route.continue(),
  );
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("heading", { level: 1, name: "My bookings" }).waitFor();
  expect(loads).toBe(2);

  // What is gone for good is told, and nothing goes round in circles.
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  isGone = () => true;
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  expect(loads).toBe(4);
  await close();
});

test("page without a network keeps what it shows", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await page.context().setOffline(false);
  await close();
});
