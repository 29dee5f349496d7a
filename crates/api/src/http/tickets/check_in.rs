//! Letting the bearer of a ticket in, once.

use super::shapes::CheckedInBody;
use crate::http::actions::note::About;
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Operator, OptionalKey};
use crate::http::once::name_of;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::id;
use crate::http::state::{Sale, Signers};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use onrush_base::tickets::TicketClaims;
use onrush_core::Command;
use onrush_core::ids::{EventId, ScanId};
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

/// Lets the holder of a ticket in, once. The same key again gets the first answer, whatever became
/// of that: the rules know the scan by it.
#[utoipa::path(
    post, path = "/api/v1/check-in", tag = "tickets",
    params(
        OptionalKey,
    ),
    request_body = Scanned,
    responses((status = 200, description = "They may go in", body = CheckedInBody), WriteProblems),
)]
pub async fn check_in(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(signers): State<Arc<Signers>>,
    operator: Operator,
    key: OptionalKey,
    JsonBody(scanned): JsonBody<Scanned>,
) -> Result<Response, Problem> {
    let here: Option<EventId> = scanned.event.as_deref().map(id).transpose()?;
    let claims = signers.tickets.verify(scanned.code.trim()).map_err(|error| {
        Problem::new(Code::TicketNotGenuine, format!("this is not a ticket of ours: {error}"))
    })?;
    if here.is_some_and(|here| here != claims.event) {
        let event = Map::from_iter([("event".to_owned(), value!(claims.event))]);
        let why = "the ticket is for another event";
        return Err(Problem::new(Code::TicketForAnotherEvent, why).with(event));
    }
    let scan = key.0.map(|key| scan_id(&claims, &operator.key.name, key.as_str()));
    let answer = let_in(&sale, &*ledger, &claims, scan).await;
    let mut answer = answer.unwrap_or_else(IntoResponse::into_response);
    answer.extensions_mut().insert(About(claims.event));
    Ok(answer)
}

async fn let_in(
    sale: &Sale,
    ledger: &dyn Ledger,
    claims: &TicketClaims,
    scan: Option<ScanId>,
) -> Result<Response, Problem> {
    let (booking, ticket) = (claims.booking.clone(), claims.ticket);
    let command = Command::CheckIn { booking, ticket, scan };
    let hold = sale.run::<HoldView>(&claims.event, command).await?;
    // By now the visitor is in: a ledger that does not answer costs the name and nothing else.
    let buyer = ledger.buyer(&claims.booking).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the buyer of a booking cannot be read");
        None
    });
    let check_in = hold.checked_in.iter().find(|check_in| check_in.ticket == ticket);
    let body = CheckedInBody {
        booking: &claims.booking,
        ticket,
        event: claims.event.as_str(),
        r#for: &claims.unit,
        of_type: hold.terms.type_of_ticket(ticket).map(Into::into),
        checked_in_at: check_in.expect("whoever is let in is listed").at,
        name: buyer.map(|buyer| buyer.name).filter(|name| !name.is_empty()),
    };
    Ok(json(StatusCode::OK, &body))
}

/// What a request with this key is called, by which the rules know it again. The same key under
/// another scanner's, or for another ticket, is another scan.
fn scan_id(claims: &TicketClaims, scanner: &str, key: &str) -> ScanId {
    let ticket = claims.ticket.to_string();
    ScanId::from_u128(name_of(&[claims.booking.as_str(), &ticket, scanner, key]))
}
