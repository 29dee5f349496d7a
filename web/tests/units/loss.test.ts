/** Which press shows first that chosen seats are gone, and which holds what is chosen. */
import { expect, test } from "vitest";
import { Loss } from "../../src/buyer/choose/loss.svelte";

test("loss that came by itself is shown by one press, and the next one holds", () => {
  const loss = new Loss();
  expect(loss.stop(2)).toBe(false);
  loss.come([7], 1);
  expect(loss.isTold).toBe(false);
  expect(loss.stop(1)).toBe(true);
  expect(loss.isTold).toBe(true);
  expect(loss.stop(1)).toBe(false);
  expect(loss.seats).toEqual([7]);
});

test("whoever chose as much again as was lost is not stopped", () => {
  const loss = new Loss();
  loss.come([7], 2);
  expect(loss.stop(3)).toBe(false);
  expect(loss.isTold).toBe(false);
  // One of the others goes as well: four were chosen by then.
  loss.come([8], 3);
  expect(loss.stop(4)).toBe(false);
  expect(loss.stop(3)).toBe(true);
  expect(loss.seats).toEqual([7, 8]);
});

test("losses one after another are one until they are shown or seen to", () => {
  const loss = new Loss();
  loss.come([7], 2);
  loss.come([8], 1);
  expect(loss.stop(3)).toBe(false);
  expect(loss.stop(2)).toBe(true);
  // What goes after it was told is news again.
  loss.come([9], 1);
  expect(loss.isTold).toBe(false);
  expect(loss.stop(1)).toBe(true);
});

test("nobody is stopped who has nothing left of what was chosen before", () => {
  const loss = new Loss();
  loss.come([7], 0);
  expect(loss.stop(0)).toBe(false);
  loss.clear();
  loss.come([7, 8], 0);
  // Another seat was chosen since.
  expect(loss.stop(1)).toBe(false);
});

test("whoever was told at the hold is not stopped again, nor for what was done about it", () => {
  const loss = new Loss();
  loss.tell([7]);
  expect(loss.isTold).toBe(true);
  expect(loss.stop(1)).toBe(false);
  loss.come([8], 1);
  loss.clear();
  expect(loss.seats).toEqual([]);
  expect(loss.stop(1)).toBe(false);
});
