import { expect, test } from "vitest";
import { isLineTooLong, waitAt } from "../../src/buyer/queue/pace";

test("wait is the position over the pace, rounded outwards", () => {
  const table: [position: number, perMin: { from: number; to: number } | undefined, wait: unknown][] = [
    [10, undefined, undefined],
    [10, { from: 0, to: 0 }, undefined],
    [1, { from: 40, to: 90 }, { from: 0, to: 1 }],
    [360, { from: 40, to: 90 }, { from: 4, to: 9 }],
    [361, { from: 40, to: 90 }, { from: 4, to: 10 }],
    [1_000, { from: 40, to: 90 }, { from: 10, to: 25 }],
    [10_000, { from: 40, to: 90 }, { from: 105, to: 255 }],
    [900, { from: 0, to: 90 }, { from: 10 }],
  ];
  for (const [position, perMin, wait] of table) expect(waitAt(position, perMin)).toEqual(wait);
});

test("line is too long where more are served first than may come free", () => {
  const units = { free: 3, held: 2, sold: 90, blocked: 5 };
  expect(isLineTooLong(5, units)).toBe(false);
  expect(isLineTooLong(6, units)).toBe(true);
});
