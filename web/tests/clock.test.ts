/** The server's time on a device whose own clock is off, or is set right. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const NOON = Date.parse("2026-11-24T12:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(NOON);
});

afterEach(() => {
  vi.useRealTimers();
  vi.resetModules();
});

async function fresh() {
  return (await import("../src/lib/clock")).clock;
}

test("what is exact counts more than what is cut to seconds", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON + 60_000).toUTCString());
  expect(clock.now()).toBe(NOON + 60_500);
  clock.note(NOON + 60_100);
  clock.note(new Date(NOON + 60_000).toUTCString());
  expect(clock.now()).toBe(NOON + 60_100);
});

test("device whose clock is set right does not count time that is not there", async () => {
  const clock = await fresh();
  clock.note(NOON + 180_000);
  vi.setSystemTime(NOON + 180_000);
  clock.note(new Date(NOON + 180_000).toUTCString(), 40);
  expect(Math.abs(clock.now() - (NOON + 180_000))).toBeLessThan(1_000);
});

test("answer that took long does not set the time back", async () => {
  const clock = await fresh();
  clock.note(NOON);
  vi.setSystemTime(NOON + 15_000);
  clock.note(new Date(NOON).toUTCString(), 15_000);
  expect(clock.now()).toBe(NOON + 15_000);
});
