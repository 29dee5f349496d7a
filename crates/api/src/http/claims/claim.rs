//! Claims: taken, looked at, given back; and the adjustments of services.

use super::shapes::{ClaimBody, NewClaim};
use crate::http::body::{JsonBody, json};
use crate::http::caller::{IdempotencyKey, Ids, MayBegin, Operator, Visitor};
use crate::http::faults::hide_event;
use crate::http::once::Scope;
use crate::http::openapi::{ClaimProblems, ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::shapes::lines::Quantity;
use crate::http::shapes::reason::reasoned;
use crate::http::state::{Once, Sale};
use crate::json::ids::{AmountNumber, EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::names::event_of;
use onrush_core::ids::{ClaimId, EventId, PoolId};
use onrush_core::question::ClaimOf;
use onrush_core::{Command, Refusal};
use onrush_store::Ask;
use std::sync::Arc;

/// Takes units of a pool at once. The same key again gets the first answer.
///
/// Refusals are given again, too, and so is a claim whose units are back: to try again, use a new key.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/pools/{pool}/claims", tag = "claims",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path), IdempotencyKey),
    request_body = NewClaim,
    responses((status = 201, description = "Claimed", body = ClaimBody), ClaimProblems),
    security(("visitor" = []))
)]
pub async fn claim(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    Visitor(user): Visitor,
    _: MayBegin,
    key: IdempotencyKey,
    JsonBody(body): JsonBody<NewClaim>,
) -> Result<Response, Problem> {
    let claim = sale.names.claim(&event, user.as_str(), key.as_str());
    let (quantity, ttl_ms) = (body.quantity.units()?, body.ttl_ms.map(|ttl_ms| ttl_ms.0));
    let scope = Scope::of_claim(format!("claim {event} {user}"), user.as_str());
    let asked = format!("{pool} {quantity} {ttl_ms:?}");
    let command = Command::Claim { claim, user, pool, quantity, ttl_ms };
    once.run(scope, key.as_str(), asked.as_bytes(), take(sale, event, command)).await
}

async fn take(sale: Arc<Sale>, event: EventId, command: Command) -> Result<Response, Problem> {
    let view = sale.run(&event, command).await?;
    Ok(json(StatusCode::CREATED, &ClaimBody::new(&event, &view)))
}

/// One of the visitor's own claims.
#[utoipa::path(
    get, path = "/api/v1/claims/{claim}", tag = "claims",
    params(("claim" = IdText, Path)),
    responses((status = 200, description = "The claim", body = ClaimBody), ReadProblems),
    security(("visitor" = []))
)]
pub async fn claim_view(
    State(sale): State<Arc<Sale>>,
    Ids(claim): Ids<ClaimId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_claim(&claim)?;
    let answer = sale.engine.ask(event.clone(), ClaimOf { claim, user: Some(user) }).await;
    let answer = answer.map_err(|failure| hide_event(failure.into(), Refusal::ClaimNotFound))?;
    Ok(json(StatusCode::OK, &ClaimBody::new(&event, &answer.value)))
}

/// Gives a claim back; doing it again changes nothing.
#[utoipa::path(
    delete, path = "/api/v1/claims/{claim}", tag = "claims",
    params(("claim" = IdText, Path)),
    responses((status = 200, description = "Returned", body = ClaimBody), WriteProblems),
    security(("visitor" = []))
)]
pub async fn declaim(
    State(sale): State<Arc<Sale>>,
    Ids(claim): Ids<ClaimId>,
    Visitor(user): Visitor,
) -> Result<Response, Problem> {
    let event = event_of_claim(&claim)?;
    let view = sale.run(&event, Command::Declaim { claim, user }).await;
    let view = view.map_err(|failure| hide_event(failure.into(), Refusal::ClaimNotFound))?;
    Ok(json(StatusCode::OK, &ClaimBody::new(&event, &view)))
}

/// What stands for the user in the ids of services' adjustments; no visitor has this id, for it is
/// no UUID and no hash.
const SERVICE: &str = "service";

reasoned! {
    /// A service's adjustment.
    Adjustment {
        /// Units more (positive) or fewer (negative); not 0.
        #[schema(value_type = AmountNumber)]
        amount: Quantity,
    }
}

/// Changes the units that services claimed, up or down; the same key again gets the first
/// answer.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/pools/{pool}/claimed", tag = "admin",
    params(("event" = EventIdText, Path), ("pool" = IdText, Path), IdempotencyKey),
    request_body = Adjustment,
    responses((status = 201, description = "Adjusted", body = ClaimBody), WriteProblems),
)]
pub async fn adjust_claimed(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids((event, pool)): Ids<(EventId, PoolId)>,
    operator: Operator,
    key: IdempotencyKey,
    JsonBody(Adjustment { amount, why, .. }): JsonBody<Adjustment>,
) -> Result<Response, Problem> {
    // Two services may number what they do alike. No name has a blank in it.
    let service = format!("{SERVICE} {}", operator.key.name);
    let claim = sale.names.claim(&event, &service, key.as_str());
    let amount = amount.signed();
    let scope = Scope::of_claim(format!("claimed {event} {service}"), &service);
    let asked = format!("{pool} {amount}");
    let command = Command::AdjustClaimed { claim, pool, amount, reason: operator.because(why) };
    once.run(scope, key.as_str(), asked.as_bytes(), take(sale, event, command)).await
}

/// The event that a claim's id names.
pub(in crate::http) fn event_of_claim(claim: &ClaimId) -> Result<EventId, Problem> {
    event_of(claim.as_str()).ok_or_else(|| Refusal::ClaimNotFound.into())
}
