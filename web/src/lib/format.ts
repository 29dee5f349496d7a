/** Numbers, money and times as people of a language write them. */
import currencies from "./currencies.json";
import { i18n } from "./i18n.svelte";

const decimals: Record<string, number> = currencies.decimals;
const stepsMinor: Record<string, number> = currencies.step_minor;

/**
 * How many digits a currency has behind the point, by ISO 4217, as the server counts. Browsers have
 * it otherwise: there the rupiah, the forint and the Iraqi dinar have none.
 */
export function decimalsOf(currency: string): number {
  return decimals[currency] ?? 2;
}

/** What amounts of a currency are multiples of, in minor units. */
export function stepMinorOf(currency: string): number {
  return stepsMinor[currency] ?? 1;
}

/** Money in minor units: `money(4550, "EUR")` is €45.50. */
export function money(minor: number, currency: string): string {
  const digits = decimalsOf(currency);
  const format = new Intl.NumberFormat(i18n.language, {
    style: "currency",
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return format.format(minor / 10 ** digits);
}

export function number(value: number): string {
  return new Intl.NumberFormat(i18n.language).format(value);
}

/** Basis points as percent: `percent(1900)` is 19%. */
export function percent(bp: number): string {
  const format = new Intl.NumberFormat(i18n.language, { style: "percent", maximumFractionDigits: 2 });
  return format.format(bp / 10_000);
}

/** A day and a time of day. */
export function dateTime(at: number): string {
  return new Intl.DateTimeFormat(i18n.language, { dateStyle: "medium", timeStyle: "short" }).format(at);
}

/** When an event starts, with the zone that the time is told in: not everybody is where it is. */
export function start(at: number): string {
  const format = new Intl.DateTimeFormat(i18n.language, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
  });
  return format.format(at);
}

/** A calendar day: `day("2026-12-24")`. */
export function day(date: string): string {
  const format = new Intl.DateTimeFormat(i18n.language, { dateStyle: "medium", timeZone: "UTC" });
  return format.format(Date.parse(`${date}T00:00:00Z`));
}

export function time(at: number): string {
  return new Intl.DateTimeFormat(i18n.language, { timeStyle: "medium" }).format(at);
}

/** What is left of a time, as 4:05 or 1:04:05; never below 0. */
export function countdown(leftMs: number): string {
  const s = Math.max(0, Math.ceil(leftMs / 1_000));
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3_600);
  const minutes = Math.floor((s % 3_600) / 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}
