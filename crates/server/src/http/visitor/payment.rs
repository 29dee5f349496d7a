//! `GET /bookings/{booking}/payment`.

use super::event_of_booking;
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::keeper::{Keeper, Kept};
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::payment::PaymentBody;
use crate::http::state::App;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_ledger::money::Payment;
use onrush_ledger::saga::File;
use std::sync::Arc;

/// The present payment for a booking, or the latest if there is none.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/payment", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The payment", body = PaymentBody), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn payment(
    State(app): State<Arc<App>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let until = match keeper.find_ever(&app, &event, &booking).await? {
        Kept::Now(view) => view.state.until(),
        Kept::Past(_) => None,
    };
    let file = app.ledger.file(&booking).await?;
    let none = || Problem::new(Code::SagaNotFound, "no payment was begun for this booking");
    let file = file.ok_or_else(none)?;
    let payment = shown(&file).ok_or_else(none)?;
    Ok(json(StatusCode::OK, &PaymentBody::new(payment, until, app.config.stripe.as_ref())))
}

/// The one that counts; a later one may be a stray whose money goes back.
fn shown(file: &File) -> Option<&Payment> {
    let latest = || file.payments.iter().max_by_key(|payment| payment.created_at);
    file.present().or_else(latest)
}
