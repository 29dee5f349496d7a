/** What the event's rules about refunds promise, and until when. */
import type { Event as Sale } from "../../api/schema";

/** The rules with the moment until which each holds, the earliest first. */
export function deadlines(sale: Sale): { until: number; percent: number }[] {
  const rules = (sale.refunds ?? []).flatMap(({ until, percent }) =>
    until === undefined ? [] : [{ until, percent }],
  );
  return rules.sort((a, b) => a.until - b.until);
}
