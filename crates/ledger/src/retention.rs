//! For how long people are known: whose names may go once their event has been over for long enough.

/// Bookings of an event whose buyers are erased at once, so that nobody waits for it.
pub const ERASED_AT_ONCE: u64 = 100;

/// Whom of an event to erase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Everybody.
    All,
    /// Those for whose bookings nothing is under way.
    AtRest,
}

/// Whether nothing is under way for the booking of a row of this table: no payment, no refund, and
/// nothing that an operator has still to do.
macro_rules! at_rest {
    ($table:literal) => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM sagas WHERE sagas.booking_id = ",
            $table,
            ".booking_id AND (next_at IS NOT NULL OR stuck IS NOT NULL)) \
             AND NOT EXISTS (SELECT 1 FROM payments WHERE payments.booking_id = ",
            $table,
            ".booking_id AND stage NOT IN ('void', 'captured', 'refunded')) \
             AND NOT EXISTS (SELECT 1 FROM refunds WHERE refunds.booking_id = ",
            $table,
            ".booking_id AND status IN ('requested', 'sent')) \
             AND NOT EXISTS (SELECT 1 FROM desk_entries WHERE desk_entries.booking_id = ",
            $table,
            ".booking_id AND settled_at IS NULL)"
        )
    };
}
pub(crate) use at_rest;

/// Between which ids the bookings of an event lie, with those of events whose ids begin like its
/// own; and where in an id that part begins, from 1, which has no dot in those of the event itself.
pub(crate) fn bookings_of(event: &onrush_core::ids::EventId) -> (String, String, i64) {
    let event = event.as_str();
    let rest = i64::try_from(event.len()).unwrap_or(i64::MAX).saturating_add(2);
    // A slash follows the dot.
    (format!("{event}."), format!("{event}/"), rest)
}
