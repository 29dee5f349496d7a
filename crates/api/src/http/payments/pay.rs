//! A visitor begins a payment, and looks at it.

use super::shapes::{PaymentBody, PaymentWish};
use crate::http::body::{OptionalBytes, json};
use crate::http::bookings::buyer::parsed;
use crate::http::bookings::find::event_of_booking;
use crate::http::bookings::keeper::{Keeper, Kept, Owner};
use crate::http::caller::{IdempotencyKey, Ids};
use crate::http::faults::hide_event;
use crate::http::once::{Purpose, Scope};
use crate::http::openapi::{PayProblems, ReadProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::Once;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::config::Config;
use onrush_core::Refusal;
use onrush_core::hold::OnDecline;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_ledger::money::Payment;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::{PaymentRequest, Sagas, StartError};
use std::sync::Arc;

/// Begins a payment for a hold, or finds the one that runs. The hold's deadline moves to the end of
/// the payment window.
///
/// A declined payment leaves the hold for another attempt, under another key; how many there may be
/// is the event's `payment_attempts`.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/payment", tag = "bookings",
    params(("booking" = IdText, Path), IdempotencyKey),
    request_body = Option<PaymentWish>,
    responses(
        (status = 201, description = "The payment runs", body = PaymentBody),
        (status = 200, description = "A payment ran already: this one", body = PaymentBody),
        PayProblems,
    ),
    security(("visitor" = []))
)]
pub async fn pay(
    State(once): State<Arc<Once>>,
    State(sagas): State<Arc<Sagas>>,
    State(config): State<Arc<Config>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
    key: IdempotencyKey,
    body: OptionalBytes,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let wish = body.parse::<PaymentWish>()?;
    let buyer = parsed(wish.buyer)?;
    // A key is noted down only for whoever may use it.
    owner.find(&event, &booking).await?;
    let wish = PaymentRequest {
        booking: booking.clone(),
        event,
        user: owner.user.clone(),
        buyer,
        on_decline: OnDecline::Keep,
    };
    let work = start(sagas, config, wish);
    let scope = Scope::of_booking("pay", &booking, &owner.user, Purpose::PayOrGiveBack);
    once.run(scope, key.as_str(), &body.canonical(), work).await
}

async fn start(
    sagas: Arc<Sagas>,
    config: Arc<Config>,
    wish: PaymentRequest,
) -> Result<Response, Problem> {
    let started = sagas.start(wish).await.map_err(problem_of)?;
    let status = if started.existed { StatusCode::OK } else { StatusCode::CREATED };
    Ok(json(
        status,
        &PaymentBody::new(&started.payment, Some(started.until), config.stripe.as_ref()),
    ))
}

/// What is answered if no payment runs.
pub(crate) fn problem_of(error: StartError) -> Problem {
    match error {
        StartError::Off => Problem::new(
            Code::PaymentsOff,
            "no payment gateway is configured; set gateway, or confirm at the box office",
        ),
        StartError::EmailWanted => Problem::new(
            Code::InvalidBody,
            "buyer: this event limits what one e-mail address may pay for; send buyer.email with this \
             request",
        )
        .about("buyer.email"),
        StartError::Engine(failure) => hide_event(failure.into(), Refusal::ReservationNotFound),
        StartError::Ledger(error) => error.into(),
        StartError::GatewayUnavailable { why, retry_after_ms } => {
            let why =
                format!("the payment gateway does not answer; ask again with the same key ({why})");
            Problem::new(Code::GatewayUnavailable, why).after_ms(retry_after_ms)
        }
        StartError::GatewayRefused(why) => Problem::new(
            Code::GatewayRefused,
            format!("the payment gateway will not have it: {why}"),
        ),
        StartError::Stuck => Problem::new(
            Code::Internal,
            "an operator has to look at this booking; please ask the organiser",
        ),
    }
}

/// The present payment for a booking, or the latest if there is none.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/payment", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The payment", body = PaymentBody), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn payment(
    State(ledger): State<Arc<dyn Ledger>>,
    State(config): State<Arc<Config>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let until = match keeper.find_ever(&event, &booking).await? {
        Kept::Now(view) => view.state.until(),
        Kept::Past(_) => None,
    };
    let record = ledger.saga_record(&booking).await?;
    let none = || Problem::new(Code::SagaNotFound, "no payment was begun for this booking");
    let record = record.ok_or_else(none)?;
    let payment = shown(&record).ok_or_else(none)?;
    Ok(json(StatusCode::OK, &PaymentBody::new(payment, until, config.stripe.as_ref())))
}

/// The one that counts; a later one may be a stray whose money goes back.
fn shown(record: &SagaRecord) -> Option<&Payment> {
    let latest = || record.payments.iter().max_by_key(|payment| payment.created_at);
    record.present().or_else(latest)
}
