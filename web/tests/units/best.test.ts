import { beforeEach, expect, test, vi } from "vitest";
import { NoAnswer, Refused } from "../../src/api/client";
import type { BestSeats, Booking, Wish } from "../../src/api/schema";
import { BestWish } from "../../src/buyer/choose/best.svelte";
import { offersFor, shortageOf } from "../../src/buyer/choose/best-offers";
import { hold, isFor, isNew, unanswered } from "../../src/buyer/choose/hold";
import { House } from "../../src/lib/seatmap/house";

/** What the server says to the next requests, and with which keys they came. */
const server = vi.hoisted(() => ({ answers: [] as unknown[], keys: [] as string[] }));

vi.mock("../../src/api/visitor", () => ({
  askAsVisitor: (_: string, { key }: { key: string }) => {
    server.keys.push(key);
    const answer = server.answers.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  },
}));

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
    removeItem: (name: string) => stored.delete(name),
  });
  server.answers = [];
  server.keys = [];
});

function refused(code: string, facts: Record<string, unknown> = {}, status = 409): Refused {
  return new Refused({ type: "", title: "", status, code, detail: code, retryable: true, ...facts });
}

const booking = (seats: string[]) =>
  ({ booking: "b", status: "held", lines: { seats } }) as unknown as Booking;
const best = (line: Partial<BestSeats> = {}): Wish => ({
  best: { quantity: 3, together: "prefer", ...line },
});

test("wish is a line of the order, with no more seats than there may be", () => {
  const wish = new BestWish("tour");
  expect(wish.lineFor(20)).toEqual({ quantity: 2, together: "prefer" });
  wish.quantity = 6;
  wish.category = "Floor";
  wish.section = "East";
  wish.isTogether = true;
  const line = { categories: ["Floor"], sections: ["East"], together: "must" };
  expect(wish.lineFor(20)).toEqual({ quantity: 6, ...line });
  expect(wish.lineFor(4)).toEqual({ quantity: 4, ...line });
});

test("wheelchair places are part of the wish, and never more than all its seats", () => {
  const wish = new BestWish("tour");
  wish.accessible = 2;
  expect(wish.lineFor(20)).toEqual({ quantity: 2, accessible: 2, together: "prefer" });
  expect(wish.lineFor(1)).toEqual({ quantity: 1, accessible: 1, together: "prefer" });
  const asked: BestSeats = { quantity: 3, accessible: 1, sections: ["East"], together: "must" };
  wish.take(asked);
  expect(wish.lineFor(20)).toEqual(asked);
  const few = shortageOf(asked, refused("TOO_FEW_ACCESSIBLE", { free: 0 }))!;
  const wider = { is: "wider", line: { quantity: 3, accessible: 1, together: "must" } };
  expect(offersFor(few)).toEqual([wider]);
  const apart = shortageOf(asked, refused("NOT_TOGETHER", { longest: 2, free: 6 }))!;
  expect(offersFor(apart)).toEqual([{ is: "fewer", line: { ...asked, quantity: 2 } }, wider]);
});

test("wish survives a reload, and forgets what the house has not", () => {
  const wish = new BestWish("tour");
  wish.take({ quantity: 5, categories: ["Floor"], sections: ["East"], together: "must" });
  const again = new BestWish("tour");
  expect(again.lineFor(20)).toEqual(wish.lineFor(20));
  expect(new BestWish("other").lineFor(20)).toEqual({ quantity: 2, together: "prefer" });
  again.tidy(["Floor"], ["West"]);
  expect(again.lineFor(20)).toEqual({ quantity: 5, categories: ["Floor"], together: "must" });
});

test.each<[string, BestSeats, Refused, [string, BestSeats][]]>([
  [
    "four who must sit together may be split, or be two",
    { quantity: 4, together: "must" },
    refused("NOT_TOGETHER", { longest: 2, free: 8 }),
    [
      ["split", { quantity: 4, together: "prefer" }],
      ["fewer", { quantity: 2, together: "must" }],
    ],
  ],
  [
    "three cannot be split, for one would sit alone",
    { quantity: 3, together: "must" },
    refused("NOT_TOGETHER", { longest: 2, free: 8 }),
    [["fewer", { quantity: 2, together: "must" }]],
  ],
  [
    "five cannot be in pairs",
    { quantity: 5, together: "must" },
    refused("NOT_TOGETHER", { longest: 2, free: 8 }),
    [["fewer", { quantity: 2, together: "must" }]],
  ],
  [
    "seats that all stand alone make no groups",
    { quantity: 4, together: "must" },
    refused("NOT_TOGETHER", { longest: 1, free: 6 }),
    [["fewer", { quantity: 1, together: "must" }]],
  ],
  [
    "who was refused although groups were all right is not offered groups",
    { quantity: 6, categories: ["Floor"], together: "prefer" },
    refused("NOT_TOGETHER", { longest: 1, free: 8 }),
    [
      ["fewer", { quantity: 1, categories: ["Floor"], together: "prefer" }],
      ["wider", { quantity: 6, together: "prefer" }],
    ],
  ],
  [
    "too few of a section are offered as they are, or as many from anywhere",
    { quantity: 3, sections: ["East"], together: "prefer" },
    refused("TOO_FEW_SEATS", { free: 2 }),
    [
      ["fewer", { quantity: 2, sections: ["East"], together: "prefer" }],
      ["wider", { quantity: 3, together: "prefer" }],
    ],
  ],
  [
    "of nothing there is nothing to offer",
    { quantity: 1, together: "prefer" },
    refused("TOO_FEW_SEATS", { free: 0 }),
    [],
  ],
])("%s", (_, asked, refusal, offers) => {
  const shortage = shortageOf(asked, refusal)!;
  expect(offersFor(shortage).map(({ is, line }) => [is, line])).toEqual(offers);
});

test("other refusals are no shortage", () => {
  expect(shortageOf({ quantity: 2 }, refused("USER_LIMIT_EXCEEDED", { limit: 4 }))).toBeUndefined();
});

test("wish without an answer is asked for again under its key, and another wish under another", async () => {
  vi.useFakeTimers();
  server.answers = [new NoAnswer("lost"), booking(["A-1", "A-2", "A-3"])];
  const unheard = vi.fn();
  const first = hold("tour", best(), [], unheard);
  await vi.runAllTimersAsync();
  expect(await first).toMatchObject({ is: "held", booking: { booking: "b" } });
  expect(unheard).toHaveBeenCalledTimes(1);
  expect(server.keys[1]).toBe(server.keys[0]);
  server.answers = [booking(["B-1", "B-2"])];
  await hold("tour", best({ quantity: 2 }), [], unheard);
  expect(server.keys[2]).not.toBe(server.keys[0]);
  vi.useRealTimers();
});

test("wish that nothing was heard of is known after a reload, with its key", async () => {
  vi.useFakeTimers();
  server.answers = Array.from({ length: 5 }, () => new NoAnswer("lost"));
  const outcome = hold("tour", best(), ["a"], () => {});
  await vi.runAllTimersAsync();
  expect(await outcome).toEqual({ is: "unknown" });
  vi.useRealTimers();
  expect(unanswered("tour")).toEqual(best());
  expect(unanswered("other")).toBeUndefined();
  // What was held before is not what came of it.
  expect([isNew("tour", "a"), isNew("tour", "b")]).toEqual([false, true]);
  server.answers = [booking(["A-1", "A-2", "A-3"])];
  await hold("tour", unanswered("tour")!, ["a", "b"], () => {});
  expect(new Set(server.keys).size).toBe(1);
  expect(unanswered("tour")).toBeUndefined();
});

test("refused wish has another key the next time, and an offer has one of its own", async () => {
  server.answers = [
    refused("NOT_TOGETHER", { longest: 2, free: 8 }),
    refused("NOT_TOGETHER", { longest: 2, free: 8 }),
    booking(["A-1", "A-2"]),
  ];
  const must = best({ quantity: 4, together: "must" });
  expect(await hold("tour", must, [], () => {})).toMatchObject({ is: "refused" });
  expect(await hold("tour", must, [], () => {})).toMatchObject({ is: "refused" });
  expect(await hold("tour", best({ quantity: 2, together: "must" }), [], () => {})).toMatchObject({
    is: "held",
  });
  expect(new Set(server.keys).size).toBe(3);
});

test("no booking is taken for a wish that names no seats", () => {
  expect(isFor(booking(["A-1", "A-2", "A-3"]), best())).toBe(false);
  expect(isFor(booking(["A-1"]), { ...best(), seats: ["A-1"] })).toBe(false);
  expect(isFor(booking(["A-1"]), { seats: ["A-1"] })).toBe(true);
});

test("free seats of a category are counted by section, as they change", () => {
  const seat = (id: string, section: string, category: string) => ({
    id,
    section,
    category,
    status: "free" as const,
  });
  const kind = (name: string) => ({ name, color: "#333333", priceMinor: 1_000 });
  const house = new House(
    [seat("1", "East", "a"), seat("2", "East", "b"), seat("3", "West", "b"), seat("4", "West", "b")],
    [kind("a"), kind("b")],
  );
  expect([house.freeOf(0), house.freeOf(1), house.freeOf(1, 0), house.freeOf(0, 1)]).toEqual([1, 3, 1, 0]);
  house.setStatus(3, "held");
  expect([house.freeOf(1), house.freeOf(1, 1)]).toEqual([2, 1]);
});
