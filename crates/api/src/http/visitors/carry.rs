//! Carrying a visitor to another device.

use super::guest::{Guest, guest_answer, no_guests_any_more};
use super::owned::owns_something;
use crate::http::body::{JsonBody, Nothing, OptionalBody, secret_json};
use crate::http::caller::GuestToken;
use crate::http::openapi::{CarriedProblems, RenewProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Sale};
use crate::json::ids::TimeMs;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_base::auth::carry::{CODE_MS, CarryCodes};
use onrush_core::Time;
use onrush_ledger::Ledger;
use onrush_ledger::access::CarryCode;
use onrush_serve::connection::Connection;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// A code for another device.
#[derive(Serialize, ToSchema)]
#[schema(as = CarryCode)]
pub struct CarryCodeBody {
    /// `XXXX-XXXX-XXXX`, of digits and capitals without I, L, O and U.
    code: String,
    /// Until when.
    #[schema(value_type = TimeMs)]
    expires_at: Time,
}

/// Gives a code that makes another device the same visitor, with place and bookings: once, within
/// ten minutes. An earlier code of this visitor is of no use any more. Where guests are off, only one
/// who has a place or a booking gets a code.
#[utoipa::path(
    post, path = "/api/v1/visitors/carry", tag = "visitors",
    request_body = Option<Nothing>,
    responses((status = 201, description = "A code", body = CarryCodeBody), RenewProblems),
    security(("visitor" = []))
)]
pub async fn carry(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    GuestToken { user, has_expired }: GuestToken,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    if has_expired {
        return Err(Problem::new(Code::TokenExpired, "the token has expired; renew it first"));
    }
    callers.limits.guest(callers.address_of(&connection, &headers))?;
    if !callers.config.guest_tokens && !owns_something(&sale, &user, None).await? {
        return Err(no_guests_any_more());
    }
    let code = CarryCodes::draw();
    let hash = callers.carry_codes.hash(&code);
    let hash = hash.ok_or_else(|| Problem::new(Code::Internal, "a code of ours is none"))?;
    let now = callers.clock.now();
    let expires_at = now.plus_ms(CODE_MS);
    ledger.keep_code(CarryCode { hash, user, expires_at }, now).await?;
    Ok(secret_json(StatusCode::CREATED, &CarryCodeBody { code, expires_at }))
}

/// What somebody typed or scanned.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TypedCode {
    /// The code; capitals, spaces and dashes do not matter.
    #[schema(example = "7K2M-9QX4-B0TR")]
    code: String,
}

/// Makes this device the visitor who asked for a code. A code is taken once, on whatever node.
///
/// An address has ten wrong codes a minute.
#[utoipa::path(
    post, path = "/api/v1/visitors/carried", tag = "visitors",
    request_body = TypedCode,
    responses((status = 200, description = "The visitor", body = Guest), CarriedProblems),
)]
pub async fn carried(
    State(ledger): State<Arc<dyn Ledger>>,
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    JsonBody(TypedCode { code }): JsonBody<TypedCode>,
) -> Result<Response, Problem> {
    let address = callers.address_of(&connection, &headers);
    callers.limits.try_code(address)?;
    let user = match callers.carry_codes.hash(&code) {
        Some(hash) => ledger.take_code(hash, callers.clock.now()).await?,
        None => None,
    };
    let user = user.ok_or_else(|| {
        let why = "there is no such code: it was used, is over, or was mistyped; make a new one on \
                   the other device";
        Problem::new(Code::CarryCodeNotFound, why)
    })?;
    callers.limits.right_code(address);
    Ok(guest_answer(StatusCode::OK, callers.guests.mint_for(user, callers.now_s())))
}
