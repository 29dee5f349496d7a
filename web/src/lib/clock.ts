/** The server's time: a buyer's clock may be minutes off, and deadlines are the server's. */

let offsetMs = 0;
let precisionMs = Infinity;
/** What a device's clock was set by, if an answer that was quick says otherwise by more. */
const SET_MS = 3_000;
/** An answer that took longer tells little of what time it is. */
const QUICK_MS = 1_000;

export const clock = {
  /** Milliseconds since 1970, as the server counts them. */
  now(): number {
    return Date.now() + offsetMs;
  },

  /**
   * Notes the time an answer was given: its `at` in milliseconds, or its Date header, which is cut
   * to whole seconds. What is cut counts less, and so does what took long, unless this device's clock
   * was set since. `tookMs` is for how long the answer was waited for: it was given half-way, most
   * likely.
   */
  note(at: number | string | null | undefined, tookMs = 0): void {
    if (at === null || at === undefined) return;
    const isExact = typeof at === "number";
    const server = (isExact ? at : Date.parse(at) + 500) + tookMs / 2;
    const precision = (isExact ? 100 : 500) + (tookMs < QUICK_MS ? 0 : tookMs / 2);
    if (!Number.isFinite(server)) return;
    const offset = server - Date.now();
    const wasSet = tookMs < QUICK_MS && Math.abs(offset - offsetMs) > SET_MS;
    if (precision > precisionMs && !wasSet) return;
    offsetMs = offset;
    precisionMs = precision;
  },
};
