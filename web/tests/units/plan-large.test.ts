/** Work on plans as large as an arena: what it comes to is counted, not timed. */
import { expect, test } from "vitest";
import { addAisle, aislesOf, removeAisles } from "../../src/admin/plan/model/arrange";
import { mapSeats, type Plan, placesOf, textOf } from "../../src/admin/plan/model/document";
import { chosen, hall } from "./plans";

/** The plan, with how often the places of its seats were read. */
function counted(plan: Plan): { plan: Plan; reads: () => number } {
  let reads = 0;
  const all = chosen(plan, () => true);
  const counting = mapSeats(plan, all, (seat) =>
    Object.defineProperty({ ...seat }, "position", {
      enumerable: true,
      get: () => {
        reads += 1;
        return seat.position;
      },
    }),
  );
  return { plan: counting, reads: () => reads };
}

test("the aisles of an arena close in one walk through its seats", () => {
  const { plan, keys } = hall({ rows: 500, seats: 120 });
  const cut = addAisle(
    plan,
    chosen(plan, ({ seat }) => textOf(seat.seat_number) === "60"),
    1,
  );
  expect(aislesOf(cut).size).toBe(500);
  const { plan: arena, reads } = counted(cut);
  const closed = removeAisles(arena, keys);
  // A walk through all seats for each of 500 rows would be 30 million.
  expect(reads()).toBeLessThan(60_000 * 20);
  expect(placesOf(closed).map(({ x, y }) => [x, y])).toEqual(placesOf(plan).map(({ x, y }) => [x, y]));
});

test.each(["straight", "curved"] as const)("a %s row of many aisles closes at once", (shape) => {
  const { plan, keys } = hall({ shape, rows: 1, seats: 300, radius: 5_000 });
  let cut = plan;
  for (let after = 5; after < 300; after += 5) {
    const one = chosen(cut, ({ seat }) => textOf(seat.seat_number) === String(after));
    cut = addAisle(cut, one, 1.5);
  }
  expect(aislesOf(cut).size).toBe(59);
  const closed = removeAisles(cut, keys);
  expect(aislesOf(closed).size).toBe(0);
  for (const [nth, { x, y }] of placesOf(closed).entries()) {
    const was = placesOf(plan)[nth]!;
    expect(Math.hypot(x - was.x, y - was.y)).toBeLessThan(2);
  }
});
