//! Who looks after a booking: its visitor, on some paths also whoever has its link.

use super::find::find_booking;
use crate::http::caller::{Visitor, bearer};
use crate::http::faults::hide_event;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Sale};
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use onrush_base::auth::link::{self, BookingLink};
use onrush_core::Refusal;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::view::HoldView;
use onrush_ledger::Ledger;
use onrush_ledger::booking::Booking;
use std::sync::Arc;

/// A visitor, who asks about bookings of their own.
pub struct Owner {
    /// Who.
    pub user: UserId,
    sale: Arc<Sale>,
}

impl<S: Send + Sync> FromRequestParts<S> for Owner
where
    Arc<Sale>: FromRef<S>,
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Visitor(user) = Visitor::from_request_parts(parts, state).await?;
        Ok(Self { user, sale: FromRef::from_ref(state) })
    }
}

impl Owner {
    /// A booking of theirs.
    ///
    /// # Errors
    /// `RESERVATION_NOT_FOUND`, also for another's booking.
    pub(in crate::http) async fn find(
        &self,
        event: &EventId,
        booking: &BookingId,
    ) -> Result<HoldView, Problem> {
        let found = find_booking(&self.sale, event, booking, Some(&self.user)).await;
        found.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))
    }
}

/// Who looks after a booking.
pub struct Keeper {
    /// Who.
    pub who: Who,
    sale: Arc<Sale>,
    ledger: Arc<dyn Ledger>,
}

/// What a keeper has shown.
pub enum Who {
    /// A visitor's token: the booking has to be theirs.
    Visitor(UserId),
    /// The link of a booking, which has to be this one.
    Link(BookingLink),
}

impl<S: Send + Sync> FromRequestParts<S> for Keeper
where
    Arc<Sale>: FromRef<S>,
    Arc<Callers>: FromRef<S>,
    Arc<dyn Ledger>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let token = bearer(parts)?;
        let who = if token.starts_with(link::PREFIX) {
            let callers = Arc::<Callers>::from_ref(state);
            let link = callers.links.verify(token).map_err(|_| {
                let why = "the link is not valid; take it from the mail anew";
                Problem::new(Code::TokenInvalid, why)
            })?;
            let address = callers.address_in(parts)?;
            callers.limits.visit_by_link(&parts.method, &link.booking, address)?;
            Who::Link(link)
        } else {
            Who::Visitor(Visitor::from_request_parts(parts, state).await?.0)
        };
        Ok(Self { who, sale: FromRef::from_ref(state), ledger: FromRef::from_ref(state) })
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
        event: &EventId,
        booking: &BookingId,
    ) -> Result<HoldView, Problem> {
        let user = match &self.who {
            Who::Visitor(user) => Some(user),
            Who::Link(link) => {
                self.check(link, booking).await?;
                None
            }
        };
        let found = find_booking(&self.sale, event, booking, user).await;
        found.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))
    }

    /// The same, also of a booking that the engine has forgotten.
    ///
    /// # Errors
    /// As [`Self::find`], and if the ledger cannot be read.
    pub(in crate::http) async fn find_ever(
        &self,
        event: &EventId,
        booking: &BookingId,
    ) -> Result<Kept, Problem> {
        let problem = match self.find(event, booking).await {
            Ok(view) => return Ok(Kept::Now(view)),
            Err(problem) if problem.code() == Refusal::ReservationNotFound.code() => problem,
            Err(problem) => return Err(problem),
        };
        let is_kept = |known: &Booking| match &self.who {
            Who::Visitor(user) => known.user == *user,
            Who::Link(link) => known.booking == link.booking,
        };
        let known = self.ledger.booking(booking).await?;
        known.filter(is_kept).map(|row| Kept::Past(Box::new(row))).ok_or(problem)
    }

    /// Whether a link opens this booking, and still does.
    async fn check(&self, link: &BookingLink, booking: &BookingId) -> Result<(), Problem> {
        if link.booking != *booking {
            return Err(Refusal::ReservationNotFound.into());
        }
        if self.ledger.link_generation(booking).await? == link.generation {
            return Ok(());
        }
        Err(Problem::new(
            Code::LinkWithdrawn,
            "this link was withdrawn; use a newer one, or the browser that booked, or ask the organiser",
        ))
    }
}
