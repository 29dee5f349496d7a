/** What is said to those who are not in the line: a heading, and why it is so. */
import { t } from "../../lib/i18n.svelte";
import type { Ended } from "./record";

/** Why somebody is not in the line. */
export type Reason = Ended | "full" | "closed";

export function textsOf(how: Reason): [heading: string, why: string] {
  switch (how) {
    case "left":
      return [t("queue.ended_left_heading"), t("queue.ended_left")];
    case "lapsed":
      return [t("queue.ended_lapsed_heading"), t("queue.ended_lapsed")];
    case "no_show":
      return [t("queue.ended_no_show_heading"), t("queue.ended_no_show")];
    case "timeout":
      return [t("queue.ended_timeout_heading"), t("queue.ended_timeout")];
    case "kept":
      return [t("queue.ended_kept_heading"), t("queue.ended_kept")];
    case "gave_up":
      return [t("queue.ended_gave_up_heading"), t("queue.ended_gave_up")];
    case "completed":
      return [t("queue.ended_completed_heading"), t("queue.ended_completed")];
    case "payment_failed":
      return [t("queue.ended_payment_failed_heading"), t("queue.ended_payment_failed")];
    case "removed":
      return [t("queue.ended_removed_heading"), t("queue.ended_removed")];
    case "full":
      return [t("queue.full_heading"), t("queue.full")];
    case "closed":
      return [t("queue.closed_heading"), t("queue.closed")];
    default:
      // What another version told, or had this browser remember, has no words of its own here.
      how satisfies never;
      return [t("queue.ended_otherwise_heading"), t("queue.ended_otherwise")];
  }
}
