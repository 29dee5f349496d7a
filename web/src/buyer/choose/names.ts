/** What seats are called, in the buyer's language. */
import type { BestSeats } from "../../api/schema";
import { i18n, t } from "../../lib/i18n.svelte";
import type { House } from "../../lib/seatmap/house";

/** "Stalls, row A, seat 12": as much of it as the plan says. */
export function seatName(house: House, seat: number): string {
  const row = house.rows[house.row[seat]!]!;
  const section = house.sections[row.section]!.name;
  const number = house.numbers[seat]!;
  if (section !== "" && row.name !== "")
    return t("seats.seat_in_section_row", { section, row: row.name, number });
  if (section !== "") return t("seats.seat_in_section", { section, number });
  if (row.name !== "") return t("seats.seat_in_row", { row: row.name, number });
  return t("seats.seat_alone", { number });
}

/** Several seats, as a list of the language. */
export function seatNames(house: House, seats: readonly number[], language: string): string {
  return new Intl.ListFormat(language).format(seats.map((seat) => seatName(house, seat)));
}

/** What best seats were asked for: "4 seats, Balcony, side by side". */
export function bestName({ quantity, categories = [], sections = [], together }: BestSeats): string {
  const words = [t("seats.best_asked", { n: quantity }), ...new Set([...categories, ...sections])];
  if (together === "must" && quantity > 1) words.push(t("seats.best_asked_together"));
  return new Intl.ListFormat(i18n.language, { type: "unit" }).format(words);
}
