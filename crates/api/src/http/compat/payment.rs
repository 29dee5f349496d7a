//! `POST /api/booking/payment/initiate`, `…/success` and `…/failure`.

use super::state::{bookings, chosen};
use super::words::{Refused, Word, refused};
use crate::http::body::{JsonBody, RawBody, json};
use crate::http::bookings::buyer::{BuyerBody, parsed};
use crate::http::caller::Visitor;
use crate::http::openapi::{PayProblems, WebhookProblems};
use crate::http::payments::pay::problem_of;
use crate::http::payments::webhook::take_in;
use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_base::spans;
use onrush_core::Refusal;
use onrush_core::hold::OnDecline;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_saga::{PaymentRequest, Sagas, StartError};
use onrush_store::Failure;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;

/// What is to be paid for, and by whom.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InheritedPaymentWish)]
pub struct PaymentWish {
    /// The event.
    #[schema(value_type = EventIdText)]
    event_id: EventId,
    /// Who pays, and where the confirmation goes.
    buyer: Option<BuyerBody>,
}

/// Where to pay.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedPayment)]
pub struct Initiated {
    /// The gateway's page; null if it has none.
    payment_url: Option<String>,
    /// What the shop's page needs to pay, if the gateway has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// `true` if the payment had been begun before; missing otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    payment_existed: bool,
}

/// Begins the payment for the selected seat, or finds the one that runs. If it is declined,
/// seat and slot are free again.
#[utoipa::path(
    post, path = "/api/booking/payment/initiate", tag = "inherited", operation_id = "inherited_initiate",
    request_body = PaymentWish,
    responses(
        (status = 200, description = "Where to pay", body = Initiated),
        PayProblems,
        (status = 409,
            description = "`invalid_state`: no seat is selected, or it is free of charge", body = Refused),
    ),
    security(("visitor" = []))
)]
pub async fn initiate(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Visitor(user): Visitor,
    JsonBody(PaymentWish { event_id: event, buyer }): JsonBody<PaymentWish>,
) -> Result<Response, Problem> {
    let buyer = parsed(buyer)?;
    let (at, holds) = bookings(&sale, &event, &user).await?;
    let Some(chosen) = chosen(&holds, at) else { return Ok(refused(Word::InvalidState)) };
    let booking = chosen.hold.terms.booking.clone();
    // Without a key there is no record that would fail first: nothing begins that the ledger cannot remember.
    ledger.saga_record(&booking).await?;
    let wish = PaymentRequest { booking, event, user, buyer, on_decline: OnDecline::Release };
    // A visitor who hangs up must not stop half-way what they began.
    match tokio::spawn(spans::carried(async move { sagas.start(wish).await })).await {
        Ok(Ok(started)) => {
            let payment = started.payment;
            let client_secret = payment.client_secret.filter(|_| payment.url.is_none());
            let body = Initiated {
                payment_url: payment.url,
                client_secret,
                payment_existed: started.existed,
            };
            Ok(json(StatusCode::OK, &body))
        }
        Ok(Err(StartError::Engine(Failure::Refused(
            Refusal::NothingToPay
            | Refusal::HoldExpired
            | Refusal::AlreadyReleased
            | Refusal::AlreadyConfirmed
            | Refusal::InvalidStatus { .. }
            | Refusal::ReservationNotFound,
        )))) => Ok(refused(Word::InvalidState)),
        Ok(Err(error)) => Err(problem_of(error)),
        Err(_) => Err(Problem::new(
            Code::Internal,
            "the payment could not be begun; ask again, nothing is paid twice",
        )),
    }
}

/// The gateway tells that money was taken: the booking is completed, the slot is free, and
/// the seat is sold for good.
///
/// The message must be signed, fresh, and fit what was asked for, exactly as at
/// `/api/v1/payments/webhook/{gateway}`.
#[utoipa::path(
    post, path = "/api/booking/payment/success", tag = "inherited",
    operation_id = "inherited_payment_success",
    request_body(content = String, description = "As the gateway sends it",
        content_type = "application/json"),
    responses((status = 200, description = "Taken in", body = serde_json::Value), WebhookProblems),
)]
pub async fn success(
    State(sagas): State<Arc<Sagas>>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    hear(sagas, &headers, &body).await
}

/// The gateway tells that a payment failed: seat and slot are free again.
///
/// The message must be signed, fresh, and fit what was asked for, exactly as at
/// `/api/v1/payments/webhook/{gateway}`.
#[utoipa::path(
    post, path = "/api/booking/payment/failure", tag = "inherited",
    operation_id = "inherited_payment_failure",
    request_body(content = String, description = "As the gateway sends it",
        content_type = "application/json"),
    responses((status = 200, description = "Taken in", body = serde_json::Value), WebhookProblems),
)]
pub async fn failure(
    State(sagas): State<Arc<Sagas>>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    hear(sagas, &headers, &body).await
}

/// Takes a message of the configured gateway in. What it says counts, whichever of the two paths it came by.
async fn hear(sagas: Arc<Sagas>, headers: &HeaderMap, body: &[u8]) -> Result<Response, Problem> {
    let name = sagas.gateway().map_or("none", |gateway| gateway.name());
    take_in(sagas, name, headers, body).await?;
    Ok(json(StatusCode::OK, &json!({ "received": true })))
}
