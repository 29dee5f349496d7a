/**
 * Which seats of a row are beside each other, however its file lists them: the cases of the server's own
 * tests in `crates/api/src/plans/best.rs`.
 */
import { expect, test } from "vitest";
import { addAisle, aislesOf, removeAisles } from "../../src/admin/plan/model/arrange";
import { check } from "../../src/admin/plan/model/check";
import { type Plan, placesOf, type Point } from "../../src/admin/plan/model/document";
import { planOf } from "../../src/admin/plan/model/file";
import { aislesIn, orderOf } from "../../src/admin/plan/model/order";
import { chosen, hall, oddAndEven } from "./plans";

/** Seats of one row at these places from the left. */
function line(...places: number[]): Point[] {
  return places.map((x) => ({ x, y: 0 }));
}

/** The row bent around a stage above it, by so many degrees from its first place to its last. */
function bent(row: readonly Point[], degrees: number): Point[] {
  const places = row.map(({ x }) => x);
  const radius = (Math.max(...places) - Math.min(...places)) / ((degrees * Math.PI) / 180);
  return places.map((x) => ({ x: radius * Math.sin(x / radius), y: radius * Math.cos(x / radius) }));
}

/** The numbers from one on up to before another. */
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, nth) => from + nth);
}

/** A plan of one row at these places; it may be in several row objects. */
function house(...parts: (readonly Point[])[]): Plan {
  return floor(parts.map((part) => ({ section: "Floor", row: "A", part })));
}

interface Part {
  section: string;
  row?: string | number;
  part: readonly Point[];
}

/** A plan of these row objects, each in a zone of its own. */
function floor(parts: readonly Part[]): Plan {
  let last = 0;
  const seatAt = ({ x, y }: Point) => {
    last += 1;
    return {
      seat_guid: `Floor-A-${last}`,
      seat_number: String(last),
      position: { x: 500 + 25 * x, y: 100 + 25 * y },
      category: "One",
    };
  };
  return planOf({
    size: { width: 1_000, height: 1_000 },
    categories: [{ name: "One" }],
    zones: parts.map(({ section, row, part }) => ({
      name: section,
      rows: [{ row_number: row, seats: part.map(seatAt) }],
    })),
  });
}

/** Which seats of a plan an aisle follows, as positions in it. */
function aislesAt(plan: Plan): number[] {
  const aisles = aislesOf(plan);
  return placesOf(plan).flatMap(({ key }, nth) => (aisles.has(key) ? [nth] : []));
}

const BOX = [0, 1].flatMap((y) => [0, 1, 2].map((x) => ({ x, y })));
const PAIRS = [0, 1, 2].flatMap((y) => [0, 1].map((x) => ({ x, y })));
const STAGGERED = range(0, 10).map((nth) => ({ x: nth * 0.5, y: nth % 2 }));
const CHAIRS = range(0, 14).map((nth) => 25 * nth);
const ARMCHAIRS = range(0, 6).map((nth) => 385 + 45 * nth);

test.each<[string, Point[], number[]]>([
  ["in order", line(1, 2, 3, 4, 5, 6), []],
  ["from the right", line(6, 5, 4, 3, 2, 1), []],
  ["with the odd ones first", line(1, 3, 5, 2, 4, 6), [0, 1, 2, 3, 4]],
  ["with two that are exchanged", line(1, 2, 4, 3, 5, 6), [1, 3]],
  ["with one that was forgotten", line(1, 2, 4, 5, 6, 3), [1, 4]],
  ["from the middle", line(3, 2, 1, 4, 5, 6), [2]],
  ["with a gap", line(1, 2, 3, 5, 6), [2]],
  ["by number, odd ones to the left", oddAndEven(20, 0), range(1, 19)],
  [
    "by number, in a row that stands upright",
    oddAndEven(20, 0).map(({ x, y }) => ({ x: y, y: x })),
    range(1, 19),
  ],
  ["by number, on both sides of an aisle", oddAndEven(20, 3), range(0, 19)],
  ["by number, on a flat curve", bent(oddAndEven(20, 0), 30), range(1, 19)],
  ["by number, on a curve", bent(oddAndEven(20, 0), 90), range(1, 19)],
  ["by number, nearly around the stage", bent(oddAndEven(20, 0), 150), range(1, 19)],
  ["in a box of two lines", BOX, [2]],
  ["in a box of pairs", PAIRS, []],
  ["in two staggered lines", STAGGERED, []],
  ["in order, around the stage", bent(line(...range(0, 20)), 300), []],
  ["without places", line(0, 0, 0, 0, 0), []],
  ["alone", line(7), []],
])("seats that are listed %s have aisles where the next is not beside them", (_, row, aisles) => {
  expect(aislesIn(row)).toEqual(aisles);
});

test.each<[string, number[][], number[]]>([
  [
    "with the odd ones to the left and the even ones to the right",
    [
      [3, 2, 1],
      [4, 5, 6],
    ],
    [2],
  ],
  [
    "with the even ones between the odd ones",
    [
      [1, 3, 5],
      [2, 4, 6],
    ],
    [0, 1, 2, 3, 4],
  ],
  [
    "as a left block and a right one",
    [
      [1, 2, 3],
      [5, 6, 7],
    ],
    [2],
  ],
  [
    "as a right block and a left one",
    [
      [5, 6, 7],
      [1, 2, 3],
    ],
    [2],
  ],
  [
    "as blocks without an aisle between them",
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    [],
  ],
  ["as blocks with one of no seat between them", [[1, 2, 3], [], [5, 6, 7]], [2]],
  ["as seats that are each by themselves", [[1], [2], [4], [5]], [1]],
  ["as chairs, and armchairs that are farther apart", [CHAIRS, ARMCHAIRS], [13]],
  [
    "as wide chairs, and narrow ones on both sides of an aisle",
    [range(0, 14).map((nth) => 50 * nth), [700, 725, 750, 775, 835, 860, 885, 910]],
    [17],
  ],
])("row objects of one name that are listed %s are one row", (_, parts, aisles) => {
  expect(aislesAt(house(...parts.map((part) => line(...part))))).toEqual(aisles);
});

test("a row goes on in another zone of the same name only, and without a number in none", () => {
  const [odd, even] = [line(1, 3, 5), line(2, 4, 6)];
  const both = (one: Omit<Part, "part">, other: Omit<Part, "part">) =>
    aislesAt(
      floor([
        { ...one, part: odd },
        { ...other, part: even },
      ]),
    );
  const A = { section: "Left", row: "A" };
  expect(both(A, A)).toEqual([0, 1, 2, 3, 4]);
  expect(both({ section: "Left", row: 7 }, { section: "Left", row: "7" })).toEqual([0, 1, 2, 3, 4]);
  expect(both(A, { section: "Right", row: "A" })).toEqual([]);
  expect(both(A, { section: "Left", row: "B" })).toEqual([]);
  expect(both({ section: "Left" }, { section: "Left", row: "" })).toEqual([]);
});

test("the aisle between two blocks of a row closes, and opens again", () => {
  const row = house(line(1, 2, 3), line(5, 6, 7));
  const third = chosen(row, ({ seat }) => seat.seat_number === "3");
  expect(aislesOf(row)).toEqual(third);
  const closed = removeAisles(row, third);
  expect(placesOf(closed).map(({ x }) => (x - 500) / 25)).toEqual([1.5, 2.5, 3.5, 4.5, 5.5, 6.5]);
  expect(aislesOf(closed).size).toBe(0);
  expect(placesOf(addAisle(closed, third, 1))).toMatchObject(placesOf(row).map(({ x, y }) => ({ x, y })));
});

test("an aisle among armchairs beside chairs is as wide as one of them, and closes", () => {
  const row = house(line(...CHAIRS), line(...ARMCHAIRS));
  const third = chosen(row, ({ seat }) => seat.seat_number === "17");
  const cut = addAisle(row, third, 1);
  const gapsOf = (plan: Plan) => orderOf(placesOf(plan)).gaps.map((gap) => gap / 25);
  expect(aislesAt(cut)).toEqual([13, 16]);
  expect(gapsOf(cut).slice(13)).toEqual([60, 45, 45, 90, 45, 45]);
  expect(gapsOf(removeAisles(cut, third))).toEqual(gapsOf(row));
});

test("each block of a row in which seats are chosen gets an aisle of its own", () => {
  const row = house(line(1, 2, 3, 4), line(6, 7, 8, 9));
  const seconds = chosen(row, ({ seat }) => seat.seat_number === "2" || seat.seat_number === "6");
  const cut = addAisle(row, seconds, 1);
  expect(placesOf(cut).map(({ x }) => (x - 500) / 25)).toEqual([0, 1, 3, 4, 6, 7, 9, 10]);
  expect(aislesAt(cut)).toEqual([1, 3, 5]);
});

test("chosen seats that go on from one row object to the next have no aisle among them", () => {
  const row = house(...range(0, 6).map((x) => line(x)));
  const three = chosen(row, ({ seat }) => Number(seat.seat_number) <= 3);
  expect(aislesAt(addAisle(row, three, 1))).toEqual([2]);
  const all = chosen(row, () => true);
  expect(addAisle(row, all, 1)).toBe(row);
});

test("seats of a row are on top of each other by the least distance of its row objects", () => {
  const row = house(line(...range(0, 8).map((nth) => nth * 2.5)), line(...range(25, 30)));
  expect(check(row).filter(({ finding }) => finding === "on_top")).toEqual([]);
});

test("an aisle among the odd ones on the left leaves the even ones on the right where they are", () => {
  const row = house(line(4, 3, 2, 1), line(5, 6, 7, 8));
  const second = chosen(row, ({ seat }) => seat.seat_number === "2");
  const cut = addAisle(row, second, 1);
  expect(placesOf(cut).map(({ x }) => (x - 500) / 25)).toEqual([4.5, 3.5, 1.5, 0.5, 5, 6, 7, 8]);
});

test("a row that is listed by number is told, and one whose aisles are seen is not", () => {
  const row = house(oddAndEven(20, 0));
  const found = check(row);
  expect(found).toMatchObject([{ finding: "jumbled_row", isError: false, name: "Floor A", n: 20 }]);
  expect(found[0]!.keys).toEqual(placesOf(row).map(({ key }) => key));
  expect(orderOf(placesOf(row)).usual[0]).toBe(25);
  for (const fine of [line(1, 2, 3, 5, 6), line(6, 5, 4, 3, 2, 1), BOX, PAIRS, STAGGERED]) {
    expect(check(house(fine))).toEqual([]);
  }
});

test("aisles between which another seat stands are not closed, and others are", () => {
  const row = house(oddAndEven(20, 0));
  const all = chosen(row, () => true);
  expect(aislesOf(row).size).toBe(18);
  expect(removeAisles(row, all)).toBe(row);
  const { plan, keys } = hall({ rows: 1 });
  const fourth = chosen(plan, ({ seat }) => seat.seat_number === "4");
  const cut = addAisle(plan, fourth, 1);
  expect(aislesOf(cut)).toEqual(fourth);
  expect(aislesOf(removeAisles(cut, keys)).size).toBe(0);
});

test.each<[string, Plan]>([
  ["by number", house(oddAndEven(20, 0))],
  ["by number, on both sides of an aisle", house(oddAndEven(20, 3))],
  ["by number, in two row objects", house(line(1, 3, 5), line(2, 4, 6))],
])("aisles are neither opened nor closed in a row that is listed %s", (_, row) => {
  const first = chosen(row, ({ seat }) => seat.seat_number === "1");
  const all = chosen(row, () => true);
  expect(addAisle(row, first, 1)).toBe(row);
  expect(removeAisles(row, all)).toBe(row);
});

test("of a row of thousands few seats are looked at", () => {
  let reads = 0;
  const counted = (at: Point): Point => ({
    get x() {
      reads += 1;
      return at.x;
    },
    get y() {
      reads += 1;
      return at.y;
    },
  });
  const count = 5_000;
  for (const row of [line(...range(0, count)), oddAndEven(count, 0), bent(line(...range(0, count)), 300)]) {
    reads = 0;
    orderOf(row.map(counted));
    // All pairs would be 25 million.
    expect(reads).toBeLessThan(count * 100);
  }
});
