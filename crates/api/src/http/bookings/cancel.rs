//! Cancelling: by whoever keeps the booking, and by the organiser.

use super::find::{booking_answer, event_of_booking, find_booking};
use super::keeper::{Keeper, Who};
use super::shapes::BookingBody;
use crate::http::body::{JsonBody, OptionalBytes};
use crate::http::caller::{Ids, Operator, OptionalKey};
use crate::http::events::settings::teach_steps;
use crate::http::faults::hide_event;
use crate::http::once::{Before, Purpose, Scope};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::{Once, Sale};
use crate::json::ids::{EventIdText, FreeText, IdText};
use crate::json::whole::Whole;
use axum::extract::State;
use axum::response::Response;
use onrush_core::command::CancelTerms;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::spec::Reason;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_relay::messages::{CANCELLED_BY_BUYER, CANCELLED_BY_LINK};
use onrush_saga::Sagas;
use onrush_store::Failure;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;
use utoipa::ToSchema;

/// What is given back.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GivingBack {
    /// `held` gives back what is only held: a booking that was confirmed meanwhile stays.
    #[schema(nullable = false)]
    only: Option<GivesBackOnly>,
    /// The least that may go back for a confirmed booking, in minor units: `refund_now` may have
    /// sunk since it was shown.
    #[schema(value_type = Option<i64>, minimum = 0, nullable = false)]
    at_least_minor: Option<Whole<i64>>,
}

/// What alone is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GivesBackOnly {
    /// What nobody has paid for yet.
    Held,
}

/// Gives a hold back, or cancels a confirmed booking if the event's rules about refunds allow it;
/// `refund_minor` says what goes back. The same key again gets the first answer.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/cancel", tag = "bookings",
    params(("booking" = IdText, Path), OptionalKey),
    request_body = Option<GivingBack>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
    ),
    security(("visitor" = []), ("link" = []))
)]
pub async fn cancel(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
    key: OptionalKey,
    body: OptionalBytes,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let GivingBack { only, at_least_minor } = body.parse()?;
    let at_least_minor = at_least_minor.map(|Whole(least)| least);
    let why = match &keeper.who {
        Who::Visitor(_) => CANCELLED_BY_BUYER,
        Who::Link(_) => CANCELLED_BY_LINK,
    };
    let user = match &keeper.who {
        Who::Visitor(user) if key.0.is_none() => user.clone(),
        // A key is noted down only for whoever may use it, and a link does not say whose it is.
        Who::Visitor(_) | Who::Link(_) => keeper.find(&event, &booking).await?.terms.user.clone(),
    };
    let scope = Scope::of_booking("cancel", &booking, &user, Purpose::PayOrGiveBack);
    let wish = Wish { event, booking, user, why, only, at_least_minor };
    let work = move |before| give_back(sale, sagas, wish, before);
    match &key.0 {
        Some(key) => once.run_knowing(scope, key.as_str(), &body.canonical(), work).await,
        None => work(Before::NotDone).await,
    }
}

/// Which booking is given back, and by whom.
struct Wish {
    event: EventId,
    booking: BookingId,
    user: UserId,
    why: &'static str,
    only: Option<GivesBackOnly>,
    at_least_minor: Option<i64>,
}

async fn give_back(
    sale: Arc<Sale>,
    sagas: Arc<Sagas>,
    Wish { event, booking, user, why, only, at_least_minor }: Wish,
    before: Before,
) -> Result<Response, Problem> {
    let release = Command::Release { booking: booking.clone(), user: user.clone() };
    let mut view = sale.run(&event, release).await;
    if view == Err(Failure::Refused(Refusal::AlreadyReleased)) && before == Before::MaybeDone {
        // Nobody could be told that it was given back.
        let released = find_booking(&sale, &event, &booking, Some(&user)).await?;
        return Ok(booking_answer(&event, &released));
    }
    let is_confirmed = matches!(
        view,
        // What is cancelled already gets its first answer again.
        Err(Failure::Refused(
            Refusal::AlreadyConfirmed
                | Refusal::InvalidStatus { booking_status: HoldStatus::Cancelled }
        ))
    );
    if is_confirmed && only.is_none() {
        teach_steps(&sale, &sagas, &event).await;
        let cancel = Command::CancelConfirmed {
            booking,
            reason: Reason { by: user.as_str().into(), why: why.into() },
            terms: CancelTerms::Buyer { user, at_least_minor },
        };
        view = sale.run(&event, cancel).await;
    }
    let view = view.map_err(|f| hide_event(f.into(), Refusal::ReservationNotFound))?;
    Ok(booking_answer(&event, &view))
}

/// Why it is cancelled, and what goes back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancellation {
    /// Read over: who asks is the key's name.
    #[serde(default)]
    #[schema(value_type = serde_json::Value, deprecated)]
    by: IgnoredAny,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
    /// What goes back to the buyer, in minor units; all that was paid if left out. What went back at
    /// the gateway's own desk is a part of it.
    #[schema(value_type = Option<i64>, minimum = 0, nullable = false)]
    refund_minor: Option<Whole<i64>>,
}

/// Takes a confirmed booking back; its units are free again.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/bookings/{booking}/cancel", tag = "admin",
    params(("event" = EventIdText, Path), ("booking" = IdText, Path)),
    request_body = Cancellation,
    responses((status = 200, description = "The booking", body = BookingBody), WriteProblems),
)]
pub async fn cancel_confirmed(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids((event, booking)): Ids<(EventId, BookingId)>,
    operator: Operator,
    JsonBody(Cancellation { by: IgnoredAny, why, refund_minor }): JsonBody<Cancellation>,
) -> Result<Response, Problem> {
    let refund_minor = refund_minor.map(|Whole(refund_minor)| refund_minor);
    let command = Command::CancelConfirmed {
        booking: booking.clone(),
        reason: operator.because(why),
        terms: CancelTerms::Organiser { refund_minor },
    };
    teach_steps(&sale, &sagas, &event).await;
    sale.run::<HoldView>(&event, command).await?;
    let view = find_booking(&sale, &event, &booking, None).await?;
    Ok(booking_answer(&event, &view))
}
