import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "./browser";
import { fillIn, heading, holdAndVisit, useCard } from "./checkout";
import { enter } from "./scenes";
import { CARDS, openEvent, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "show", {
    settings: { title: "The show", room: null, max_per_email: 2 },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
  await openEvent(server, "gift", {
    settings: { title: "A gift", room: null, max_per_email: 1 },
    pools: [{ pool: "standing", capacity: 100, price_minor: 0 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("address that has enough pays for no more, and another one does", async () => {
  const first = await holdAndVisit(browser, server, "show", { pools: { standing: 2 } });
  await fillIn(first.page);
  await first.page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(first.page, CARDS.good);
  await first.close();

  const { page, complaints, close } = await holdAndVisit(browser, server, "show", { pools: { standing: 1 } });
  await fillIn(page);
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.getByText("Tickets of this event that one e-mail address may pay for: 2.").waitFor();
  await heading(page, "Complete your booking");
  await page.getByLabel("E-mail address").fill("bob@example.org");
  await page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(page, CARDS.good);
  expect(complaints.filter((complaint) => !complaint.includes("409"))).toEqual([]);
  await close();
});

test("what is free of charge needs an address where that counts", async () => {
  const { page, close } = await holdAndVisit(browser, server, "gift", { pools: { standing: 1 } });
  await page.getByText("This event limits how many tickets one e-mail address may have").waitFor();
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Please enter your name.").waitFor();
  await fillIn(page);
  await page.getByRole("button", { name: "Confirm" }).click();
  await heading(page, "Your booking is confirmed");
  await close();
});

test("buyer reads of the limit in their own language", async () => {
  const token = await server.visitor();
  const key = "hold-th";
  const lines = { pools: { standing: 3 } };
  const held = await server.ask("POST", "/events/show/bookings", { token, key, body: lines });
  const { page, close } = await enter(browser, server, { token }, "th");
  await page.goto(`${server.url}/bookings/${held.body.booking}`);
  await page.locator("#buyer-name").fill("Ann Lee");
  await page.locator("#buyer-email").fill("cid@example.org");
  await page.locator("form.pay button[type=submit]").click();
  await page.getByText("จำนวนตั๋วของงานนี้ที่อีเมลหนึ่งชำระได้: 2").waitFor();
  await close();
});
