/** What the chooser leaves for the page of what was held. */
import { expect, test } from "vitest";
import type { Booking, Category, Pool, SeatPlan } from "../../src/api/schema";
import { recall } from "../../src/buyer/checkout/memory";
import { rememberNames } from "../../src/buyer/choose/held-names";
import { House } from "../../src/lib/seatmap/house";

const UNITS = { free: 10, held: 0, sold: 0, blocked: 0 };
const STALLS: Category = { name: "Stalls", price_minor: 4_500, all_in_minor: 4_725, ...UNITS };
const GA: Pool = { pool: "ga", price_minor: 3_000, all_in_minor: 3_150, capacity: 10, ...UNITS };
const PLAN: SeatPlan = {
  version: "v",
  seats: 2,
  categories: [STALLS],
  rows: [
    {
      section: "Left",
      row: "A",
      prefix: "L-A-",
      ids: ["1", "2"],
      category: 0,
      traits: { "0": { restricted_view: true } },
      x: [0, 2_500],
      y: [0, 0],
    },
  ],
};
const SALE = { house: House.ofPlan(PLAN, "ff"), pools: [GA], categoryOf: () => STALLS };

/** A booking with a percentage fee of 5 %. */
function held(booking: string, lines: Booking["lines"], unitsMinor: number): Booking {
  const costs = { fee_minor: unitsMinor / 20, amount_minor: unitsMinor + unitsMinor / 20 };
  const counts = { extensions: 0, payments_begun: 0, created_at: 1 };
  return { booking, event: "show", status: "held", lines, ...costs, ...counts };
}

test("lines have the names and prices that the chooser shows, without fees", () => {
  rememberNames(SALE, held("b-1", { seats: ["L-A-2"], pools: { ga: 2 } }, 10_500));
  expect(recall("b-1").names).toEqual({
    seats: { "L-A-2": { section: "Left", row: "A", number: "2", category: "Stalls", priceMinor: 4_500 } },
    pools: { ga: 3_000 },
  });
});

test("restricted view goes with the name of a seat", () => {
  rememberNames(SALE, held("b-4", { seats: ["L-A-1"] }, 4_500));
  expect(recall("b-4").names?.seats["L-A-1"]).toMatchObject({ number: "1", hasRestrictedView: true });
});

test("prices that changed before the hold are not remembered", () => {
  rememberNames(SALE, held("b-2", { seats: ["L-A-1"] }, 5_000));
  expect(recall("b-2").names).toBe(undefined);
});

test("seat that was added since is left to the booking's page, also where its price is known", () => {
  const type = { id: "adult", name: "Adult", proof: false };
  const types = [{ type, price_minor: 4_500, seats: ["new"] }];
  rememberNames(SALE, { ...held("b-3", { seats: ["new"] }, 4_500), types });
  expect(recall("b-3").names).toBe(undefined);
});
