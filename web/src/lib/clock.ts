/** The server's time: a buyer's clock may be minutes off, and deadlines are the server's. */

let offsetMs = 0;
let precisionMs = Infinity;
/** Whether an `at` told it: engine time, which may be minutes from the clock of a node by design. */
let isEngineTime = false;
/** What the Date header of the last quick answer said. */
let lastDate: { offsetMs: number; steadyMs: number } | undefined;
/** How far this device's clock was from its steady one when `offsetMs` was last right for it. */
let rightAtSteadyMs = 0;
/** A device's clock was set if it differs by more; what two Date headers say of it is as exact as this. */
const SET_MS = 3_000;
/** An answer that took longer tells little of what time it is. */
const QUICK_MS = 1_000;
/** How much later than `now` says it may be. */
const BEHIND_MS = 1_000;
/** Two ways to measure an answer's time differ by more where the device slept, or its clock was set. */
const SLEPT_MS = 1_000;

export const clock = {
  /** Milliseconds since 1970, as the server counts them. */
  now(): number {
    return Date.now() + offsetMs;
  },

  /** The latest that it may be, in whole milliseconds: whatever was told before is not later. */
  latest(): number {
    return Math.ceil(this.now() + BEHIND_MS);
  },

  /**
   * Notes the time an answer was given: its `at` in milliseconds, which is engine time, or its Date
   * header, which is a node's clock, cut to whole seconds. What is cut counts less, and so does what
   * took long. `tookMs` is for how long the answer was waited for: it was given half-way, most likely.
   * What took infinitely long tells nothing.
   */
  note(at: number | string | null | undefined, tookMs = 0): void {
    if (at === null || at === undefined) return;
    const isExact = typeof at === "number";
    const server = (isExact ? at : Date.parse(at) + 500) + tookMs / 2;
    const precision = (isExact ? 100 : 500) + (tookMs < QUICK_MS ? 0 : tookMs / 2);
    if (!Number.isFinite(server)) return;
    const offset = server - Date.now();
    if (!isExact && tookMs < QUICK_MS) follow(offset);
    // Where the two agree, the more exact one counts; where they cannot both be right, engine time does.
    const isOther = isExact !== isEngineTime && Math.abs(offset - offsetMs) > precision + precisionMs;
    if (isOther ? isEngineTime : precision > precisionMs) return;
    offsetMs = offset;
    rightAtSteadyMs = steady();
    precisionMs = precision;
    isEngineTime ||= isExact;
  },
};

/**
 * Measures for how long an answer is waited for. If the device slept meanwhile, or its clock was set, nobody
 * knows, and it is infinitely long: by the steady clock a device that slept waited for a moment only.
 */
export function stopwatch(): () => number {
  const began = performance.now();
  const before = steady();
  return () => (Math.abs(steady() - before) > SLEPT_MS ? Infinity : performance.now() - began);
}

/** Changes when this device's clock is set, and also while it sleeps: browsers stop the steady one. */
function steady(): number {
  return Date.now() - performance.now();
}

/**
 * Keeps up with this device's clock, whatever it is set to: nodes' clocks seem to jump back by as much
 * as it leaves the steady one behind. If the two do not agree, it is another node's clock, or the device
 * has slept. What it was set by before an `at` was noted is in `offsetMs` already.
 */
function follow(offset: number): void {
  const steadyMs = steady();
  const before = lastDate;
  lastDate = { offsetMs: offset, steadyMs };
  const setBy = steadyMs - rightAtSteadyMs;
  rightAtSteadyMs = steadyMs;
  if (before === undefined) return;
  const jump = offset - before.offsetMs;
  const doesAgree = Math.abs(jump + steadyMs - before.steadyMs) <= SET_MS;
  if (doesAgree && Math.abs(setBy) > SET_MS) offsetMs -= setBy;
}
