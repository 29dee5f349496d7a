/** The kinds of changes, by what they are about, as docs/design/journal.md has them. */
export const KINDS = {
  event: [
    "event_created",
    "settings_changed",
    "prequeue_opened",
    "prequeue_closed",
    "sale_opened",
    "sale_paused",
    "sale_resumed",
    "sale_closed",
    "resumed",
  ],
  stock: [
    "pool_added",
    "capacity_adjusted",
    "seats_added",
    "price_changed",
    "types_set",
    "units_blocked",
    "units_unblocked",
    "channel_set",
    "units_allotted",
    "channel_released",
  ],
  queue: [
    "place_taken",
    "place_seen",
    "place_left",
    "admitted",
    "arrived",
    "session_ended",
    "slot_freed",
    "visitor_removed",
    "visitor_unbanned",
  ],
  bookings: [
    "hold_placed",
    "hold_extended",
    "payer_named",
    "payment_begun",
    "payment_failed",
    "late_payment_failed",
    "hold_confirmed",
    "hold_confirmed_late",
    "hold_released",
    "hold_expired",
    "confirmed_cancelled",
    "checked_in",
    "hold_forgotten",
  ],
  claims: ["claimed", "declaimed", "claimed_adjusted", "claim_forgotten"],
} as const;

export type Group = keyof typeof KINDS;

/** A change is `"sale_paused"`, or its kind with what it says: `{"hold_placed": {…}}`. */
export function kindOf(change: unknown): string {
  if (typeof change === "string") return change;
  return Object.keys(change as object)[0] ?? "";
}
