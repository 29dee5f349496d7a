import { afterEach, expect, test, vi } from "vitest";
import { areTogether, offerFor, together } from "../../src/buyer/choose/nearby";
import { offersOf } from "../../src/buyer/events/stock";
import { firstFreeNight, nightsFrom, nightsOf, stockOf, termsOf } from "../../src/buyer/choose/stock";
import { House, type SeatLike } from "../../src/lib/seatmap/house";

/**
 * A house drawn in letters, a line a row: free, held, sold, blocked, and a dot for an aisle. A wheelchair
 * place and its companion's seat after it are free. Capitals are of the second category.
 */
function house(...rows: string[]): House {
  const letters = { f: "free", h: "held", s: "sold", b: "blocked", w: "free", c: "free" } as const;
  const seats: SeatLike[] = [];
  let place = "";
  for (const [y, row] of rows.entries()) {
    for (const [x, letter] of [...row].entries()) {
      if (letter === ".") continue;
      const id = `${y}-${x}`;
      if (letter === "w") place = id;
      const status = letters[letter.toLowerCase() as keyof typeof letters];
      const category = letter === letter.toLowerCase() ? "cheap" : "dear";
      seats.push({
        id,
        row: String(y),
        number: String(x),
        category,
        x: x * 10,
        y: y * 10,
        status,
        ...(letter === "w" && { wheelchair: true }),
        ...(letter === "c" && { companion_of: place }),
      });
    }
  }
  return new House(seats, [
    { name: "cheap", color: "#333333", priceMinor: 1_000 },
    { name: "dear", color: "#aa3333", priceMinor: 2_000 },
  ]);
}

const indexes = (of: House, ...ids: string[]) => ids.map((id) => of.indexOf(id)!);
const ids = (of: House, seats: readonly number[] | undefined) => seats?.map((seat) => of.ids[seat]).sort();

test("two lost of a pair are offered the nearest pair of the same row", () => {
  const small = house("ffhhffff");
  const offer = offerFor(small, indexes(small, "0-2", "0-3"), []);
  expect(ids(small, offer?.seats)).toEqual(["0-0", "0-1"]);
  expect(offer?.isTogether).toBe(true);
});

test("one lost of a pair moves both, so that they sit together", () => {
  const small = house("shfs", "sffs");
  const offer = offerFor(small, indexes(small, "0-1"), indexes(small, "0-2"));
  expect(ids(small, offer?.seats)).toEqual(["1-1", "1-2"]);
  expect(offer?.replaces).toHaveLength(2);
});

test("neighbours that are still held on to are part of the offer", () => {
  const small = house("shffs");
  const offer = offerFor(small, indexes(small, "0-1"), indexes(small, "0-2"));
  expect(ids(small, offer?.seats)).toEqual(["0-2", "0-3"]);
});

test("what was lost is not offered again where it still looks free", () => {
  const small = house("sffs", "ffss");
  const pair = indexes(small, "0-1", "0-2");
  expect(ids(small, offerFor(small, pair, [])?.seats)).toEqual(["1-0", "1-1"]);
  expect(ids(small, offerFor(small, pair.slice(0, 1), pair.slice(1))?.seats)).toEqual(["1-0", "1-1"]);
  const last = house("sfs");
  expect(offerFor(last, indexes(last, "0-1"), [])).toBeUndefined();
});

test("same row comes before one that is a little nearer", () => {
  const small = house("ffff", "ffhf", "ffff");
  const offer = offerFor(small, indexes(small, "1-2"), indexes(small, "1-1"));
  expect(ids(small, offer?.seats)).toEqual(["1-0", "1-1"]);
});

test("same category comes before what is nearer", () => {
  const small = house("FhF", "fff", "sss", "fff");
  const offer = offerFor(small, indexes(small, "0-1"), []);
  expect(ids(small, offer?.seats)).toEqual(["1-1"]);
});

test("another category is offered where the same one is gone", () => {
  const small = house("FhF");
  expect(offerFor(small, indexes(small, "0-1"), [])?.seats).toHaveLength(1);
});

test("seats across an aisle are not together", () => {
  const small = house("f.ff");
  expect(areTogether(small, indexes(small, "0-0", "0-2"))).toBe(false);
  expect(ids(small, together(small, { count: 2, near: { x: 0, y: 0 } }))).toEqual(["0-2", "0-3"]);
});

test("a pair without a pair left is replaced seat by seat", () => {
  const small = house("fshhsf");
  const offer = offerFor(small, indexes(small, "0-2", "0-3"), []);
  expect(ids(small, offer?.seats)).toEqual(["0-0", "0-5"]);
  expect(offer?.isTogether).toBe(false);
});

test("seats that are chosen already are not offered", () => {
  const small = house("hsf", "ssf");
  const offer = offerFor(small, indexes(small, "0-0"), indexes(small, "0-2"));
  expect(ids(small, offer?.seats)).toEqual(["1-2"]);
});

test("nothing left is no offer", () => {
  const small = house("hss");
  expect(offerFor(small, indexes(small, "0-0"), [])).toBeUndefined();
});

test("wheelchair places and companions' seats are offered to nobody else", () => {
  const one = house("shwcf");
  expect(ids(one, offerFor(one, indexes(one, "0-1"), [])?.seats)).toEqual(["0-4"]);
  const pair = house("shhwcsff");
  expect(ids(pair, offerFor(pair, indexes(pair, "0-1", "0-2"), [])?.seats)).toEqual(["0-6", "0-7"]);
  expect(together(house("fwf"), { count: 2, near: { x: 0, y: 0 } })).toBeUndefined();
  const last = house("hwc");
  expect(offerFor(last, indexes(last, "0-0"), [])).toBeUndefined();
  // Once its place is sold without it, a companion's seat is anybody's.
  last.setStatus(last.indexOf("0-1")!, "sold");
  expect(ids(last, offerFor(last, indexes(last, "0-0"), [])?.seats)).toEqual(["0-2"]);
});

test("nothing is offered for a wheelchair place or its companion's seat", () => {
  const small = house("wcff", "wcff");
  expect(offerFor(small, indexes(small, "0-0"), [])).toBeUndefined();
  expect(offerFor(small, indexes(small, "0-1"), indexes(small, "0-0"))).toBeUndefined();
  expect(offerFor(small, indexes(small, "0-0", "0-1"), [])).toBeUndefined();
  expect(offerFor(small, indexes(small, "0-0", "0-2"), indexes(small, "0-1"))).toBeUndefined();
});

test("who loses a seat beside a wheelchair place keeps the place", () => {
  const small = house("wcfsfff");
  const lost = indexes(small, "0-2");
  const offer = offerFor(small, lost, indexes(small, "0-0", "0-1"));
  expect(ids(small, offer?.seats)).toEqual(["0-4"]);
  expect(offer?.replaces).toEqual(lost);
});

test("free seats of a section are counted as they change", () => {
  const small = house("ffF");
  const told: number[] = [];
  small.watch((changed) => told.push(...changed));
  small.apply([
    [0, "held"],
    [1, "free"],
  ]);
  expect(told).toEqual([0]);
  expect(small.freeIn(0)).toBe(2);
  small.applyLetters("ssf");
  expect([small.freeIn(0), small.priceFromMinor(0)]).toEqual([1, 2_000]);
});

const pool = (name: string, free: number, price = 1_000) => ({
  pool: name,
  capacity: 10,
  price_minor: price,
  all_in_minor: price,
  free,
  held: 10 - free,
  sold: 0,
  blocked: 0,
});

afterEach(() => vi.useRealTimers());

test("pools named by a date are nights of a room, all others are by quantity", () => {
  const stock = stockOf([pool("deluxe.2096-12-25", 1), pool("deluxe.2096-12-24", 2), pool("ga", 5)]);
  expect(stock.others.map(({ pool }) => pool)).toEqual(["ga"]);
  expect(stock.kinds.map(({ name, first, last }) => [name, first, last])).toEqual([
    ["deluxe", "2096-12-24", "2096-12-25"],
  ]);
});

test("nights that are over are offered no more, but yesterday's, which may be tonight somewhere", () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-12-26T12:00:00Z") });
  const pools = ["deluxe.2026-12-24", "deluxe.2026-12-25", "deluxe.2026-12-27", "twin.2026-12-24"];
  const there = pools.map((name) => pool(name, 1));
  expect(stockOf(there).kinds.map(({ name, first, last }) => [name, first, last])).toEqual([
    ["deluxe", "2026-12-25", "2026-12-27"],
  ]);
  expect(firstFreeNight(stockOf(there).kinds[0]!)).toBe("2026-12-27");
  const offers = offersOf({ pools: there, categories: [] } as never);
  expect(offers.map(({ id, free, nights }) => [id, free, nights])).toEqual([
    ["room deluxe", 2, { first: "2026-12-25", last: "2026-12-27", count: 2, free: 2 }],
  ]);
});

test("a stay costs the sum of its nights and has the rooms of its fullest night", () => {
  const [deluxe] = stockOf([
    pool("deluxe.2096-12-31", 3),
    pool("deluxe.2097-01-01", 1, 2_500),
    pool("deluxe.2097-01-03", 4),
  ]).kinds;
  expect(nightsOf("2096-12-31", 2)).toEqual(["2096-12-31", "2097-01-01"]);
  expect(termsOf(deluxe!, "2096-12-31", 2)).toMatchObject({ priceMinor: 3_500, free: 1 });
  expect(termsOf(deluxe!, "2096-12-31", 3)).toBeUndefined();
  expect(nightsFrom(deluxe!, "2096-12-31", 9)).toBe(2);
});
