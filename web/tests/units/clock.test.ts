/** The server's time on a device whose own clock is off, or is set right. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const NOON = Date.parse("2026-11-24T12:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(NOON);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function fresh() {
  return (await import("../../src/lib/clock")).clock;
}

test("what is exact counts more than what is cut to seconds", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON + 60_000).toUTCString());
  expect(clock.now()).toBe(NOON + 60_500);
  clock.note(NOON + 60_100);
  clock.note(new Date(NOON + 60_000).toUTCString());
  expect(clock.now()).toBe(NOON + 60_100);
});

test("latest that it may be is a whole millisecond after what was told", async () => {
  const clock = await fresh();
  clock.note(NOON, 1_001);
  expect(clock.latest()).toBe(NOON + 1_501);
});

test("device whose clock is set right does not count time that is not there", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON + 180_000).toUTCString(), 40);
  clock.note(NOON + 180_000);
  vi.setSystemTime(NOON + 180_000);
  clock.note(new Date(NOON + 180_000).toUTCString(), 40);
  expect(Math.abs(clock.now() - (NOON + 180_000))).toBeLessThan(1_000);
});

test("engine time that is far from a node's clock stays engine time", async () => {
  const clock = await fresh();
  clock.note(NOON + 600_000);
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(new Date(NOON).toUTCString(), 40);
  expect(clock.now()).toBe(NOON + 600_000);
});

test("engine time that took long counts more than a node's clock that is far from it", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON + 600_000, 4_000);
  clock.note(new Date(NOON).toUTCString(), 40);
  expect(clock.now()).toBe(NOON + 602_000);
});

test("device whose clock is set keeps engine time that is far from a node's clock", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON + 600_000);
  vi.setSystemTime(NOON + 180_000);
  clock.note(new Date(NOON).toUTCString(), 40);
  expect(Math.abs(clock.now() - (NOON + 600_000))).toBeLessThan(1_000);
});

test("nodes whose clocks differ do not set the time", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON);
  clock.note(new Date(NOON + 10_000).toUTCString(), 40);
  expect(clock.now()).toBe(NOON);
});

test("node whose clock differs does not set the time of a device that slept", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON);
  // The steady clock stops meanwhile.
  vi.setSystemTime(NOON + 3_600_000);
  clock.note(new Date(NOON + 3_600_000 + 180_000).toUTCString(), 40);
  expect(clock.now()).toBe(NOON + 3_600_000);
  vi.setSystemTime(NOON + 7_200_000);
  clock.note(new Date(NOON + 7_200_000).toUTCString(), 40);
  expect(clock.now()).toBe(NOON + 7_200_000);
});

test("device whose clock is set after it slept keeps the time", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON);
  vi.setSystemTime(NOON + 3_600_000);
  clock.note(new Date(NOON + 3_600_000).toUTCString(), 40);
  vi.setSystemTime(NOON + 3_600_000 + 180_000);
  clock.note(new Date(NOON + 3_600_000).toUTCString(), 40);
  expect(Math.abs(clock.now() - (NOON + 3_600_000))).toBeLessThan(1_000);
});

test("device whose clock is set is followed once, if an exact time came without a node's clock", async () => {
  const clock = await fresh();
  clock.note(new Date(NOON).toUTCString(), 40);
  clock.note(NOON);
  vi.setSystemTime(NOON + 180_000);
  clock.note(NOON);
  clock.note(new Date(NOON).toUTCString(), 40);
  expect(clock.now()).toBe(NOON);
  // What it is set by after that is followed as well.
  clock.note(NOON);
  vi.setSystemTime(NOON);
  clock.note(new Date(NOON).toUTCString(), 40);
  expect(Math.abs(clock.now() - NOON)).toBeLessThan(1_000);
});

test("answer that took long does not set the time back", async () => {
  const clock = await fresh();
  clock.note(NOON);
  vi.setSystemTime(NOON + 15_000);
  clock.note(new Date(NOON).toUTCString(), 15_000);
  expect(clock.now()).toBe(NOON + 15_000);
});

test("exact answer that took long does not set the time back", async () => {
  const clock = await fresh();
  clock.note(NOON);
  vi.setSystemTime(NOON + 15_000);
  clock.note(NOON, 15_000);
  expect(clock.now()).toBe(NOON + 15_000);
});

test("answer that took long counts from its middle until there is a quicker one", async () => {
  const clock = await fresh();
  clock.note(NOON, 4_000);
  expect(clock.now()).toBe(NOON + 2_000);
  clock.note(new Date(NOON + 1_000).toUTCString());
  expect(clock.now()).toBe(NOON + 1_500);
});

test("answer that tells the time is noted with how long it took", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: NOON });
  const clock = await fresh();
  const { ask } = await import("../../src/api/client");
  const answered = (body: unknown, tookMs: number) =>
    vi.stubGlobal("fetch", () => {
      vi.advanceTimersByTime(tookMs);
      return Promise.resolve(Response.json(body));
    });
  answered({ at: NOON + 60_000 }, 0);
  await ask("/event", { tellsTime: true });
  expect(clock.now()).toBe(NOON + 60_000);
  answered({ events: [{ at: NOON + 60_000 }] }, 15_000);
  await ask("/events", { tellsTime: true });
  expect(clock.now()).toBe(NOON + 75_000);
  answered({ at: NOON }, 0);
  await ask("/booking");
  expect(clock.now()).toBe(NOON + 75_000);
});

test("answer that was under way while the device slept does not set the time back", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: NOON });
  const clock = await fresh();
  const { ask } = await import("../../src/api/client");
  let sleepMs = 0;
  let aheadMs = 0;
  vi.stubGlobal("fetch", () => {
    vi.advanceTimersByTime(100);
    const at = Date.now() + aheadMs;
    const answer = Response.json({ at }, { headers: { date: new Date(at).toUTCString() } });
    vi.advanceTimersByTime(100);
    // The steady clock stops meanwhile.
    vi.setSystemTime(Date.now() + sleepMs);
    return Promise.resolve(answer);
  });
  await ask("/event", { tellsTime: true });
  expect(clock.now()).toBe(Date.now());
  sleepMs = 180_000;
  await ask("/booking");
  expect(clock.now()).toBe(Date.now());
  await ask("/event", { tellsTime: true });
  expect(clock.now()).toBe(Date.now());
  // Others tell the time as before.
  sleepMs = 0;
  aheadMs = 60_000;
  await ask("/event", { tellsTime: true });
  expect(clock.now()).toBe(Date.now() + 60_000);
});
