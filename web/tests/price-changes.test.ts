import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "early", {
    settings: { title: "Early birds", room: null },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
    plan: smallPlan(2, 5),
    prices: { Stalls: 4_500 },
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("organiser changes a price, now and later, and buyers are told both", async () => {
  const organiser = await visit(browser);
  await signIn(organiser.page, server, "/admin/events/early");
  const prices = organiser.page.getByRole("region", { name: "Prices" });
  await prices.getByRole("button", { name: "Change price standing" }).click();
  const dialog = organiser.page.getByRole("dialog", { name: "Price of standing" });
  await dialog.getByLabel("Price from now on, in EUR").fill("20");
  await dialog.getByRole("button", { name: "Add a price to come" }).click();
  await dialog.getByLabel("From when on").fill("2036-05-01T10:30");
  await dialog.getByLabel("Price in EUR", { exact: true }).fill("35.50");
  expect(await violations(organiser.page)).toEqual([]);
  await dialog.getByLabel("Reason").fill("early birds");
  await dialog.getByRole("button", { name: "Change price", exact: true }).click();
  await dialog.waitFor({ state: "detached" });

  const row = prices.getByRole("row", { name: /^standing €20\.00/ });
  await row.getByText(/May 1, 2036.*: €35\.50/).waitFor();
  await prices.getByRole("button", { name: "How prices changed" }).click();
  await prices.getByText("early birds").waitFor();
  await prices.getByText(/€30\.00.*€20\.00/).waitFor();
  expect(organiser.complaints).toEqual([]);
  await organiser.close();

  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(`${server.url}/events/early`);
  const offer = page.getByRole("row", { name: /^Standing\s+€20\.00/ });
  await offer.getByText(/^from May 1, 2036.*: €35\.50$/).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("price that is past keeps the dialog open, says why and changes nothing", async () => {
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/early");
  await page.getByRole("button", { name: "Change price Stalls" }).click();
  const dialog = page.getByRole("dialog", { name: "Price of Stalls" });
  await dialog.getByRole("button", { name: "Add a price to come" }).click();
  await dialog.getByLabel("From when on").fill("2020-05-01T10:30");
  await dialog.getByLabel("Price in EUR", { exact: true }).fill("1");
  await dialog.getByLabel("Reason").fill("a mistake");
  await dialog.getByRole("button", { name: "Change price", exact: true }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByRole("button", { name: "Remove this price 1" }).click();
  expect(await dialog.getByLabel("From when on").count()).toBe(0);
  const left = (await server.ask("GET", "/events/early/availability")).body;
  expect(left.categories[0].price_minor).toBe(4_500);
  expect(complaints.filter((complaint) => !complaint.includes("422"))).toEqual([]);
  await close();
});
