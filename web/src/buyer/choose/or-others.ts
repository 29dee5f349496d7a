/** What is asked for by who would rather hold other seats than none, if somebody was faster. */
import type { Wish } from "../../api/schema";
import type { House } from "../../lib/seatmap/house";
import { MOST_SEATS } from "./best.svelte";

/**
 * Whether others can stand in for these seats: not for wheelchair places and what is kept for their
 * companions, nor for more than one order leaves to the server. Nor where they are of several ticket
 * types: which seat is of which only names tell.
 */
export function canBeOthers(
  house: House,
  seats: readonly string[],
  types: Readonly<Record<string, string>> = {},
): boolean {
  const isAnyones = (id: string) => {
    const seat = house.indexOf(id)!;
    return !house.traits(seat)?.wheelchair && house.keptFor(seat) === undefined;
  };
  const isKnown = (id: string) => house.indexOf(id) !== undefined;
  if (new Set(seats.map((id) => types[id])).size > 1) return false;
  return seats.length > 0 && seats.length <= MOST_SEATS && seats.every((id) => isKnown(id) && isAnyones(id));
}

/** The same wish, with the best seats of the same sections and categories should one of its seats be gone. */
export function orOthers(house: House, { seats = [], types = {}, ...wish }: Wish): Wish {
  const indexes = seats.map((id) => house.indexOf(id)!);
  const sections = indexes.map((seat) => house.sections[house.section[seat]!]!.name);
  const categories = indexes.map((seat) => house.categories[house.category[seat]!]!.name);
  const { seats: named, ...others } = types;
  const [type] = Object.values(named ?? {});
  const kept = { ...others, ...(type !== undefined && { best: { [type]: seats.length } }) };
  return {
    ...wish,
    ...(Object.keys(kept).length > 0 && { types: kept }),
    best: {
      quantity: seats.length,
      first_choice: [...seats],
      sections: [...new Set(sections)].sort(),
      categories: [...new Set(categories)].sort(),
      together: "prefer",
    },
  };
}
