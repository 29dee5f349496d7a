/** For how long the same asked for again is the same wish. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Asked } from "../../src/admin/asked";

const MINUTE_MS = 60_000;

beforeEach(() => {
  const there = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => there.get(name) ?? null,
    setItem: (name: string, text: string) => there.set(name, text),
    removeItem: (name: string) => there.delete(name),
  });
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a wish is the same for as long as is said, and until it is known what came of it", () => {
  const asked = new Asked("mails", 10 * MINUTE_MS);
  const first = asked.keyFor("b-1");
  expect(first.isAgain).toBe(false);
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(asked.keyFor("b-1")).toEqual({ key: first.key, isAgain: true });
  expect(asked.keyFor("b-2").isAgain, "another wish").toBe(false);
  vi.advanceTimersByTime(1);
  const later = asked.keyFor("b-1");
  expect(later.isAgain, "after so long it is wished for once more").toBe(false);
  expect(later.key).not.toBe(first.key);
  expect(asked.keyFor("b-1")).toEqual({ key: later.key, isAgain: true });
  asked.forget("b-1");
  expect(asked.keyFor("b-1").isAgain).toBe(false);
});

test("a wish of which nothing is said stays the same", () => {
  const asked = new Asked("tickets");
  const first = asked.keyFor("t-1");
  vi.advanceTimersByTime(24 * 60 * MINUTE_MS);
  expect(asked.keyFor("t-1")).toEqual({ key: first.key, isAgain: true });
});
