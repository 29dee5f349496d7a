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
