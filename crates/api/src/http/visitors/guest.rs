//! Guest tokens: given, and renewed.

use super::owned::owns_something;
use crate::http::body::{Nothing, OptionalBody, secret_json};
use crate::http::caller::GuestToken;
use crate::http::openapi::{GuestProblems, RenewProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Sale};
use crate::json::ids::{IdText, TimeMs};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_base::auth::guest;
use onrush_base::metrics::count;
use onrush_core::Time;
use onrush_core::ids::{ClaimId, UserId};
use onrush_serve::connection::Connection;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// A guest with a fresh token.
#[derive(Serialize, ToSchema)]
pub struct Guest {
    /// Who the guest is from now on.
    #[schema(value_type = IdText)]
    user: UserId,
    /// What the guest shows from now on.
    token: String,
    /// Until when.
    #[schema(value_type = TimeMs)]
    expires_at: Time,
    /// From when on it is time for `POST /visitors/renew`: half of the token's life is over.
    #[schema(value_type = TimeMs)]
    renew_at: Time,
}

/// The answer with a fresh token.
pub(super) fn guest_answer(status: StatusCode, guest: guest::Guest) -> Response {
    let time = |seconds: i64| Time(seconds.saturating_mul(1_000));
    let (expires_at, renew_at) = (time(guest.expires_s), time(guest.renew_s));
    let body = Guest { user: guest.user, token: guest.token, expires_at, renew_at };
    secret_json(status, &body)
}

/// Gives a guest token; so many a minute for each address.
#[utoipa::path(
    post, path = "/api/v1/visitors", tag = "visitors",
    request_body = Option<Nothing>,
    responses((status = 201, description = "A new guest", body = Guest), GuestProblems),
)]
pub async fn guest(
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    if !callers.config.guest_tokens {
        let why = "this shop gives no guest tokens; come with the shop's token";
        return Err(Problem::new(Code::GuestsDisabled, why));
    }
    callers.limits.guest(callers.address_of(&connection, &headers))?;
    count(&callers.metrics.guests);
    Ok(guest_answer(StatusCode::CREATED, callers.guests.mint(callers.now_s())))
}

/// Guests were switched off, and this one owns nothing for which they would have to stay known.
pub(super) fn no_guests_any_more() -> Problem {
    let why = "this shop has no guests any more, and you own nothing that lives on; come with the \
               shop's token";
    Problem::new(Code::GuestsDisabled, why)
}

/// What a visitor says that they own.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// A claim, of which there is no list: places and bookings are found without being named.
    #[schema(value_type = Option<IdText>)]
    claim: Option<ClaimId>,
}

/// Gives the same visitor a token with a new end.
///
/// A token that is still good is renewed always; one that has expired, or any where guests are off, only
/// while its visitor has a place, a booking or the claim that is named. The old one keeps its own end.
#[utoipa::path(
    post, path = "/api/v1/visitors/renew", tag = "visitors",
    request_body = Option<Owned>,
    responses((status = 200, description = "The same visitor", body = Guest), RenewProblems),
    security(("visitor" = []))
)]
pub async fn renew(
    State(sale): State<Arc<Sale>>,
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    GuestToken { user, has_expired }: GuestToken,
    OptionalBody(owned): OptionalBody<Owned>,
) -> Result<Response, Problem> {
    if has_expired || !callers.config.guest_tokens {
        // Finding out what somebody owns asks every event.
        callers.limits.guest(callers.address_of(&connection, &headers))?;
        if !owns_something(&sale, &user, owned.claim.as_ref()).await? {
            if !has_expired {
                return Err(no_guests_any_more());
            }
            let why = "the token has expired, and its visitor owns nothing that lives on; ask for a new one";
            return Err(Problem::new(Code::TokenExpired, why));
        }
    }
    Ok(guest_answer(StatusCode::OK, callers.guests.mint_for(user, callers.now_s())))
}
