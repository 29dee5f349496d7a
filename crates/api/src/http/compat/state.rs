//! A visitor's state in the inherited words.
//!
//! It follows from what the rules have: the live booking of one seat, else the place or session, else
//! the booking that was confirmed last. Nothing is stored for these paths alone.

use crate::answers::every_booking_of;
use crate::http::problem::Problem;
use crate::http::queue::place::find_place;
use crate::http::state::Sale;
use onrush_core::hold::HoldState;
use onrush_core::ids::{EventId, SeatId, UserId};
use onrush_core::view::{HoldView, PlaceView};
use onrush_core::{Refusal, Time};

/// How long after its payment a booking still shows as the visitor's state.
const COMPLETED_SHOWN_MS: i64 = 3_600_000;

/// A visitor's live booking of one seat.
pub(super) struct Chosen<'a> {
    pub(super) hold: &'a HoldView,
    pub(super) seat: &'a SeatId,
    pub(super) until: Time,
    /// Whether a payment runs.
    pub(super) paying: bool,
}

/// A visitor's bookings, oldest first, and the engine's time.
pub(in crate::http) async fn bookings(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
) -> Result<(Time, Vec<HoldView>), Problem> {
    Ok(every_booking_of(&*sale.engine, event, user).await?)
}

/// The seat of a booking of nothing but one seat.
fn only_seat(hold: &HoldView) -> Option<&SeatId> {
    match (hold.terms.lines.pools(), hold.terms.lines.seats()) {
        ([], [seat]) => Some(seat),
        _ => None,
    }
}

/// The live booking of one seat that is paid for, or else the latest, however it was made.
pub(in crate::http) fn chosen(holds: &[HoldView], at: Time) -> Option<Chosen<'_>> {
    let live = holds.iter().filter_map(|hold| {
        let seat = only_seat(hold)?;
        let until = hold.state.until().filter(|until| at < *until)?;
        let paying = matches!(hold.state, HoldState::Paying { .. });
        Some(Chosen { hold, seat, until, paying })
    });
    // Of equals the last is the greatest.
    live.max_by_key(|chosen| chosen.paying)
}

/// Whether a booking keeps nothing any more. Where commands do not tick, one that has run out may still
/// be called held.
pub(in crate::http) fn is_over(state: &HoldState, at: Time) -> bool {
    match state {
        HoldState::Released { .. } | HoldState::Expired { .. } | HoldState::Cancelled { .. } => {
            true
        }
        HoldState::Held { until } | HoldState::Paying { until, .. } => *until <= at,
        HoldState::Confirmed { .. } => false,
    }
}

/// The booking of one seat that was confirmed last, and until when it is shown.
pub(in crate::http) fn completed(holds: &[HoldView], at: Time) -> Option<(&SeatId, Time)> {
    let confirmed = holds.iter().filter_map(|hold| match hold.state {
        HoldState::Confirmed { at: confirmed_at, .. } => {
            let until = confirmed_at.plus_ms(COMPLETED_SHOWN_MS);
            Some((only_seat(hold)?, until)).filter(|_| at < until)
        }
        HoldState::Held { .. }
        | HoldState::Paying { .. }
        | HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. } => None,
    });
    confirmed.max_by_key(|(_, until)| *until)
}

/// A visitor's session, or their place in the queue.
pub(in crate::http) async fn place(
    sale: &Sale,
    event: &EventId,
    user: &UserId,
) -> Result<Option<PlaceView>, Problem> {
    match find_place(sale, event, user, None).await {
        Ok(view) => Ok(Some(view)),
        Err(problem) if problem.code() == Refusal::PlaceNotFound.code() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The inherited times are whole seconds; rounded down, so that nobody counts on what is over.
pub(in crate::http) fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_booking_that_has_run_out_is_over_before_anybody_says_so() {
        let until = Time(1_000);
        let held = HoldState::Held { until };
        assert!(!is_over(&held, Time(999)));
        assert!(is_over(&held, until), "its last moment is the one before");
    }
}
