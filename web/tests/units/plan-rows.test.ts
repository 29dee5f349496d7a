/** Rows that are added to a section: what they are called. */
import { expect, test } from "vitest";
import { addBlock } from "../../src/admin/plan/model/build";
import { check } from "../../src/admin/plan/model/check";
import { mapRows, type Name, type Plan, placesOf } from "../../src/admin/plan/model/document";
import { remove } from "../../src/admin/plan/model/arrange";
import { BLOCK, chosen, hall } from "./plans";

/** The labels of two rows more in the stalls. */
function added(plan: Plan): unknown[] {
  const { plan: more, keys } = addBlock(plan, { ...BLOCK, rows: 2, y: 400 });
  expect(check(more)).toEqual([]);
  const rows = placesOf(more).filter(({ key }) => keys.has(key));
  return [...new Set(rows.map(({ row }) => row.row_number))];
}

/** Three rows of these labels. */
function labelled(...labels: Name[]): Plan {
  const rest = [...labels];
  return mapRows(hall().plan, (row) => ({ ...row, row_number: rest.shift()! }));
}

test.each<[Name[], string[]]>([
  [
    ["A", "B", "C"],
    ["D", "E"],
  ],
  [
    ["C", "D", "E"],
    ["F", "G"],
  ],
  [
    ["C", "B", "A"],
    ["D", "E"],
  ],
  [
    ["B", "C", "A"],
    ["D", "E"],
  ],
  [
    ["X", "Y", "Z"],
    ["AA", "AB"],
  ],
  [
    ["a", "b", "c"],
    ["d", "e"],
  ],
  [
    ["1", "2", "3"],
    ["4", "5"],
  ],
  [
    [7, 8, 9],
    ["10", "11"],
  ],
  [
    ["3", "2", "1"],
    ["4", "5"],
  ],
  [
    ["08", "09", "10"],
    ["11", "12"],
  ],
  [
    ["R1", "R2", "R3"],
    ["R4", "R5"],
  ],
  [
    ["A", "B", "Box"],
    ["C", "D"],
  ],
])("after rows %j come %j", (there, next) => {
  expect(added(labelled(...there))).toEqual(next);
});

test("rows go on after one was taken out, and after those of another part of the same name", () => {
  const { plan } = hall();
  const first = chosen(plan, ({ row }) => row.row_number === "A");
  expect(added(remove(plan, first))).toEqual(["D", "E"]);
  const { plan: both } = addBlock(plan, { ...BLOCK, section: "Side", rows: 5, x: 900 });
  const [stalls, side] = both.zones;
  // As a file may have it: nothing here gives a section the name of another.
  const parts = { ...both, zones: [stalls!, { ...side!, name: "Stalls" }] };
  const { plan: more } = addBlock(parts, { ...BLOCK, rows: 1, y: 600 });
  expect(more.zones[0]!.rows!.at(-1)!.row_number).toBe("F");
});
