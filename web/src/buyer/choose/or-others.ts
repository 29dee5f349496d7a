/** What is asked for by who would rather hold other seats than none, if somebody was faster. */
import type { Wish } from "../../api/schema";
import type { House } from "../../lib/seatmap/house";
import { MOST_SEATS } from "./best.svelte";

/**
 * Whether others can stand in for these seats: not for wheelchair places and companions' seats, nor
 * for more than one order leaves to the server.
 */
export function canBeOthers(house: House, seats: readonly string[]): boolean {
  const isAnyones = (id: string) => {
    const traits = house.traits(house.indexOf(id)!);
    return !traits?.wheelchair && traits?.companionOf === undefined;
  };
  const isKnown = (id: string) => house.indexOf(id) !== undefined;
  return seats.length > 0 && seats.length <= MOST_SEATS && seats.every((id) => isKnown(id) && isAnyones(id));
}

/** The same wish, with the best seats of the same sections and categories should one of its seats be gone. */
export function orOthers(house: House, { seats = [], ...wish }: Wish): Wish {
  const indexes = seats.map((id) => house.indexOf(id)!);
  const sections = indexes.map((seat) => house.sections[house.section[seat]!]!.name);
  const categories = indexes.map((seat) => house.categories[house.category[seat]!]!.name);
  return {
    ...wish,
    best: {
      quantity: seats.length,
      first_choice: [...seats],
      sections: [...new Set(sections)].sort(),
      categories: [...new Set(categories)].sort(),
      together: "prefer",
    },
  };
}
