//! Letting the bearer of a ticket in, once.

use super::shapes::CheckedInBody;
use crate::http::actions::note::About;
use crate::http::body::{JsonBody, json};
use crate::http::caller::Operator;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::id;
use crate::http::state::{Sale, Signers};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::view::HoldView;
use onrush_ledger::Ledger;
use serde::Deserialize;
use serde_json::{Map, json as value};
use std::sync::Arc;
use utoipa::ToSchema;

/// A ticket as it was scanned.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Scanned {
    /// What the QR code says.
    code: String,
    /// The event that people are let into here; a ticket for another one is refused.
    #[serde(default)]
    #[schema(value_type = Option<EventIdText>)]
    event: Option<String>,
}

/// Lets the holder of a ticket in, once.
#[utoipa::path(
    post, path = "/api/v1/check-in", tag = "tickets",
    request_body = Scanned,
    responses((status = 200, description = "They may go in", body = CheckedInBody), WriteProblems),
    security(("key" = []))
)]
pub async fn check_in(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(signers): State<Arc<Signers>>,
    _: Operator,
    JsonBody(scanned): JsonBody<Scanned>,
) -> Result<Response, Problem> {
    let here: Option<EventId> = scanned.event.as_deref().map(id).transpose()?;
    let claims = signers.tickets.verify(scanned.code.trim()).map_err(|error| {
        Problem::new(Code::TicketNotGenuine, format!("this is not a ticket of ours: {error}"))
    })?;
    if here.is_some_and(|here| here != claims.event) {
        let event = Map::from_iter([("event".to_owned(), value!(claims.event))]);
        let why = "the ticket is for another event";
        return Err(Problem::new(Code::TicketNotGenuine, why).with(event));
    }
    let (booking, ticket) = (claims.booking.clone(), claims.ticket);
    let command = Command::CheckIn { booking, ticket };
    let answer = sale.engine.execute(claims.event.clone(), command).await?;
    let held = HoldView::try_from(answer.value).ok();
    // By now the visitor is in: a ledger that does not answer costs the name and nothing else.
    let buyer = ledger.buyer(&claims.booking).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the buyer of a booking cannot be read");
        None
    });
    let name = buyer.map(|buyer| buyer.name).filter(|name| !name.is_empty());
    let body = CheckedInBody {
        booking: &claims.booking,
        ticket,
        event: claims.event.as_str(),
        r#for: &claims.unit,
        of_type: held.as_ref().and_then(|held| held.terms.type_of_ticket(ticket)).map(Into::into),
        checked_in_at: answer.at,
        name,
    };
    let mut response = json(StatusCode::OK, &body);
    response.extensions_mut().insert(About(claims.event));
    Ok(response)
}
