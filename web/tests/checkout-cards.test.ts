import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, violations } from "./browser";
import { fillIn, heading, holdAndVisit, untilStatus, useCard } from "./checkout";
import { CARDS, openEvent, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "few", {
    settings: { title: "Few", room: null, max_per_card: 1 },
    pools: [{ pool: "standing", capacity: 10, price_minor: 3_000 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Holds a place, and types a card into the page where it is paid for. */
async function payWith(card: string) {
  const holder = await holdAndVisit(browser, server, "few", { pools: { standing: 1 } });
  await fillIn(holder.page);
  await holder.page.getByRole("button", { name: /^Pay/ }).click();
  await useCard(holder.page, card);
  await holder.page.goto(`${server.url}/bookings/${holder.booking}`);
  return holder;
}

test("card that has paid for enough is refused, and its buyer is told what to do", async () => {
  const first = await payWith(CARDS.good);
  await heading(first.page, "Your booking is confirmed");
  await first.close();

  const second = await payWith(CARDS.good);
  await untilStatus(server, second, "held");
  await second.page.getByText("Nothing was taken. Use another card.").waitFor();
  expect(await violations(second.page)).toEqual([]);
  expect(second.complaints).toEqual([]);
  await second.close();

  const third = await payWith(CARDS.unknown);
  await untilStatus(server, third, "held");
  await third.page.getByText("Pay with a card, by its number.").waitFor();
  await third.close();
});
