/** Times as they are typed, in the zone of whoever types them. */
const MIN_MS = 60_000;

/** `toLocal(1796119200000)` is what a field of the type `datetime-local` shows; empty for no time. */
export function toLocal(at: number | undefined): string {
  if (at === undefined) return "";
  const local = new Date(at - new Date(at).getTimezoneOffset() * MIN_MS);
  return local.toISOString().slice(0, 16);
}

/** The latest that such a field takes: without it browsers take years of five digits, which are no times. */
export const LATEST = "9999-12-31T23:59";

/** Whether what such a field holds is a time. */
export function isTime(typed: string): boolean {
  return Number.isFinite(Date.parse(typed));
}

/** `fromLocal("2026-12-01T20:00")` is when that is. @throws {RangeError} if it is no time. */
export function fromLocal(typed: string): number {
  if (!isTime(typed)) throw new RangeError(`not a time: ${typed}`);
  return new Date(typed).getTime();
}

/** Which zone typed times are in, such as `Europe/Berlin`. Its offset is another on other days. */
export function zone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
