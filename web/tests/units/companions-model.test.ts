import { expect, test } from "vitest";
import { canBeOthers } from "../../src/buyer/choose/or-others";
import { House, type SeatLike, type Status } from "../../src/lib/seatmap/house";

/** A wheelchair place, its companion's seat, and a seat like any other. */
function house(place: Status): House {
  const seat = (number: string, more: Partial<SeatLike> = {}): SeatLike => {
    const id = `A-${number}`;
    return { id, section: "Stalls", row: "A", number, category: "Stalls", status: "free", ...more };
  };
  return new House(
    [seat("1", { wheelchair: true, status: place }), seat("2", { companion_of: "A-1" }), seat("3")],
    [{ name: "Stalls", color: "#000000", priceMinor: 4_000 }],
  );
}

test("companion's seat is kept until its place is sold", () => {
  for (const status of ["free", "held", "blocked"] as const) {
    const kept = house(status);
    expect(kept.keptFor(1)).toBe("A-1");
    expect(kept.isLookedFor(1, "wheelchair")).toBe(true);
    expect(canBeOthers(kept, ["A-2", "A-3"])).toBe(false);
  }
  const sold = house("sold");
  expect(sold.keptFor(1)).toBe(undefined);
  expect(sold.keptFor(2)).toBe(undefined);
  expect(sold.isLookedFor(0, "wheelchair")).toBe(true);
  expect(sold.isLookedFor(1, "wheelchair")).toBe(false);
  expect(canBeOthers(sold, ["A-2", "A-3"])).toBe(true);
});

test("companion's seat is kept again once its place is given back", () => {
  const given = house("sold");
  given.setStatus(0, "free");
  expect(given.keptFor(1)).toBe("A-1");
  expect(canBeOthers(given, ["A-2"])).toBe(false);
});
