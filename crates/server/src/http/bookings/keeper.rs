//! Who looks after a booking, on the paths that a link opens as well as a visitor's token.

use crate::auth::link::{self, BookingLink};
use crate::http::caller::bearer;
use crate::http::faults::hide_event;
use crate::http::faults::odd_answer;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::view::HoldView;
use onrush_core::{Query, Refusal, View};
use onrush_ledger::booking::Booking;
use std::sync::Arc;

/// Who looks after a booking.
pub enum Keeper {
    /// A visitor, who has to be the one that it belongs to.
    Visitor(UserId),
    /// Whoever has the link of a booking, which has to be this one.
    Link(BookingLink),
}

impl FromRequestParts<Arc<App>> for Keeper {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let token = bearer(parts)?;
        if !token.starts_with(link::PREFIX) {
            let user = app.visitor_of(token)?;
            app.limits.visit(&parts.method, &user, app.address_in(parts)?)?;
            return Ok(Self::Visitor(user));
        }
        let link = app.links.verify(token).map_err(|_| {
            Problem::new(Code::TokenInvalid, "the link is not valid; take it from the mail anew")
        })?;
        Ok(Self::Link(link))
    }
}

/// A booking as whoever keeps it sees it.
pub(in crate::http) enum Kept {
    /// The engine knows it.
    Now(HoldView),
    /// It ended so long ago that only the ledger knows of it.
    Past(Box<Booking>),
}

impl Keeper {
    /// The booking that is kept, as the engine knows it.
    ///
    /// # Errors
    /// `RESERVATION_NOT_FOUND`, also for another's booking; `LINK_WITHDRAWN`.
    pub(in crate::http) async fn find(
        &self,
        app: &App,
        event: &EventId,
        booking: &BookingId,
    ) -> Result<HoldView, Problem> {
        let user = match self {
            Self::Visitor(user) => Some(user.clone()),
            Self::Link(link) => {
                check(app, link, booking).await?;
                None
            }
        };
        let query = Query::Booking { booking: booking.clone(), user };
        let answer = app.engine.query(event.clone(), query).await.map_err(Problem::from);
        let hidden = |problem| hide_event(problem, Refusal::ReservationNotFound);
        let View::Booking(view) = answer.map_err(hidden)?.value else { return Err(odd_answer()) };
        Ok(view)
    }

    /// The same, also of a booking that the engine has forgotten.
    ///
    /// # Errors
    /// As [`Self::find`], and if the ledger cannot be read.
    pub(in crate::http) async fn find_ever(
        &self,
        app: &App,
        event: &EventId,
        booking: &BookingId,
    ) -> Result<Kept, Problem> {
        let problem = match self.find(app, event, booking).await {
            Ok(view) => return Ok(Kept::Now(view)),
            Err(problem) if problem.code() == Refusal::ReservationNotFound.code() => problem,
            Err(problem) => return Err(problem),
        };
        let is_kept = |known: &Booking| match self {
            Self::Visitor(user) => known.user == *user,
            Self::Link(link) => known.booking == link.booking,
        };
        let known = app.ledger.booking(booking).await?;
        known.filter(is_kept).map(|row| Kept::Past(Box::new(row))).ok_or(problem)
    }
}

/// Whether a link opens this booking, and still does.
async fn check(app: &App, link: &BookingLink, booking: &BookingId) -> Result<(), Problem> {
    if link.booking != *booking {
        return Err(Refusal::ReservationNotFound.into());
    }
    if app.ledger.link_generation(booking).await? == link.generation {
        return Ok(());
    }
    Err(Problem::new(
        Code::LinkWithdrawn,
        "this link was withdrawn; use a newer one, or the browser that booked, or ask the organiser",
    ))
}
