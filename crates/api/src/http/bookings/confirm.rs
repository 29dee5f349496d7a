//! Confirming without a gateway: free of charge, or paid at the box office.

use super::buyer::{BuyerBody, parsed};
use super::find::{booking_answer, event_of_booking, find_booking};
use super::keeper::Owner;
use super::naming::{By, Confirming, confirm_for};
use super::shapes::BookingBody;
use crate::http::body::OptionalBody;
use crate::http::caller::{Ids, Operator};
use crate::http::faults::hide_event;
use crate::http::openapi::WriteProblems;
use crate::http::payments::pay::problem_of;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::id;
use crate::http::shapes::problem::ProblemBody;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::response::Response;
use onrush_core::Refusal;
use onrush_core::ids::{BookingId, EventId, PaymentId};
use onrush_core::view::HoldView;
use onrush_ledger::{Ledger, booking_of};
use onrush_relay::Relay;
use onrush_saga::{Begins, Sagas};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What a booking is confirmed with.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// Who it is for, and where the confirmation goes.
    buyer: Option<BuyerBody>,
}

/// Makes a hold final if nothing is to be paid. Asked again it is answered with the booking, whose buyer
/// stays as it is.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/confirm", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = Option<Confirmation>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
        (status = 402, description = "`PAYMENT_REQUIRED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
    security(("visitor" = []))
)]
pub async fn confirm(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(sagas): State<Arc<Sagas>>,
    State(relay): State<Arc<Relay>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
    OptionalBody(body): OptionalBody<Confirmation>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let buyer = parsed(body.buyer)?;
    if buyer.is_some() {
        // Nobody names the buyer of somebody else's booking.
        owner.find(&event, &booking).await?;
    }
    let unused = sagas.refuse_used_id(&event, &booking, &owner.user).await;
    unused.map_err(problem_of)?;
    let named = sagas.name_email(Begins::Free, &event, &booking, &owner.user, buyer.as_ref());
    named.await.map_err(problem_of)?;
    let by = By::Visitor;
    let asked = Confirming { event: event.clone(), booking, user: owner.user, payment: None, by };
    let view = confirm_for(sale, ledger, relay, asked, buyer).await;
    let view = view.map_err(|problem| hide_event(problem, Refusal::ReservationNotFound))?;
    Ok(booking_answer(&event, &view))
}

/// A payment that was taken elsewhere.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakenPayment {
    /// The box office's number for it; may be left out if nothing is to be paid.
    #[schema(value_type = Option<IdText>)]
    payment: Option<String>,
    /// Who bought, and where the tickets go.
    buyer: Option<BuyerBody>,
}

/// Confirms anybody's hold: the box office took the money. While a payment is under way online,
/// that is refused, and so is another buyer for what is confirmed already.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/bookings/{booking}/confirm", tag = "admin",
    params(("event" = EventIdText, Path), ("booking" = IdText, Path)),
    request_body = Option<TakenPayment>,
    responses(
        (status = 200, description = "The booking", body = BookingBody),
        WriteProblems,
        (status = 402, description = "`PAYMENT_REQUIRED`",
            content_type = "application/problem+json", body = ProblemBody),
    ),
)]
pub async fn confirm_at_box_office(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(sagas): State<Arc<Sagas>>,
    State(relay): State<Arc<Relay>>,
    Ids((event, booking)): Ids<(EventId, BookingId)>,
    _: Operator,
    OptionalBody(body): OptionalBody<TakenPayment>,
) -> Result<Response, Problem> {
    let payment: Option<PaymentId> = body.payment.as_deref().map(id).transpose()?;
    if let Some(payment) = &payment {
        refuse_online(&*ledger, &booking, payment).await?;
    }
    let buyer = parsed(body.buyer)?;
    let HoldView { terms, .. } = find_booking(&sale, &event, &booking, None).await?;
    let user = terms.user.clone();
    sagas.refuse_used_id(&event, &booking, &user).await.map_err(problem_of)?;
    // Whoever follows the feed knows by the payment which bookings were free.
    let payment = payment.filter(|_| terms.amount_minor > 0);
    // Nothing is begun first: what is half done would look like a payment that is under way online.
    let by = By::BoxOffice;
    let asked = Confirming { event: event.clone(), booking, user, payment, by };
    let view = confirm_for(sale, ledger, relay, asked, buyer).await?;
    Ok(booking_answer(&event, &view))
}

/// Refuses what is a payment online, of this booking or of another: it confirms by itself, and only
/// what it is for. A number of the box office's that merely looks like one is none.
async fn refuse_online(
    ledger: &dyn Ledger,
    booking: &BookingId,
    payment: &PaymentId,
) -> Result<(), Problem> {
    let Some(of) = booking_of(payment) else { return Ok(()) };
    let is_online = of == *booking
        || ledger
            .saga_record(&of)
            .await?
            .is_some_and(|record| record.payments.iter().any(|row| row.payment == *payment));
    if is_online {
        let why = "that is a payment online, which confirms by itself once it has its money; \
            name the box office's own number";
        return Err(Problem::new(Code::InvalidBody, why).about("payment"));
    }
    Ok(())
}
