/** Which chairs of a plan are on sale already under other ids, and when that is asked about. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Plan } from "../../src/admin/plan/model/document";
import { planOf } from "../../src/admin/plan/model/file";
import { countTwins } from "../../src/admin/plan/send";
import { TwinCheck } from "../../src/admin/plan/twin-check.svelte";

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
  expect(await countTwins("house", planWith(chairs))).toBe(twins);
  expect(asked).toEqual(["/api/v1/events/house/seats"]);
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
