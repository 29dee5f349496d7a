import type { Browser } from "playwright-core";
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
