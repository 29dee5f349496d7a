/** Times as they are typed, in the zone of whoever types them. */
const MIN_MS = 60_000;

/** `toLocal(1796119200000)` is what a field of the type `datetime-local` shows; empty for no time. */
export function toLocal(at: number | undefined): string {
  if (at === undefined) return "";
  const local = new Date(at - new Date(at).getTimezoneOffset() * MIN_MS);
  return local.toISOString().slice(0, 16);
}

/** Which zone typed times are in, such as `Asia/Bangkok (GMT+7)`. */
export function zone(language: string): string {
  const format = new Intl.DateTimeFormat(language, { timeZoneName: "short" });
  const short = format.formatToParts().find((part) => part.type === "timeZoneName")?.value ?? "";
  return `${format.resolvedOptions().timeZone} (${short})`;
}
