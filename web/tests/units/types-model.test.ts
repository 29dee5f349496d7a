import { beforeEach, expect, test, vi } from "vitest";
import type { Booking, Category, Pool, TicketType, UnitsOfType, Wish } from "../../src/api/schema";
import { BestWish } from "../../src/buyer/choose/best.svelte";
import { Choice } from "../../src/buyer/choose/choice.svelte";
import { isFor } from "../../src/buyer/choose/hold";
import { canBeOthers, orOthers } from "../../src/buyer/choose/or-others";
import { atMost, offeredTypes, outOfLimits, typesFor } from "../../src/buyer/choose/types";
import { areTrue, readableLines } from "../../src/buyer/checkout/lines";
import { offersOf } from "../../src/buyer/events/stock";
import { House } from "../../src/lib/seatmap/house";

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
    removeItem: (name: string) => stored.delete(name),
  });
});

const type = (id: string, minor: number, more: Partial<TicketType> = {}): TicketType => ({
  id,
  name: id.toUpperCase(),
  price_minor: minor,
  all_in_minor: minor,
  min: 0,
  proof: false,
  ...more,
});
const ADULT = type("adult", 2_000);
const CHILD = type("child", 1_000, { min: 1, max: 4, proof: true });
const pool = (types?: TicketType[]) => ({ pool: "ga", all_in_minor: 2_000, ...(types && { types }) }) as Pool;
const category = (name: string, types?: TicketType[]) =>
  ({ name, all_in_minor: 4_000, ...(types && { types }) }) as Category;

function house(): House {
  const categories = ["Stalls", "Balcony"].map((name) => ({ name, color: "#000000", priceMinor: 4_000 }));
  const seat = (id: string, category: string) => {
    return { id, section: category, row: "A", number: id, category, status: "free" as const };
  };
  return new House([seat("A-1", "Stalls"), seat("A-2", "Stalls"), seat("B-1", "Balcony")], categories);
}

test("types that several categories have are offered with the loosest bounds and all their prices", () => {
  const balcony = [type("child", 500, { min: 3, max: 9 }), type("senior", 900), ADULT];
  expect(offeredTypes([[ADULT, CHILD], balcony])).toEqual([
    { id: "adult", name: "ADULT", proof: false, min: 0, fromMinor: 2_000, toMinor: 2_000 },
    { id: "child", name: "CHILD", proof: true, min: 1, max: 9, fromMinor: 500, toMinor: 1_000 },
  ]);
  const [child] = offeredTypes([[CHILD], [type("child", 500)]]);
  expect(child!.max).toBe(undefined);
  expect(offeredTypes([[ADULT], undefined])).toEqual([]);
  expect(offeredTypes([])).toEqual([]);
});

test("types to choose from are those of one category, or those that all have", () => {
  const all = [category("Stalls", [ADULT, CHILD]), category("Balcony", [ADULT])];
  const ids = (name: string | undefined) => typesFor(all, name).map(({ id }) => id);
  expect(ids("Stalls")).toEqual(["adult", "child"]);
  expect(ids(undefined)).toEqual(["adult"]);
});

test.each([
  [{}, []],
  [{ group: 2 }, ["group"]],
  [{ group: 3 }, []],
  [{ group: 6, child: 5 }, ["group", "child"]],
])("of %o these are too few or too many: %o", (counts, wrong) => {
  const group = type("group", 800, { min: 3, max: 5 });
  expect(outOfLimits([ADULT, group, CHILD], counts).map(({ id }) => id)).toEqual(wrong);
});

test("units that are too many are of the last types", () => {
  expect(atMost({ adult: 2, child: 3 }, 4)).toEqual({ adult: 2, child: 2 });
  expect(atMost({ adult: 2, child: 3 }, 2)).toEqual({ adult: 2 });
  expect(atMost({ adult: 2 }, 5)).toEqual({ adult: 2 });
});

test("a choice names its types, the same text for the same choice, also after a reload", () => {
  const choice = new Choice("tour");
  choice.setPoolTypes("ga", { child: 1, adult: 2 });
  choice.toggleSeat("A-2");
  choice.toggleSeat("A-1");
  choice.setSeatType("A-1", "child");
  expect(choice.units).toBe(5);
  const text =
    '{"pools":{"ga":3},"seats":["A-1","A-2"],' +
    '"types":{"pools":{"ga":{"adult":2,"child":1}},"seats":{"A-1":"child"}}}';
  expect(JSON.stringify(choice.wish)).toBe(text);
  expect(JSON.stringify(new Choice("tour").wish)).toBe(text);

  choice.toggleSeat("A-1");
  choice.setPoolTypes("ga", {});
  expect(choice.wish).toEqual({ seats: ["A-2"] });
});

test("what there is no type for any more is not chosen any more", () => {
  const choice = new Choice("tour");
  choice.setPoolTypes("ga", { adult: 2, child: 1 });
  choice.toggleSeat("A-1");
  choice.setSeatType("A-1", "child");
  const stalls = (types?: TicketType[]) => () => category("Stalls", types);
  expect(choice.tidyTypes([pool([ADULT, CHILD])], stalls([ADULT, CHILD]))).toBe(false);
  expect(choice.tidyTypes([pool([ADULT])], stalls([ADULT]))).toBe(true);
  expect(choice.wish).toEqual({
    pools: { ga: 2 },
    seats: ["A-1"],
    types: { pools: { ga: { adult: 2 } } },
  });
  expect(choice.tidyTypes([pool()], stalls())).toBe(true);
  expect(choice.wish).toEqual({ pools: { ga: 2 }, seats: ["A-1"] });
  expect(choice.tidyTypes([pool([CHILD, ADULT])], stalls())).toBe(true);
  expect(choice.wish.types).toEqual({ pools: { ga: { child: 2 } } });
});

test("the best seats are of the first type until others are named, and never more than may be had", () => {
  const wish = new BestWish("tour");
  expect(wish.countsFor([], 20)).toEqual({});
  expect(wish.countsFor(["adult", "child"], 20)).toEqual({ adult: 2 });
  wish.setCounts({ adult: 2, child: 2 });
  expect(wish.quantity).toBe(4);
  expect(wish.countsFor(["adult", "child"], 20)).toEqual({ adult: 2, child: 2 });
  expect(wish.countsFor(["adult", "child"], 3)).toEqual({ adult: 2, child: 1 });
  // A category without a type that was named: the others stay as they were.
  expect(wish.countsFor(["adult", "senior"], 20)).toEqual({ adult: 2 });
  expect(new BestWish("tour").countsFor(["adult", "child"], 20)).toEqual({ adult: 2, child: 2 });
});

test("other seats stand in only for seats of one type, and are of that one", () => {
  const seats = ["A-1", "A-2"];
  expect(canBeOthers(house(), seats, {})).toBe(true);
  expect(canBeOthers(house(), seats, { "A-1": "child", "A-2": "child" })).toBe(true);
  expect(canBeOthers(house(), seats, { "A-1": "child" })).toBe(false);
  const wish: Wish = {
    pools: { ga: 1 },
    seats,
    types: { pools: { ga: { child: 1 } }, seats: { "A-1": "child", "A-2": "child" } },
  };
  const { best, seats: named, types } = orOthers(house(), wish);
  expect(best).toMatchObject({ quantity: 2, first_choice: seats });
  expect(named).toBe(undefined);
  expect(types).toEqual({ pools: { ga: { child: 1 } }, best: { child: 2 } });
  expect(orOthers(house(), { seats }).types).toBe(undefined);
});

test("a booking is what was asked for only if its units are of the types that were named", () => {
  const held = (types: UnitsOfType[]) =>
    ({ lines: { pools: { ga: 3 }, seats: ["A-1"] }, types }) as unknown as Booking;
  const units = (id: string, more: Partial<UnitsOfType>): UnitsOfType => {
    return { type: { id, name: id, proof: false }, price_minor: 1, ...more };
  };
  const wish: Wish = {
    pools: { ga: 3 },
    seats: ["A-1"],
    types: { pools: { ga: { adult: 2, child: 1 } }, seats: { "A-1": "child" } },
  };
  const right = [
    units("adult", { pools: { ga: 2 } }),
    units("child", { pools: { ga: 1 } }),
    units("child", { seats: ["A-1"] }),
  ];
  expect(isFor(held(right), wish)).toBe(true);
  expect(isFor(held([units("adult", { pools: { ga: 3 } }), right[2]!]), wish)).toBe(false);
  expect(isFor(held([right[0]!, right[1]!, units("adult", { seats: ["A-1"] })]), wish)).toBe(false);
  expect(isFor(held(right), { pools: { ga: 3 }, seats: ["A-1"] })).toBe(true);
});

test("a booking's lines are told type by type, at the prices that it has them at", () => {
  const adult = { id: "adult", name: "Adult", proof: false };
  const child = { id: "child", name: "Child", proof: true };
  const lines = {
    pools: { ga: 3, plain: 1, "deluxe.2026-12-24": 1, "deluxe.2026-12-25": 1 },
    seats: ["A-1"],
  };
  const types: UnitsOfType[] = [
    { type: adult, price_minor: 2_000, pools: { ga: 2 } },
    { type: child, price_minor: 1_000, pools: { ga: 1, "deluxe.2026-12-24": 1, "deluxe.2026-12-25": 1 } },
    { type: child, price_minor: 900, seats: ["A-1"] },
  ];
  const names = { seats: {}, pools: { ga: 9, plain: 500, "deluxe.2026-12-24": 9, "deluxe.2026-12-25": 9 } };
  const told = readableLines(lines, names, types);
  expect(told).toEqual([
    { kind: "pool", pool: "ga", units: 2, type: adult, priceMinor: 2_000 },
    { kind: "pool", pool: "ga", units: 1, type: child, priceMinor: 1_000 },
    { kind: "pool", pool: "plain", units: 1, priceMinor: 500 },
    {
      kind: "stay",
      room: "deluxe",
      from: "2026-12-24",
      nights: 2,
      rooms: 1,
      type: child,
      priceMinor: 2_000,
    },
    { kind: "seat", seat: "A-1", section: "", row: "", number: "A-1", type: child, priceMinor: 900 },
  ]);
  expect(areTrue(told, 4_000 + 1_000 + 500 + 2_000 + 900)).toBe(true);
});

test("an offer with types costs from the cheapest to the dearest of them", () => {
  const counts = { free: 5, held: 0 };
  const later = [{ from: 1, price_minor: 9_000, all_in_minor: 9_000 }];
  const stalls = { ...category("Stalls", [ADULT, CHILD]), ...counts, later };
  const [offer] = offersOf({ pools: [], categories: [stalls] } as never);
  expect(offer).toMatchObject({ fromMinor: 1_000, toMinor: 2_000 });
  expect(offer!.types!.map(({ name }) => name)).toEqual(["ADULT", "CHILD"]);
  expect(offer!.next).toBe(undefined);
});
