/** Which chairs of a plan are on sale already under other ids, and when that is asked about. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fitSize, moveBy } from "../../src/admin/plan/model/arrange";
import type { Plan } from "../../src/admin/plan/model/document";
import { planOf, seatsOf } from "../../src/admin/plan/model/file";
import { numberRows } from "../../src/admin/plan/model/number";
import { type Twins, twinsOf } from "../../src/admin/plan/model/twins";
import { findTwins } from "../../src/admin/plan/send";
import { TwinCheck } from "../../src/admin/plan/twin-check.svelte";
import { hall } from "./plans";

interface Chair {
  id: string;
  /** Those of no plan stand nowhere. */
  x?: number;
  y?: number;
  section?: string;
  row?: string;
  number?: string;
}

/** What is on sale, and what the server was asked. */
let onSale: Chair[];
let asked: string[];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", (to: string) => {
    asked.push(to);
    return Promise.resolve(Response.json({ event: "house", at: 0, categories: [], seats: onSale }));
  });
});

afterEach(() => void vi.unstubAllGlobals());

/** A plan of these chairs: places add up from section, row and seat. */
function planWith(chairs: Chair[]): Plan {
  return planOf({
    name: "House",
    size: { width: 1_000, height: 1_000 },
    categories: [{ name: "One", color: "#3366cc" }],
    zones: chairs.map(({ id, x = 0, y = 0, section, row, number }) => ({
      name: section,
      position: { x: x - 8, y: 0 },
      rows: [
        {
          row_number: row,
          position: { x: 0, y: y - 4 },
          seats: [{ seat_guid: id, seat_number: number, category: "One", position: { x: 8, y: 4 } }],
        },
      ],
    })),
  });
}

const A1: Chair = { id: "A-1", section: "Stalls", row: "A", number: "1", x: 25, y: 30 };
const A2: Chair = { ...A1, id: "A-2", number: "2", x: 50 };
const SAME_SPOT = ["a", "b", "c"].map((id): Chair => ({ ...A1, id }));

const CASES: [what: string, there: Chair[], plan: Chair[], twins: number][] = [
  ["no chair where nothing is on sale", [], [A1, A2], 0],
  ["no chair that is on sale under its own id", [A1, A2], [A2, A1], 0],
  ["a chair that has another id", [A1, A2], [{ ...A1, id: "new" }, A2], 1],
  ["each chair that has another id", [A1, A2], [A1, A2].map((seat) => ({ ...seat, id: seat.id + "x" })), 2],
  ["a chair whose section is called something else", [A1], [{ ...A1, id: "new", section: "Circle" }], 1],
  ["a chair whose section has no name any more", [A1], [{ ...A1, id: "new", section: undefined }], 1],
  ["a chair whose row and number are others", [A1], [{ ...A1, id: "new", row: "B", number: "9" }], 1],
  ["a chair without row and number", [{ id: "1", x: 25, y: 30 }], [{ id: "2", x: 25, y: 30 }], 1],
  ["no other chair without row and number", [{ id: "1", x: 25, y: 30 }], [{ id: "2", x: 50, y: 30 }], 0],
  ["no chair of the same name that stands elsewhere", [A1], [{ ...A1, id: "new", x: 50 }], 0],
  ["no chair of the same number in another row", [A1], [{ ...A1, id: "B-1", row: "B", y: 60 }], 0],
  ["no chair whose places are exchanged", [A1], [{ ...A1, id: "new", x: 30, y: 25 }], 0],
  ["no chair whose digits are the same", [{ id: "1", x: 1, y: 23 }], [{ id: "2", x: 10.02, y: 3 }], 0],
  ["a chair that has the id of another", [A1, A2], [{ ...A1, id: "A-2" }], 1],
  ["a chair whose last digits differ", [{ ...A1, x: 25 - 1e-9, y: 30 + 1e-9 }], [{ ...A1, id: "new" }], 1],
  ["a chair at the origin, on either side of it", [{ id: "1", x: -1e-9, y: 0 }], [{ id: "2" }], 1],
  ["no chair a hundredth further", [A1], [{ ...A1, id: "new", x: 25.01 }], 0],
  ["no chair a hundredth further back", [A1], [{ ...A1, id: "new", y: 30.01 }], 0],
  ["no chair at the origin for one that stands nowhere", [{ id: "1" }], [{ id: "2", x: 0, y: 0 }], 0],
  ["none of three on top of each other that are sent again", SAME_SPOT, [...SAME_SPOT].reverse(), 0],
  ["a fourth on top of three, once", SAME_SPOT, [{ ...A1, id: "d" }, ...SAME_SPOT], 1],
  ["each of three on top of one", [A1], SAME_SPOT, 3],
  ["the new one of two on top of each other", [A1], [A1, { ...A1, id: "new" }], 1],
];

test.each(CASES)("a plan would sell twice: %s", async (_, there, chairs, twins) => {
  onSale = there;
  expect(await findTwins("house", planWith(chairs))).toEqual({ count: twins, isMoved: false });
  expect(asked).toEqual(["/api/v1/events/house/seats"]);
});

/** Three rows of four. */
const BLOCK: Chair[] = ["A", "B", "C"].flatMap((row, back) =>
  [1, 2, 3, 4].map((number) => ({ id: `${row}-${number}`, x: 25 * number, y: 30 + 30 * back })),
);
/** Places that hundredths do not tell. */
const THIRDS = BLOCK.map((chair) => ({ ...chair, x: (chair.x! * 76) / 75 }));

/** These chairs that far away, with the editor's rounding, and with other ids. */
function moved(chairs: Chair[], x: number, y: number, prefix = "new-"): Chair[] {
  const rounded = (place: number) => Math.round(place * 100) / 100;
  return chairs.map((it) => ({ id: prefix + it.id, x: rounded(it.x! + x), y: rounded(it.y! + y) }));
}

const [EAST, NORTH] = [moved(BLOCK, 500, 0, "E-"), moved(BLOCK, 1_000, 0, "N-")];
/** Nine rows of four, with room for a row behind each. */
const RELEASED = Array.from({ length: 9 }, (_, back) =>
  [1, 2, 3, 4].map((number) => ({ id: `${back}-${number}`, x: 25 * number, y: 30 + 60 * back })),
).flat();
const LAST_ROW = BLOCK.filter(({ id }) => id.startsWith("C"));

const MOVED: [what: string, there: Chair[], plan: Chair[], twins: number][] = [
  ["each chair of a house that was moved a little", BLOCK, moved(BLOCK, 5, 0), 12],
  ["each chair of a house that was moved half a seat", BLOCK, moved(BLOCK, -12.5, 15), 12],
  ["each chair of a house that was moved by one seat", BLOCK, moved(BLOCK, 25, 0), 12],
  ["each chair of a house that was moved far", BLOCK, moved(BLOCK, 543.21, -90.5), 12],
  ["each chair whose place was rounded as it was moved", THIRDS, moved(THIRDS, 7.005, 0), 12],
  ["no chair that was moved with its id", BLOCK, moved(BLOCK, 5, 5, ""), 0],
  [
    "the chairs of a house that was moved whose row is called something else",
    BLOCK,
    [...moved(BLOCK.slice(0, 8), 5, 0, ""), ...moved(LAST_ROW, 5, 0)],
    4,
  ],
  [
    "each chair that is left of a house that was moved, and none that is new",
    BLOCK,
    [...moved(BLOCK.slice(0, 7), 5, 9), { id: "x", x: 700, y: 9 }],
    7,
  ],
  ["each chair of a part that was moved a little", [...BLOCK, ...EAST, ...NORTH], moved(EAST, 5, 0), 12],
  ["each chair of a block that doubles the house", BLOCK, moved(BLOCK, 200, 0), 12],
  ["no chair of a block beside several", [...BLOCK, ...EAST, ...NORTH], moved(BLOCK, 200, 0), 0],
  ["no chair of a row behind the last", BLOCK, moved(LAST_ROW, 0, 30), 0],
  ["no chair of a row that goes on", BLOCK, moved(LAST_ROW, 100, 0), 0],
  ["no chair of rows between those of a larger house", RELEASED, moved(RELEASED.slice(0, 16), 0, 30), 0],
  [
    "each chair of some rows that were moved by half a seat",
    RELEASED,
    moved(RELEASED.slice(0, 16), 12.5, 0),
    16,
  ],
  [
    "no chair of a house of another shape",
    BLOCK,
    BLOCK.map((chair, nth) => ({ id: `x${nth}`, x: 400 + 7 * nth * nth, y: chair.y! + 3 * nth })),
    0,
  ],
];

test.each(MOVED)("a plan would sell twice: %s", async (_, there, chairs, count) => {
  onSale = there;
  expect(await findTwins("house", planWith(chairs))).toEqual({ count, isMoved: count > 0 });
});

test("a plan whose rows are called something else is asked about wherever it was moved", () => {
  const { plan, keys } = hall({ x: -400, y: -90, shape: "curved" });
  const there = seatsOf(plan);
  const scheme = { style: "letters", start: 4, which: "all", from: "front", skipsIO: false } as const;
  const renamed = numberRows(plan, keys, scheme);
  expect(twinsOf(seatsOf(renamed), there)).toEqual({ count: 30, isMoved: false });
  const fitted = fitSize(renamed, { left: -800, top: -300, right: 0, bottom: 300 });
  expect(twinsOf(seatsOf(fitted), there)).toEqual({ count: 30, isMoved: true });
  const shifted = moveBy(fitted, keys, 25, 5);
  expect(twinsOf(seatsOf(shifted), there)).toEqual({ count: 30, isMoved: true });
});

/** What plan and house come to, and how often a map is asked for something meanwhile. */
function counted(plan: readonly Chair[], there: readonly Chair[]): { found: Twins; looks: number } {
  const look = Reflect.get(Map.prototype, "get") as (this: unknown, key: unknown) => unknown;
  let looks = 0;
  Map.prototype.get = function (key: unknown) {
    looks += 1;
    return look.call(this, key);
  };
  try {
    const found = twinsOf(plan, there);
    return { found, looks };
  } finally {
    Map.prototype.get = look;
  }
}

test.each(["straight", "curved"] as const)("a %s arena that was moved is compared at once", (shape) => {
  const { plan } = hall({ rows: 300, seats: 200, shape, radius: 2_000 });
  const there = seatsOf(plan);
  const again = there.map((seat) => ({ ...seat, id: `new-${seat.id}`, x: seat.x! + 12, y: seat.y! + 7 }));
  const { found, looks } = counted(again, there);
  expect(found).toEqual({ count: 60_000, isMoved: true });
  // All pairs would be billions.
  expect(looks).toBeLessThan(60_000 * 50);
});

test("a plan all of which stands on what is on sale is not looked at for moves", () => {
  const { plan } = hall({ rows: 10, seats: 20 });
  const there = seatsOf(plan);
  const again = there.map((seat) => ({ ...seat, id: `new-${seat.id}` }));
  for (const [sent, count] of [
    [there, 0],
    [again, 200],
  ] as const) {
    const { found, looks } = counted(sent, there);
    expect(found).toEqual({ count, isMoved: false });
    // One to note each seat that is on sale, and one to know what stands there.
    expect(looks).toBeLessThan(200 * 3);
  }
});

test("a plan may be sent whose chairs are not on sale, or are meant to be on sale twice", async () => {
  const check = new TwinCheck();
  const plan = planWith([A1, A2]);
  onSale = [];
  expect(await check.allows("house", plan)).toBe(true);
  expect(check.count).toBe(0);
  onSale = [{ ...A1, id: "old" }];
  expect(await check.allows("house", plan)).toBe(false);
  expect(check.count).toBe(1);
  // Asked, and not answered.
  expect(await check.allows("house", plan)).toBe(false);
  check.isMeant = true;
  expect(await check.allows("house", plan)).toBe(true);
});

test("who meant chairs where they stand is asked again about a plan that was moved", async () => {
  const check = new TwinCheck();
  onSale = BLOCK;
  expect(await check.allows("house", planWith(moved(BLOCK, 0, 0)))).toBe(false);
  expect({ count: check.count, isMoved: check.isMoved }).toEqual({ count: 12, isMoved: false });
  check.isMeant = true;
  expect(await check.allows("house", planWith(moved(BLOCK, 5, 0)))).toBe(false);
  expect({ count: check.count, isMoved: check.isMoved }).toEqual({ count: 12, isMoved: true });
  check.isMeant = true;
  expect(await check.allows("house", planWith(moved(BLOCK, 5, 0)))).toBe(true);
  check.forget();
  expect(check.isMoved).toBe(false);
});

test("who meant one chair is asked again about two, and about another plan", async () => {
  const check = new TwinCheck();
  const plan = planWith([A1, A2]);
  onSale = [{ ...A1, id: "old" }];
  expect(await check.allows("house", plan)).toBe(false);
  check.isMeant = true;
  onSale.push({ ...A2, id: "older" });
  expect(await check.allows("house", plan)).toBe(false);
  expect({ count: check.count, isMeant: check.isMeant }).toEqual({ count: 2, isMeant: false });
  check.isMeant = true;
  check.forget();
  expect({ count: check.count, isMeant: check.isMeant }).toEqual({ count: 0, isMeant: false });
  expect(await check.allows("house", plan)).toBe(false);
});
