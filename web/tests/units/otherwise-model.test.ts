import { expect, test } from "vitest";
import type { Booking, Category, Lines, Pool, TicketType, Wish } from "../../src/api/schema";
import { isOther, othersFor, withOthers } from "../../src/buyer/choose/otherwise";
import { House } from "../../src/lib/seatmap/house";

const type = (id: string, more: Partial<TicketType> = {}): TicketType => {
  return { id, name: id, price_minor: 1_000, all_in_minor: 1_000, min: 0, proof: false, ...more };
};
const pool = (pool: string, types?: TicketType[]) =>
  ({ pool, all_in_minor: 2_000, free: 9, ...(types && { types }) }) as Pool;
const category = (name: string, types?: TicketType[]) =>
  ({ name, all_in_minor: 4_000, ...(types && { types }) }) as Category;

const CATEGORIES = [category("Floor"), category("Balcony")];
const STAY = { pool: "deluxe", from: "2026-12-24", nights: 2, rooms: 1 };

function idsFor(first: Wish, onSale: Partial<Parameters<typeof othersFor>[1]> = {}): string[] {
  return othersFor(first, { categories: CATEGORIES, pools: [pool("ga")], ...onSale }).map(({ id }) => id);
}

const best = (quantity: number, more: Partial<NonNullable<Wish["best"]>> = {}): Wish => {
  return { best: { quantity, together: "must", ...more } };
};

test("what is offered depends on what is asked for", () => {
  const cases: [Wish, string[]][] = [
    [{ pools: { ga: 2 } }, []],
    [best(1), ["pool ga"]],
    [best(2), ["pool ga", "fewer 1"]],
    [best(3, { sections: ["Stalls"] }), ["wider", "pool ga", "fewer 2", "fewer 1"]],
    [best(4, { categories: ["Floor"] }), ["split", "wider", "pool ga", "fewer 3", "fewer 2"]],
    [best(4, { together: "prefer" }), ["pool ga", "fewer 3", "fewer 2"]],
    // Who comes in a wheelchair keeps places and companions.
    [best(4, { accessible: 1, categories: ["Floor"] }), ["wider"]],
    [best(4, { accessible: 1 }), []],
  ];
  for (const [wish, ids] of cases) expect(idsFor(wish)).toEqual(ids);
});

test("what is chosen beside the seats goes with every other wish, with its types", () => {
  const beside: Wish = {
    pools: { ga: 1 },
    seats: ["A-1"],
    stays: [STAY],
    types: { pools: { ga: { child: 1 } }, seats: { "A-1": "child" } },
  };
  const first = { ...beside, best: { quantity: 2, together: "prefer" as const } };
  const others = othersFor(first, {
    categories: CATEGORIES,
    pools: [pool("ga", [type("adult"), type("child")])],
  });
  expect(withOthers(first, others)).toEqual({
    ...first,
    otherwise: [
      { ...beside, pools: { ga: 3 } },
      { ...beside, best: { quantity: 1, together: "prefer" } },
    ],
  });
  expect(withOthers(first, [])).toBe(first);
});

test("numbers of a type that no booking may have are not offered", () => {
  const three = [type("adult", { min: 3 }), type("child", { max: 1 })];
  const categories = [category("Floor", [type("adult"), type("child")]), category("Balcony", three)];
  const wish = (counts: Record<string, number>): Wish => {
    const quantity = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { ...best(quantity, { categories: ["Balcony"] }), types: { best: counts } };
  };
  const pools = [pool("ga", three), pool("vip")];
  expect(idsFor(wish({ adult: 3 }), { categories, pools })).toEqual(["wider", "pool ga", "pool vip"]);
  expect(idsFor(wish({ child: 2 }), { categories, pools })).toEqual(["wider", "pool vip", "fewer 1"]);
  // Units that nobody has named a type for are of the first.
  expect(idsFor(best(2), { pools })).toEqual(["pool vip", "fewer 1"]);
  expect(idsFor(best(3), { pools })).toEqual(["pool ga", "pool vip", "fewer 2", "fewer 1"]);
});

test("whether it is the first wish that was granted is read from the lines", () => {
  const categories = ["Floor", "Balcony"].map((name) => ({ name, color: "#000000", priceMinor: 4_000 }));
  const house = new House(
    ["Floor", "Balcony"].flatMap((section, y) =>
      Array.from({ length: 6 }, (_, x) => ({
        id: `${section[0]}-${x + 1}`,
        section,
        row: "A",
        number: String(x + 1),
        category: section,
        status: "free" as const,
        x: x * 25,
        y: y * 100,
      })),
    ),
    categories,
  );
  const held = (lines: Lines) => ({ lines }) as Booking;
  const groups: Wish = { ...best(4), otherwise: [best(4, { together: "prefer" })] };
  const balcony: Wish = { ...best(2, { categories: ["Balcony"] }), otherwise: [best(2)] };
  const stay: Wish = { ...best(1), stays: [STAY], seats: ["F-1"], otherwise: [{ pools: { ga: 1 } }] };
  const nights = { "deluxe.2026-12-25": 1, "deluxe.2026-12-24": 1 };
  const cases: [Wish, Lines, boolean][] = [
    [groups, { seats: ["F-2", "F-3", "F-4", "F-5"] }, false],
    [groups, { seats: ["F-1", "F-2", "F-4", "F-5"] }, true],
    [balcony, { seats: ["B-1", "B-2"] }, false],
    [balcony, { seats: ["F-1", "F-2"] }, true],
    [balcony, { seats: ["B-1"] }, true],
    [balcony, { pools: { ga: 2 } }, true],
    [stay, { pools: nights, seats: ["B-1", "F-1"] }, false],
    [stay, { pools: { ...nights, ga: 1 }, seats: ["F-1"] }, true],
    // Nothing else was wanted.
    [best(2), { seats: ["B-1"] }, false],
  ];
  for (const [first, lines, is] of cases) expect(isOther(house, first, held(lines))).toBe(is);
});
