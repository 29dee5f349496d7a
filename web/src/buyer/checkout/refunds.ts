/** What a buyer gets back who cancels: the same sums as the server's, to tell it beforehand. */
import type { Booking, Event as Sale } from "../../api/schema";

const DAY_MS = 24 * 3_600_000;

export interface Return {
  /** Of the units' price. */
  percent: number;
  refundMinor: number;
  keptMinor: number;
}

/** What goes back and what is kept at a time; `undefined` if the buyer cannot cancel then. */
export function returnOf(booking: Booking, sale: Sale, at: number): Return | undefined {
  if (booking.status !== "confirmed" || (booking.checked_in?.length ?? 0) > 0) return undefined;
  if (sale.starts_at === undefined) return undefined;
  const daysLeft = Math.floor((sale.starts_at - at) / DAY_MS);
  const rules = (sale.refunds ?? []).filter((rule) => rule.days_before <= daysLeft);
  if (rules.length === 0) return undefined;
  const { percent } = rules.reduce((best, rule) => (rule.days_before > best.days_before ? rule : best));
  const unitsMinor = booking.amount_minor - (booking.fee_minor ?? 0);
  // Rounded up to what can be paid, and never above what was.
  const step = 100 * (sale.amount_step_minor ?? 1);
  const steps = Math.ceil((unitsMinor * percent) / step);
  const refundMinor = Math.min((steps * step) / 100, booking.amount_minor);
  return { percent, refundMinor, keptMinor: booking.amount_minor - refundMinor };
}

/** The rules with the moment until which each holds, the earliest first. */
export function deadlines(sale: Sale): { until: number; percent: number }[] {
  const { starts_at: startsAt, refunds = [] } = sale;
  if (startsAt === undefined) return [];
  const sorted = [...refunds].sort((a, b) => b.days_before - a.days_before);
  return sorted.map((rule) => ({ until: startsAt - rule.days_before * DAY_MS, percent: rule.percent }));
}
