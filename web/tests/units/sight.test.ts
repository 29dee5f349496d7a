/** What the camera at the door makes of a ticket, look by look. */
import { expect, test } from "vitest";
import {
  answered,
  isShownTwice,
  isStill,
  looked,
  type Sight,
  typedAgain,
  typedIn,
} from "../../src/admin/checkin/sight";

/** A ticket that the camera saw first at 0, after looks at these times that saw a code or none. */
function after(looks: [at: number, code?: string][], first: Sight = { code: "a", at: 0, place: "there" }) {
  return looks.reduce((sight, [at, code]) => looked(sight, code, at), first);
}

test("ticket is away once it was not seen for 0.8 s", () => {
  expect(after([[799]])).toEqual({ code: "a", at: 0, place: "there" });
  expect(after([[800]])).toEqual({ code: "a", at: 0, place: "away" });
  expect(after([[700, "a"], [1_499]])).toEqual({ code: "a", at: 700, place: "there" });
  // Another one in the picture does not make it be seen.
  expect(after([[400], [800, "b"]])).toEqual({ code: "a", at: 0, place: "away" });
});

test("ticket that was away is back, and stays that while it is held up", () => {
  expect(after([[800], [1_000, "a"]])).toEqual({ code: "a", at: 1_000, place: "back" });
  expect(after([[800], [1_000, "a"], [1_100, "a"], [1_300]]).place).toBe("back");
  expect(after([[800], [1_000, "a"], [1_800]]).place).toBe("away");
});

test("ticket that was typed in is not missed before the camera has seen it", () => {
  const typed = typedIn("a", 0);
  expect(after([[10_000], [20_000, "b"]], typed)).toEqual(typed);
  expect(after([[500, "a"]], typed)).toEqual({ code: "a", at: 500, place: "there" });
  expect(after([[500, "a"], [1_300]], typed).place).toBe("away");
});

test("answer changes nothing of where a ticket is, and is told of one that is back", () => {
  const there = after([[700, "a"]]);
  expect(looked(answered(there, 1_400), undefined, 1_500).place).toBe("away");
  expect(answered(after([[800]]), 5_000)).toEqual({ code: "a", at: 5_000, place: "away" });
  expect(answered(after([[800], [1_000, "a"]]), 1_100)).toEqual({ code: "a", at: 1_100, place: "there" });
  expect(answered(typedIn("a", 0), 900)).toEqual(typedIn("a", 900));
});

test("ticket that was typed in twice stays so until its answer, whatever the camera sees", () => {
  const twice = typedAgain(typedIn("a", 0));
  expect([isShownTwice(typedIn("a", 0)), isShownTwice(twice)]).toEqual([false, true]);
  expect(isShownTwice(after([[500, "a"]], twice))).toBe(true);
  expect(isShownTwice(after([[500, "a"], [1_300]], twice))).toBe(true);
  expect(isShownTwice(answered(twice, 900))).toBe(false);
  expect(isShownTwice(answered(after([[500, "a"]], twice), 900))).toBe(false);
});

test("ticket is shown twice if it was away and is back", () => {
  expect(isShownTwice(after([[800]]))).toBe(false);
  expect(isShownTwice(after([[800], [1_000, "a"]]))).toBe(true);
});

test("only the same code within 3 s is the same ticket shown again", () => {
  const ticket = typedIn("a", 0);
  expect([isStill(ticket, "a", 2_999), isStill(ticket, "a", 3_000)]).toEqual([true, false]);
  expect(isStill(ticket, "b", 1)).toBe(false);
});
