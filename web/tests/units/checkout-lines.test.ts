import { afterEach, expect, test, vi } from "vitest";
import type { Event as Sale } from "../../src/api/schema";
import { money } from "../../src/lib/format";
import { poolName } from "../../src/lib/pools";
import {
  areTrue,
  dayAfter,
  lineNote,
  namesOf,
  readableLines,
  reference,
} from "../../src/buyer/checkout/lines";
import type { Names } from "../../src/buyer/checkout/memory";
import { toMinor } from "../../src/admin/money";
import { deadlines } from "../../src/buyer/checkout/refunds";

const DAY_MS = 86_400_000;

afterEach(() => vi.unstubAllGlobals());

test("nights of one room that follow each other are one stay", () => {
  const pools = { "deluxe.2026-12-31": 1, "deluxe.2026-12-30": 1, "deluxe.2027-01-01": 1, ga: 2 };
  const names: Names = { seats: {}, pools: { ga: 500 } };
  for (const pool of Object.keys(pools)) names.pools[pool] ??= 10_000;
  expect(readableLines({ pools }, names)).toEqual([
    { kind: "pool", pool: "ga", units: 2, priceMinor: 500 },
    { kind: "stay", room: "deluxe", from: "2026-12-30", nights: 3, rooms: 1, priceMinor: 30_000 },
  ]);
});

test("nights with a gap, other rooms or another number of rooms are stays of their own", () => {
  const pools = {
    "deluxe.2026-12-24": 1,
    "deluxe.2026-12-25": 2,
    "deluxe.2026-12-27": 2,
    "twin.2026-12-28": 2,
  };
  const stays = readableLines({ pools }, undefined).map(
    (line) => line.kind === "stay" && [line.from, line.rooms],
  );
  expect(stays).toEqual([
    ["2026-12-24", 1],
    ["2026-12-25", 2],
    ["2026-12-27", 2],
    ["2026-12-28", 2],
  ]);
});

test("seats without known names are called by their ids", () => {
  const line = { kind: "seat", seat: "A-1", section: "", row: "", number: "A-1" };
  expect(readableLines({ seats: ["A-1"] }, undefined)).toEqual([line]);
});

test("names of seats are read once, from the drawing", async () => {
  const places = { x: [0, 100], y: [0, 0] };
  const plan = {
    categories: [
      { name: "Stalls", price_minor: 4_500 },
      { name: "Box", price_minor: 9_000 },
    ],
    rows: [
      {
        section: "Left",
        row: "B",
        prefix: "L-B-",
        ids: ["1", "2"],
        category: [1, 0],
        traits: { "0": { restricted_view: true }, "1": { easy_access: true } },
        ...places,
      },
      { row: "C", prefix: "L-C-", ids: ["1", "2"], numbers: ["11", "12"], category: 0, ...places },
      { prefix: "new", ids: [""], category: 0 },
    ],
  };
  const pools = [
    { pool: "ga", price_minor: 500 },
    { pool: "other", price_minor: 700 },
  ];
  const answers: Record<string, unknown> = { plan, availability: { pools } };
  const asked: string[] = [];
  vi.stubGlobal("fetch", (to: string) => {
    asked.push(to);
    return Promise.resolve(Response.json(answers[to.split("/").at(-1)!]));
  });
  const lines = { pools: { ga: 2 }, seats: ["L-B-1", "L-B-2", "L-C-2", "new"] };
  const names: Names = {
    pools: { ga: 500 },
    seats: {
      "L-B-1": {
        section: "Left",
        row: "B",
        number: "1",
        category: "Box",
        priceMinor: 9_000,
        hasRestrictedView: true,
      },
      "L-B-2": { section: "Left", row: "B", number: "2", category: "Stalls", priceMinor: 4_500 },
      "L-C-2": { section: "", row: "C", number: "12", category: "Stalls", priceMinor: 4_500 },
      new: { section: "", row: "", number: "new", category: "Stalls", priceMinor: 4_500 },
    },
  };
  expect(await namesOf("b-1", "show", lines)).toEqual(names);
  expect(await namesOf("b-1", "show", lines)).toEqual(names);
  expect(asked).toEqual(["/api/v1/events/show/availability", "/api/v1/events/show/seats/plan"]);
  // Texts are not loaded here: each is shown by its name.
  const [, view, full] = readableLines(lines, names).map(lineNote);
  expect([view, full]).toEqual(["Box · ⟨checkout.restricted_view⟩", "Stalls"]);
});

test("prices are shown only if they add up to what the booking costs", () => {
  const names: Names = { seats: {}, pools: { ga: 500 } };
  const lines = readableLines({ pools: { ga: 2 } }, names);
  expect(areTrue(lines, 1_000)).toBe(true);
  expect(areTrue(lines, 900)).toBe(false);
  expect(areTrue(readableLines({ pools: { ga: 2 } }, undefined), 1_000)).toBe(false);
});

test.each([
  ["standing-left", "Standing left"],
  ["ga", "GA"],
  ["...", "..."],
])("pool %s is called %s", (pool, name) => expect(poolName(pool)).toBe(name));

test("day after the last of a year is the first of the next", () => {
  expect(dayAfter("2026-12-31", 1)).toBe("2027-01-01");
  expect(dayAfter("2028-02-28", 1)).toBe("2028-02-29");
});

test("reference is the beginning of what is random in an id", () => {
  expect(reference("tour-1.3f9a12bc0000000000000000000000ff")).toBe("3F9A12BC");
  expect(reference("odd")).toBe("odd");
});

test("amounts have the decimals that the server counts in, whatever the browser has", () => {
  const digits = (text: string) => text.replace(/[^0-9.,]/g, "");
  expect(digits(money(1_234_500, "IDR"))).toBe("12,345.00");
  expect(digits(money(1_234, "JPY"))).toBe("1,234");
  expect(digits(money(1_234, "KWD"))).toBe("1.234");
  expect(toMinor(12_345, "IDR")).toBe(1_234_500);
});

test("each rule is told with the moment until which it holds, the earliest first", () => {
  const refunds = [
    { days_before: 1, percent: 33, until: 99 * DAY_MS },
    { days_before: 7, percent: 90, until: 93 * DAY_MS },
  ];
  expect(deadlines({ refunds } as Sale)).toEqual([
    { until: 93 * DAY_MS, percent: 90 },
    { until: 99 * DAY_MS, percent: 33 },
  ]);
});
