/** When waiting pages look at their draw: all of them have the same time to wait for. */
import { setMaxListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Draw } from "../../src/api/schema";
import { watchDraw } from "../../src/buyer/queue/draw-looks";

/** The draw that is found, and when it was looked at. */
const server = vi.hoisted(() => ({ draw: {}, looks: [] as number[] }));

vi.mock("../../src/buyer/queue/noted", () => ({
  noteDraw: () => {
    server.looks.push(Date.now());
    return Promise.resolve(server.draw);
  },
}));

const NOON = Date.parse("2026-12-05T12:00:00Z");
const DUE_MS = 120_000;
const PAGES = 1_000;
const LISTED = { seed_hash: "5e", entrants_hash: "11" } as Draw;
let page: EventTarget & { visibilityState: string };

beforeEach(() => {
  vi.useFakeTimers({ now: NOON });
  page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  // One document stands for those of all pages.
  setMaxListeners(0, page);
  vi.stubGlobal("document", page);
  server.draw = { seed_hash: "5e" };
  server.looks = [];
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function show(state: "visible" | "hidden"): void {
  page.visibilityState = state;
  page.dispatchEvent(new Event("visibilitychange"));
}

/** Looks of each whole second from when the list was due. */
function looksBySecond(): number[] {
  const seconds: number[] = [];
  for (const at of server.looks) {
    const second = Math.floor((at - NOON - DUE_MS) / 1_000);
    seconds[second] = (seconds[second] ?? 0) + 1;
  }
  return Array.from(seconds, (looks) => looks ?? 0);
}

test("looks at a list that is due are spread over most of a minute", async () => {
  // The golden ratio's multiples are as even as numbers come, and the same in each run.
  let drawn = 0;
  vi.spyOn(Math, "random").mockImplementation(() => ((drawn += 1) * 0.618_033_988_75) % 1);
  const stops = Array.from({ length: PAGES }, () => watchDraw("show", NOON + DUE_MS, () => {}));
  await pass(DUE_MS);
  server.looks = [];
  server.draw = LISTED;
  await pass(120_000);
  const seconds = looksBySecond();
  expect(server.looks).toHaveLength(PAGES);
  // A fiftieth of all in each second, and a little more.
  expect(Math.max(...seconds)).toBeLessThan((1.5 * PAGES) / 50);
  expect(seconds.length).toBeLessThanOrEqual(55);
  for (const stop of stops) stop();
});

test("looks at a list that is late get fewer and fewer", async () => {
  const stop = watchDraw("show", NOON + DUE_MS, () => {});
  await pass(DUE_MS + 600_000);
  const [, ...late] = server.looks;
  const pauses = late.slice(1).map((at, index) => at - late[index]!);
  expect(pauses.length).toBeGreaterThanOrEqual(3);
  for (const [index, leastMs] of [30_000, 60_000, 120_000].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(leastMs);
    expect(pauses[index]).toBeLessThan(2 * leastMs);
  }
  stop();
});

test("hidden page does not look, and looks once when it comes back", async () => {
  const found: Draw[] = [];
  const stop = watchDraw("show", NOON + DUE_MS, (draw) => found.push(draw));
  await pass(0);
  show("hidden");
  await pass(DUE_MS + 3_600_000);
  expect(server.looks).toHaveLength(1);
  server.draw = LISTED;
  show("visible");
  show("hidden");
  show("visible");
  await pass(5_000);
  expect(server.looks).toHaveLength(2);
  expect(found.at(-1)).toEqual(LISTED);
  await pass(3_600_000);
  expect(server.looks).toHaveLength(2);
  stop();
});

test("page that was hidden while no look was due does not make up for one", async () => {
  const stop = watchDraw("show", undefined, () => {});
  await pass(0);
  show("hidden");
  await pass(60_000);
  show("visible");
  await pass(60_000);
  expect(server.looks).toHaveLength(1);
  await pass(180_000);
  expect(server.looks).toHaveLength(2);
  stop();
});

test("page that is opened behind others looks when it is seen first", async () => {
  page.visibilityState = "hidden";
  const stop = watchDraw("show", undefined, () => {});
  await pass(600_000);
  expect(server.looks).toEqual([]);
  show("visible");
  await pass(5_000);
  expect(server.looks).toHaveLength(1);
  stop();
});

test("page that was left does not look", async () => {
  watchDraw("show", NOON + DUE_MS, () => {})();
  show("hidden");
  show("visible");
  await pass(3_600_000);
  expect(server.looks).toHaveLength(1);
});
