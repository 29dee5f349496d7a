/** What is asked for by who would rather hold other seats than none, if somebody was faster. */
import type { Wish } from "../../api/schema";
import type { House } from "../../lib/seatmap/house";
import { MOST_SEATS } from "./best.svelte";

/**
 * Whether others can stand in for these seats: not for wheelchair places and what is kept for their
 * companions, nor for more than one order leaves to the server. Nor where they are of several
 * categories or sections, as the server would take any of them for any seat, at any of their prices; nor
 * of several ticket types, as which seat is of which only names tell.
 */
export function canBeOthers(
  house: House,
  seats: readonly string[],
  types: Readonly<Record<string, string>> = {},
): boolean {
  const known = seats.map((id) => house.indexOf(id)).filter((seat) => seat !== undefined);
  if (known.length !== seats.length || known.length > MOST_SEATS) return false;
  const areAlike = (values: readonly unknown[]) => new Set(values).size === 1;
  return (
    !known.some((seat) => house.isForWheelchairs(seat)) &&
    areAlike(known.map((seat) => house.section[seat])) &&
    areAlike(known.map((seat) => house.category[seat])) &&
    areAlike(seats.map((id) => types[id]))
  );
}

/**
 * The same wish, with the best seats of the same section and category should one of its seats be gone. Only
 * for seats that others can stand in for.
 */
export function orOthers(house: House, { seats = [], types = {}, ...wish }: Wish): Wish {
  const [seat] = seats.map((id) => house.indexOf(id)!);
  const { seats: named, ...others } = types;
  const [type] = Object.values(named ?? {});
  const kept = { ...others, ...(type !== undefined && { best: { [type]: seats.length } }) };
  return {
    ...wish,
    ...(Object.keys(kept).length > 0 && { types: kept }),
    best: {
      quantity: seats.length,
      first_choice: [...seats],
      sections: [house.sections[house.section[seat!]!]!.name],
      categories: [house.categories[house.category[seat!]!]!.name],
      together: "prefer",
    },
  };
}
