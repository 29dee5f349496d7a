/** The server's time: a buyer's clock may be minutes off, and deadlines are the server's. */

let offsetMs = 0;
let precisionMs = Infinity;

export const clock = {
  /** Milliseconds since 1970, as the server counts them. */
  now(): number {
    return Date.now() + offsetMs;
  },

  /**
   * Notes the time an answer was given: its `at` in milliseconds, or its Date header, which is cut
   * to whole seconds.
   */
  note(at: number | string | null | undefined): void {
    if (at === null || at === undefined) return;
    const isExact = typeof at === "number";
    const server = isExact ? at : Date.parse(at) + 500;
    const precision = isExact ? 100 : 500;
    if (!Number.isFinite(server) || precision > precisionMs) return;
    offsetMs = server - Date.now();
    precisionMs = precision;
  },
};
