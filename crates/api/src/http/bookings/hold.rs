//! A visitor holds, and gives a hold more time.

use super::find::{booking_answer, event_of_booking, find_booking};
use super::keeper::Owner;
use super::shapes::BookingBody;
use crate::http::body::{JsonBytes, Nothing, OptionalBytes, json};
use crate::http::caller::{Event, IdempotencyKey, Ids, MayBegin, OptionalKey};
use crate::http::channels::codes::Shopper;
use crate::http::faults::hide_event;
use crate::http::once::{Purpose, Scope, name_of};
use crate::http::openapi::{EntryProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::shapes::lines::WishBody;
use crate::http::state::{Once, Sale};
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::metrics::count;
use onrush_core::ids::{BookingId, EventId, ExtensionId, UserId};
use onrush_core::refusal::Class;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_store::Failure;
use std::sync::Arc;

/// Holds units of pools, seats, stays and the best seats there are, all or nothing.
///
/// The booking's id is derived from visitor, event and key: the same key and the same wish again
/// get the same booking. Where `otherwise` says what else is wanted, the first that can be had is held,
/// and the refusal is that of the first wish.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/bookings", tag = "bookings",
    params(("event" = EventIdText, Path), IdempotencyKey),
    request_body = WishBody,
    responses((status = 201, description = "Held", body = BookingBody), EntryProblems),
    security(("visitor" = []))
)]
pub async fn hold(
    State(sale): State<Arc<Sale>>,
    Event(event): Event,
    shopper: Shopper,
    _: MayBegin,
    key: IdempotencyKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    hold_for(&sale, &event, &shopper, key.as_str(), &body).await
}

/// Holds what a body wishes for somebody, under a key.
pub(super) async fn hold_for(
    sale: &Sale,
    event: &EventId,
    shopper: &Shopper,
    key: &str,
    body: &JsonBytes,
) -> Result<Response, Problem> {
    let wish = body.parse::<WishBody<'_>>()?;
    let booking = sale.names.booking(event, shopper.user.as_str(), key);
    let channels = match shopper.channels(sale, event, wish.codes()).await {
        Ok(channels) => channels,
        // Codes are withdrawn while answers are on their way: a retry needs none.
        Err(problem) => {
            let held = find_booking(sale, event, &booking, Some(&shopper.user)).await;
            held.map_err(|_| problem)?;
            Vec::new()
        }
    };
    let commands = wish.commands(&booking, &shopper.user, &channels)?;
    match first_that_can_be(sale, event, commands).await {
        Ok(view) => {
            onrush_saga::kill::reached("answering:Hold");
            count(&sale.metrics.holds_accepted);
            Ok(json(StatusCode::CREATED, &BookingBody::new(event, &view)))
        }
        Err(failure) => {
            if matches!(failure, Failure::Refused(_)) {
                count(&sale.metrics.holds_refused);
            }
            Err(failure.into())
        }
    }
}

/// Holds the first of these wishes of one booking that can be had; else says why not the first.
///
/// Each is all or nothing by itself.
async fn first_that_can_be(
    sale: &Sale,
    event: &EventId,
    mut wishes: Vec<Command>,
) -> Result<HoldView, Failure> {
    if wishes.len() == 1 {
        return sale.run(event, wishes.remove(0)).await;
    }
    let mut why_not = None;
    // A retry meets the booking that the first request made, under whichever wish it was. Another request
    // with the same key may make it between two of these: then they are asked once more.
    for _ in 0..2 {
        let mut is_known = false;
        for wish in &wishes {
            match sale.run(event, wish.clone()).await {
                Err(Failure::Refused(Refusal::BookingMismatch)) => is_known = true,
                Err(Failure::Refused(refusal)) if refusal.facts().class == Class::Conflict => {
                    why_not.get_or_insert(refusal);
                }
                held_or_failed => return held_or_failed,
            }
        }
        if !is_known {
            break;
        }
        why_not = Some(Refusal::BookingMismatch);
    }
    Err(why_not.expect("each wish was held or refused").into())
}

/// Gives a hold more time, as often as the event allows. The same key again gets the first answer,
/// and no more time: the rules know the extension by it.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/extend", tag = "bookings",
    params(("booking" = IdText, Path), OptionalKey),
    request_body = Option<Nothing>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
    ),
    security(("visitor" = []))
)]
pub async fn extend(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
    key: OptionalKey,
    body: OptionalBytes,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    body.parse::<Nothing>()?;
    if key.0.is_some() {
        // A key is noted down only for whoever may use it.
        owner.find(&event, &booking).await?;
    }
    let named = key.0.as_ref().map(|key| extension_id(&booking, key.as_str()));
    let work = give_time(sale, event, booking.clone(), owner.user.clone(), named);
    let scope = Scope::of_booking("extend", &booking, &owner.user, Purpose::More);
    once.run_if_keyed(scope, &key, &body.canonical(), work).await
}

async fn give_time(
    sale: Arc<Sale>,
    event: EventId,
    booking: BookingId,
    user: UserId,
    extension: Option<ExtensionId>,
) -> Result<Response, Problem> {
    let command = Command::Extend { booking, user, extension };
    let view = sale.run(&event, command).await;
    let view = view.map_err(|f| hide_event(f.into(), Refusal::ReservationNotFound))?;
    Ok(booking_answer(&event, &view))
}

/// What a request with this key is called, by which the rules know it again. The same key for another
/// booking is another extension.
fn extension_id(booking: &BookingId, key: &str) -> ExtensionId {
    ExtensionId::from_u128(name_of(&[booking.as_str(), key]))
}
