/** What the chooser knows of what was just held: the booking's page has no house to read for it then. */
import type { Booking } from "../../api/schema";
import { areTrue, readableLines } from "../checkout/lines";
import { remember, type Names } from "../checkout/memory";
import type { Sale } from "./sale.svelte";

/** Remembers what the lines of a booking are called and cost, if all of that is known as it was held. */
export function rememberNames(sale: Pick<Sale, "house" | "pools" | "categoryOf">, held: Booking): void {
  const { lines, types } = held;
  const names: Names = { seats: {}, pools: {} };
  for (const id of lines.seats ?? []) {
    const seat = sale.house?.indexOf(id);
    // Seats that were added since are in no house that was read before.
    if (!sale.house || seat === undefined) return;
    const row = sale.house.rows[sale.house.row[seat]!]!;
    const section = sale.house.sections[row.section]!.name;
    const number = sale.house.numbers[seat]!;
    const category = sale.house.categories[sale.house.category[seat]!]!.name;
    const priceMinor = sale.categoryOf(id)?.price_minor;
    const name = { section, row: row.name, number, category, priceMinor };
    names.seats[id] = sale.house.traits(seat)?.restrictedView ? { ...name, hasRestrictedView: true } : name;
  }
  for (const { pool, price_minor } of sale.pools) {
    if (lines.pools?.[pool] !== undefined) names.pools[pool] = price_minor;
  }
  // Prices may have changed since they were read here: then the booking's page reads them.
  const unitsMinor = held.amount_minor - held.fee_minor;
  if (areTrue(readableLines(lines, names, types), unitsMinor)) remember(held.booking, { names });
}
