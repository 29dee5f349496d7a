//! `POST /visitors/renew`.

use super::guest::{Guest, guest_answer};
use super::owned::owns_something;
use crate::http::body::OptionalBody;
use crate::http::caller::GuestToken;
use crate::http::openapi::RenewProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use crate::json::ids::IdText;
use crate::serve::connection::Connection;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_core::ids::ClaimId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
/// A token that is still good is renewed always; one that has expired only while its visitor has a
/// place, a booking or the claim that is named. The old one keeps its own end.
#[utoipa::path(
    post, path = "/api/v1/visitors/renew", tag = "visitors",
    request_body = Option<Owned>,
    responses((status = 200, description = "The same visitor", body = Guest), RenewProblems),
    security(("visitor" = []))
)]
pub async fn renew(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    GuestToken { user, has_expired }: GuestToken,
    OptionalBody(owned): OptionalBody<Owned>,
) -> Result<Response, Problem> {
    if has_expired {
        // Finding out what somebody owns asks every event.
        app.limits.guest(app.address_of(&connection, &headers))?;
        if !owns_something(&app, &user, owned.claim.as_ref()).await? {
            let why = "the token has expired, and its visitor owns nothing that lives on; ask for a new one";
            return Err(Problem::new(Code::TokenExpired, why));
        }
    }
    Ok(guest_answer(StatusCode::OK, app.guests.mint_for(user, app.now_s())))
}
