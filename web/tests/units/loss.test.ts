/** Which press shows first that chosen seats are gone, and which holds what is chosen. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Loss } from "../../src/buyer/choose/loss.svelte";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** As long as nobody takes for two clicks. */
const read = () => vi.advanceTimersByTime(1_000);

test("loss that came by itself is shown by one press, and the next one holds", () => {
  const loss = new Loss();
  expect(loss.stop("chosen", 2)).toBe(false);
  loss.come([7], 1, false);
  expect(loss.told).toBe(undefined);
  expect(loss.stop("chosen", 1)).toBe(true);
  expect(loss.told).toBe("chosen");
  read();
  expect(loss.stop("chosen", 1)).toBe(false);
  expect(loss.seats).toEqual([7]);
});

test("whoever chose as much again as was lost is not stopped", () => {
  const loss = new Loss();
  loss.come([7], 2, false);
  expect(loss.stop("chosen", 3)).toBe(false);
  expect(loss.told).toBe(undefined);
  // One of the others goes as well: four were chosen by then.
  loss.come([8], 3, false);
  expect(loss.stop("chosen", 4)).toBe(false);
  expect(loss.stop("chosen", 3)).toBe(true);
  expect(loss.seats).toEqual([7, 8]);
});

test("losses one after another are one until they are shown or seen to", () => {
  const loss = new Loss();
  loss.come([7], 2, false);
  loss.come([8], 1, false);
  expect(loss.stop("chosen", 3)).toBe(false);
  expect(loss.stop("chosen", 2)).toBe(true);
  read();
  // What goes after it was told is news again.
  loss.come([9], 1, false);
  expect(loss.told).toBe(undefined);
  expect(loss.stop("chosen", 1)).toBe(true);
});

test("nobody is stopped who has nothing left of what was chosen before", () => {
  const loss = new Loss();
  loss.come([7], 0, false);
  expect(loss.stop("chosen", 0)).toBe(false);
  loss.clear();
  loss.come([7, 8], 0, false);
  // Another seat was chosen since.
  expect(loss.stop("chosen", 1)).toBe(false);
});

test("whoever was told at the hold is not stopped again, nor for what was done about it", () => {
  const loss = new Loss();
  loss.tell([7], "chosen");
  expect(loss.told).toBe("chosen");
  read();
  expect(loss.stop("chosen", 1)).toBe(false);
  loss.come([8], 1, false);
  loss.clear();
  expect(loss.seats).toEqual([]);
  expect(loss.stop("chosen", 1)).toBe(false);
});

test.each([
  ["a press that showed it", (loss: Loss) => expect(loss.stop("chosen", 1)).toBe(true)],
  ["a hold that was refused", (loss: Loss) => loss.tell([8], "chosen")],
])("second click of a double one holds nothing after %s", (_, first) => {
  const loss = new Loss();
  loss.come([7], 1, false);
  first(loss);
  vi.advanceTimersByTime(300);
  expect(loss.isToldJustNow).toBe(true);
  expect(loss.stop("chosen", 1)).toBe(true);
  vi.advanceTimersByTime(500);
  expect(loss.isToldJustNow).toBe(false);
  expect(loss.stop("chosen", 1)).toBe(false);
});

test("whoever does something about it at once waits for nothing", () => {
  const loss = new Loss();
  loss.tell([7], "chosen");
  loss.clear();
  expect(loss.isToldJustNow).toBe(false);
  expect(loss.stop("chosen", 1)).toBe(false);
  // Nor does what was shown before end the wait of what is shown now.
  vi.advanceTimersByTime(500);
  loss.tell([8], "chosen");
  vi.advanceTimersByTime(500);
  expect(loss.stop("chosen", 1)).toBe(true);
});

test("best seats wait for a choice beside them that is gone whole, where their form said it is held", () => {
  const loss = new Loss();
  loss.come([7], 0, true);
  // What is chosen by hand since is all that there is.
  expect(loss.stop("chosen", 0)).toBe(false);
  expect(loss.stop("best", 1)).toBe(false);
  expect(loss.stop("best", 0)).toBe(true);
  expect(loss.told).toBe("best");
  read();
  expect(loss.stop("best", 0)).toBe(false);

  loss.clear();
  loss.come([7], 0, false);
  expect(loss.stop("best", 0)).toBe(false);
  // Where some of it is left, it does not matter what was shown.
  loss.clear();
  loss.come([7], 1, false);
  expect(loss.stop("best", 1)).toBe(true);
});
