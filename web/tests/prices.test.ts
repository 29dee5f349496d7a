import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, PHONE, violations, visit } from "./browser";
import { holdAndVisit } from "./checkout";
import { openEvent, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "taxed", {
    settings: {
      title: "Taxed",
      room: null,
      fees: { fixed_minor: 100, percent_bp: 500 },
      tax: { name: "VAT", rate_bp: 1_900 },
    },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
    plan: smallPlan(2, 5),
    prices: { Stalls: 4_500 },
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("prices have their fees inside from the first page on, and the booking's fee beside them", async () => {
  const { page, complaints, close } = await visit(browser, PHONE);
  await page.goto(server.url);
  const card = page.getByRole("listitem").filter({ hasText: "Taxed" });
  await card.getByText("€31.50 to €47.25").waitFor();
  await card.getByText("plus €1.00 per booking").waitFor();

  await page.goto(`${server.url}/events/taxed`);
  await page.getByRole("row", { name: /Stalls\s+€47\.25/ }).waitFor();
  await page.getByText("€1.00 for each booking").waitFor();
  await page.getByText("VAT of 19% is included.").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("order says how much of it is tax, and of each line on demand", async () => {
  const lines = { seats: ["A-1"], pools: { standing: 2 } };
  const { page, complaints, close } = await holdAndVisit(browser, server, "taxed", lines, PHONE);
  const order = page.getByRole("region", { name: "Your order" });
  await order.getByRole("row", { name: /^Total €111\.25$/ }).waitFor();
  await order.getByRole("row", { name: /^VAT 19%, included €17\.76$/ }).waitFor();
  await order.getByText("Tax line by line").click();
  const parts = order.getByRole("table").last();
  await parts.getByRole("row", { name: /^Stalls, row A, seat 1 / }).waitFor();
  expect(await parts.getByRole("row").allInnerTexts()).toEqual([
    expect.stringMatching(/^Item\s+Net\s+VAT\s+Price$/),
    expect.stringMatching(/^2 × Standing\s+€50\.42\s+€9\.58\s+€60\.00$/),
    expect.stringMatching(/^Stalls, row A, seat 1\s+€37\.82\s+€7\.18\s+€45\.00$/),
    expect.stringMatching(/^Fees\s+€5\.25\s+€1\.00\s+€6\.25$/),
    expect.stringMatching(/^Total\s+€93\.49\s+€17\.76\s+€111\.25$/),
  ]);
  expect(await violations(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});
