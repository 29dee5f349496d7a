/** Money as it is typed, and as the server counts it; and large numbers where there is little room. */
import { decimalsOf } from "../lib/format";
import { i18n } from "../lib/i18n.svelte";

/** `toMinor(45.5, "EUR")` is 4550. */
export function toMinor(major: number, currency: string): number {
  return Math.round(major * 10 ** decimalsOf(currency));
}

export function toMajor(minor: number, currency: string): number {
  return minor / 10 ** decimalsOf(currency);
}

/** `compact(12400)` is 12K. */
export function compact(value: number): string {
  const format = new Intl.NumberFormat(i18n.language, { notation: "compact", maximumFractionDigits: 1 });
  return format.format(value);
}
