/** What is chosen and not held yet, held against what is on sale. */
import { beforeEach, expect, test, vi } from "vitest";
import type { Category, Pool, TicketType } from "../../src/api/schema";
import { Choice } from "../../src/buyer/choose/choice.svelte";
import { stockOf } from "../../src/buyer/choose/stock";
import { House } from "../../src/lib/seatmap/house";

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
    removeItem: (name: string) => stored.delete(name),
  });
});

const pool = (id: string) => ({ pool: id, all_in_minor: 1_000, free: 5 }) as Pool;

test("what is not on sale any more is forgotten", () => {
  const choice = new Choice("show");
  choice.takeSeats(["A-1", "Z-9"]);
  choice.setPool("floor", 2);
  choice.setPool("gone", 1);
  const stay = { kind: "deluxe", from: "2096-12-24", rooms: 1 };
  choice.addStay({ ...stay, nights: 2 });
  choice.addStay({ ...stay, nights: 3 });
  const house = new House(
    [{ id: "A-1", section: "Stalls", row: "A", number: "1", category: "Stalls", status: "free" }],
    [{ name: "Stalls", color: "#000000", priceMinor: 4_000 }],
  );
  choice.tidy(house, stockOf([pool("floor"), pool("deluxe.2096-12-24"), pool("deluxe.2096-12-25")]));
  expect(choice.seats).toEqual(["A-1"]);
  expect(choice.pools).toEqual({ floor: 2 });
  expect(choice.stays).toEqual([{ ...stay, nights: 2 }]);
  choice.tidy(undefined, stockOf([]));
  expect(choice.units).toBe(0);
});

test("types of which a booking may not have as many as are chosen are told, of pools and of seats", () => {
  const choice = new Choice("show");
  const type = (id: string, more: Partial<TicketType> = {}): TicketType => {
    return { id, name: id, price_minor: 1_000, all_in_minor: 1_000, min: 0, proof: false, ...more };
  };
  const floor = { ...pool("floor"), types: [type("adult"), type("student", { max: 1 })] };
  const types = [type("adult"), type("child", { min: 2 })];
  const stalls = { name: "Stalls", all_in_minor: 4_000, types } as Category;
  const wrong = () => choice.outOfLimits([floor], [stalls], () => stalls).map(({ id }) => id);
  choice.setPoolTypes("floor", { adult: 4, student: 1 });
  choice.takeSeats(["A-1", "A-2", "A-3"]);
  for (const seat of ["A-2", "A-3"]) choice.setSeatType(seat, "child");
  expect(wrong()).toEqual([]);
  // Somebody takes one of the children's seats.
  choice.takeSeats(["A-1", "A-2"]);
  expect(wrong()).toEqual(["child"]);
  choice.setPoolTypes("floor", { student: 2 });
  expect(wrong()).toEqual(["student", "child"]);
});
