/** What a buyer is told of seats beside their names and prices. */
import { i18n, t } from "../../lib/i18n.svelte";
import type { House } from "../../lib/seatmap/house";
import { seatName } from "./names";

/** What is special about a seat, in words; empty for an ordinary one. */
export function traitsText(house: House, seat: number): string {
  const traits = house.traits(seat);
  if (!traits) return "";
  const keptFor = house.keptFor(seat);
  const place = keptFor === undefined ? undefined : house.indexOf(keptFor);
  const said = [
    traits.wheelchair && t("seats.is_wheelchair"),
    keptFor !== undefined &&
      t("seats.is_companion", { name: place === undefined ? keptFor : seatName(house, place) }),
    traits.easyAccess && t("seats.is_easy_access"),
    traits.restrictedView && t("seats.is_restricted_view"),
  ];
  const list = new Intl.ListFormat(i18n.language, { type: "unit" });
  return list.format(said.filter((text) => text !== false));
}

/** Several seats by name, each with what is special about it, as a list of the language. */
export function namesWithTraits(house: House, seats: readonly number[]): string {
  const names = seats.map((seat) => {
    const name = seatName(house, seat);
    const traits = traitsText(house, seat);
    return traits === "" ? name : t("seats.seat_with_traits", { name, traits });
  });
  return new Intl.ListFormat(i18n.language).format(names);
}
