//! Letting the bearer of a ticket in, once.

use super::shapes::CheckedInBody;
use crate::http::actions::note::About;
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Operator, OptionalKey};
use crate::http::once::Scope;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::id;
use crate::http::state::{Once, Sale, Signers};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::{BodyExt, Collected};
use onrush_base::tickets::TicketClaims;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::view::HoldView;
use onrush_ledger::Ledger;
use serde::Deserialize;
use serde_json::{Map, Value, json as value};
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

/// Lets the holder of a ticket in, once. The same key again gets the first answer.
#[utoipa::path(
    post, path = "/api/v1/check-in", tag = "tickets",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]+$"),
    ),
    request_body = Scanned,
    responses((status = 200, description = "They may go in", body = CheckedInBody), WriteProblems),
    security(("key" = []))
)]
pub async fn check_in(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(signers): State<Arc<Signers>>,
    State(once): State<Arc<Once>>,
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
        return Err(Problem::new(Code::TicketNotGenuine, why).with(event));
    }
    let (event, booking) = (claims.event.clone(), claims.booking.clone());
    let scope = Scope::of_ticket(&booking, claims.ticket, &operator.key.name);
    let work = let_in(Arc::clone(&sale), claims.clone());
    // The same ticket has one code, and another event is refused before.
    let answer = match once.run_if_keyed(scope, &key, &[], work).await {
        // Nothing was begun. The door goes on without keys: whoever stands there wants in.
        Err(problem) if problem.code() == Code::LedgerUnavailable.facts().0 => {
            let_in(sale, claims).await?
        }
        answer => answer?,
    };
    let mut answer = if answer.status() == StatusCode::OK {
        // By now the visitor is in: a ledger that does not answer costs the name and nothing else.
        let buyer = ledger.buyer(&booking).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the buyer of a booking cannot be read");
            None
        });
        named(answer, buyer.map(|buyer| buyer.name).filter(|name| !name.is_empty())).await
    } else {
        answer
    };
    answer.extensions_mut().insert(About(event));
    Ok(answer)
}

async fn let_in(sale: Arc<Sale>, claims: TicketClaims) -> Result<Response, Problem> {
    let (booking, ticket) = (claims.booking.clone(), claims.ticket);
    let command = Command::CheckIn { booking, ticket };
    let answer = sale.engine.execute(claims.event.clone(), command).await?;
    let held = HoldView::try_from(answer.value).ok();
    let body = CheckedInBody {
        booking: &claims.booking,
        ticket,
        event: claims.event.as_str(),
        r#for: &claims.unit,
        of_type: held.as_ref().and_then(|held| held.terms.type_of_ticket(ticket)).map(Into::into),
        checked_in_at: answer.at,
        name: None,
    };
    Ok(json(StatusCode::OK, &body))
}

/// The answer with the buyer's name. What is kept under a key has none: whoever is erased is erased.
async fn named(answer: Response, name: Option<String>) -> Response {
    let Some(name) = name else { return answer };
    let (parts, body) = answer.into_parts();
    // Bodies of ours are in memory already.
    let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    match serde_json::from_slice::<Map<String, Value>>(&bytes) {
        Ok(mut members) => {
            members.insert("name".to_owned(), name.into());
            json(StatusCode::OK, &members)
        }
        Err(_) => Response::from_parts(parts, bytes.into()),
    }
}
