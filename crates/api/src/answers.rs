//! Answers that take more than one question.

use onrush_core::Time;
use onrush_core::ids::{EventId, UserId};
use onrush_core::question::BookingsOf;
use onrush_core::view::HoldView;
use onrush_store::{Ask, Engine, Failure};

/// All of a user's bookings of an event, oldest first, and the engine's time. They are asked for
/// page by page, so that nobody waits for somebody who has many.
///
/// # Errors
/// Whatever the engine says.
pub(crate) async fn every_booking_of(
    engine: &dyn Engine,
    event: &EventId,
    user: &UserId,
) -> Result<(Time, Vec<HoldView>), Failure> {
    let mut all: Vec<HoldView> = Vec::new();
    loop {
        let after = all.last().map(|view| view.terms.booking.clone());
        let page = BookingsOf { user: user.clone(), after, limit: BOOKINGS_AT_ONCE };
        let answer = engine.ask(event.clone(), page).await?;
        let is_last = answer.value.len() < BOOKINGS_AT_ONCE as usize;
        all.extend(answer.value);
        if is_last {
            return Ok((answer.at, all));
        }
    }
}

/// Bookings that are asked of the engine at once.
const BOOKINGS_AT_ONCE: u32 = 1_000;
