/** The server's time: a buyer's clock may be minutes off, and deadlines are the server's. */

let offsetMs = 0;
let precisionMs = Infinity;
/** Whether an `at` told it: engine time, which may be minutes from the clock of a node by design. */
let isEngineTime = false;
/** What the Date header of the last quick answer said. */
let lastDate: { offsetMs: number; steadyMs: number } | undefined;
/** What a device's clock was set by, if a node's clock seems to have jumped by more. */
const SET_MS = 3_000;
/** An answer that took longer tells little of what time it is. */
const QUICK_MS = 1_000;

export const clock = {
  /** Milliseconds since 1970, as the server counts them. */
  now(): number {
    return Date.now() + offsetMs;
  },

  /**
   * Notes the time an answer was given: its `at` in milliseconds, which is engine time, or its Date
   * header, which is a node's clock, cut to whole seconds. What is cut counts less, and so does what
   * took long. `tookMs` is for how long the answer was waited for: it was given half-way, most likely.
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
    precisionMs = precision;
    isEngineTime ||= isExact;
  },
};

/**
 * Keeps up with this device's clock, whatever it is set to: nodes' clocks seem to jump by as much.
 * Those of two nodes may differ as well, but not what has passed meanwhile.
 */
function follow(offset: number): void {
  const steadyMs = Date.now() - performance.now();
  const before = lastDate;
  lastDate = { offsetMs: offset, steadyMs };
  if (before === undefined) return;
  const jump = offset - before.offsetMs;
  if (Math.abs(jump) > SET_MS && Math.abs(steadyMs - before.steadyMs) > SET_MS) offsetMs += jump;
}
