//! The engine's answers, of the kind that was asked for.

use onrush_core::ids::{EventId, UserId};
use onrush_core::view::{EventView, HoldView};
use onrush_core::{Query, Time, View};
use onrush_store::{Engine, Failure};
use std::fmt;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The engine refuses or fails.
    Engine(Failure),
    /// The engine answered something else than was asked: a fault of ours.
    OddAnswer,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(failure) => failure.fmt(f),
            Self::OddAnswer => {
                f.write_str("an answer of another kind came back; please report this")
            }
        }
    }
}

impl std::error::Error for AskError {}

impl From<Failure> for AskError {
    fn from(failure: Failure) -> Self {
        Self::Engine(failure)
    }
}

/// An event as it is now, and the engine's time.
///
/// # Errors
/// See [`AskError`].
pub(crate) async fn event_view(
    engine: &dyn Engine,
    event: &EventId,
) -> Result<(Time, Box<EventView>), AskError> {
    let answer = engine.query(event.clone(), Query::Event).await?;
    match answer.value {
        View::Event(view) => Ok((answer.at, view)),
        View::Availability(_)
        | View::Seats(_)
        | View::Place(_)
        | View::Booking(_)
        | View::Bookings(_)
        | View::Claim(_)
        | View::Bans(_) => Err(AskError::OddAnswer),
    }
}

/// All of a user's bookings of an event, oldest first, and the engine's time. They are asked for
/// page by page, so that nobody waits for somebody who has many.
///
/// # Errors
/// See [`AskError`].
pub(crate) async fn every_booking_of(
    engine: &dyn Engine,
    event: &EventId,
    user: &UserId,
) -> Result<(Time, Vec<HoldView>), AskError> {
    let mut all: Vec<HoldView> = Vec::new();
    loop {
        let after = all.last().map(|view| view.terms.booking.clone());
        let query = Query::Bookings { user: user.clone(), after, limit: BOOKINGS_AT_ONCE };
        let answer = engine.query(event.clone(), query).await?;
        match answer.value {
            View::Bookings(views) => {
                let is_last = views.len() < BOOKINGS_AT_ONCE as usize;
                all.extend(views);
                if is_last {
                    return Ok((answer.at, all));
                }
            }
            View::Event(_)
            | View::Availability(_)
            | View::Seats(_)
            | View::Place(_)
            | View::Booking(_)
            | View::Claim(_)
            | View::Bans(_) => return Err(AskError::OddAnswer),
        }
    }
}

/// Bookings that are asked of the engine at once.
const BOOKINGS_AT_ONCE: u32 = 1_000;
