//! A booking's link: shown, and withdrawn.

use super::find::event_of_booking;
use super::keeper::{Keeper, Owner, Who};
use crate::http::body::{Nothing, OptionalBody, secret_json};
use crate::http::caller::Ids;
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::state::Callers;
use crate::json::ids::IdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A booking's link.
#[derive(Serialize, ToSchema)]
#[schema(as = Link)]
pub struct LinkBody {
    /// What to send as `Authorization: Bearer`, to see the booking, its tickets and payment, and to
    /// cancel it.
    link: String,
    /// Where it leads in a browser, if the shop says where its pages are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    url: Option<String>,
}

impl LinkBody {
    fn new(callers: &Callers, booking: &BookingId, generation: u32) -> Self {
        let link = callers.links.make(booking, generation);
        let url =
            callers.links.is_in_address().then(|| callers.links.address(booking, &link)).flatten();
        Self { link, url }
    }
}

/// The link of one of the visitor's own bookings: a way back to that booking alone, for as long as
/// it is known. Whoever asks with a link is told no newer one.
///
/// Whoever has it may see the booking, its tickets and its payment, and cancel it.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/link", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The link", body = LinkBody), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn link(
    State(ledger): State<Arc<dyn Ledger>>,
    State(callers): State<Arc<Callers>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    // Decided before it is looked whether the keeper may: whose link is withdrawn meanwhile is told no
    // newer one.
    let generation = match &keeper.who {
        Who::Visitor(_) => ledger.link_generation(&booking).await?,
        Who::Link(link) => link.generation,
    };
    keeper.find(&event, &booking).await?;
    Ok(secret_json(StatusCode::OK, &LinkBody::new(&callers, &booking, generation)))
}

/// Withdraws a booking's link, wherever it got to, and gives another one.
#[utoipa::path(
    post, path = "/api/v1/bookings/{booking}/link", tag = "bookings",
    params(("booking" = IdText, Path)),
    request_body = Option<Nothing>,
    responses((status = 201, description = "The new link", body = LinkBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn withdraw_link(
    State(ledger): State<Arc<dyn Ledger>>,
    State(callers): State<Arc<Callers>>,
    Ids(booking): Ids<BookingId>,
    owner: Owner,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    owner.find(&event, &booking).await?;
    let generation = ledger.withdraw_link(&booking).await?;
    Ok(secret_json(StatusCode::CREATED, &LinkBody::new(&callers, &booking, generation)))
}
