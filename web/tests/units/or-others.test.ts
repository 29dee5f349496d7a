/** Which chosen seats others may stand in for, and what is asked for then. */
import { expect, test } from "vitest";
import { canBeOthers, orOthers } from "../../src/buyer/choose/or-others";
import { House, type SeatLike } from "../../src/lib/seatmap/house";

/** Premium and standard seats in the stalls, and standard ones on the balcony. */
function house(): House {
  const seat = (id: string, section: string, category: string): SeatLike => {
    return { id, section, row: id[0]!, number: id.slice(2), category, status: "free" };
  };
  return new House(
    [
      seat("A-1", "Stalls", "Premium"),
      seat("A-2", "Stalls", "Premium"),
      seat("B-1", "Stalls", "Standard"),
      seat("B-2", "Stalls", "Standard"),
      seat("B-3", "Stalls", "Standard"),
      seat("C-1", "Balcony", "Standard"),
    ],
    [
      { name: "Premium", color: "#000000", priceMinor: 12_000 },
      { name: "Standard", color: "#666666", priceMinor: 4_000 },
    ],
  );
}

test.each([
  ["one seat", ["A-1"], true],
  ["seats of one section and category", ["B-1", "B-2", "B-3"], true],
  ["a dear seat and cheap ones", ["A-1", "B-1", "B-2", "B-3"], false],
  ["seats of one category in two sections", ["B-1", "C-1"], false],
  ["seats of two sections and two categories", ["A-1", "C-1"], false],
  ["a seat that the house does not know", ["A-1", "Z-1"], false],
  ["no seat", [], false],
])("whether others stand in for %s: %o, %s", (_, seats, can) => {
  expect(canBeOthers(house(), seats)).toBe(can);
});

test("others are asked for in the section and the category of the seats, and nowhere else", () => {
  const seats = ["C-1"];
  expect(orOthers(house(), { pools: { ga: 1 }, seats })).toEqual({
    pools: { ga: 1 },
    best: {
      quantity: 1,
      first_choice: seats,
      sections: ["Balcony"],
      categories: ["Standard"],
      together: "prefer",
    },
  });
});
