//! `POST /visitors`.

use crate::app::App;
use crate::auth::unix_now_s;
use crate::http::body::{Nothing, OptionalBody, json};
use crate::http::caller::Connection;
use crate::http::openapi::GuestProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::ids::{IdText, TimeMs};
use crate::metrics::count;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_core::Time;
use onrush_core::ids::UserId;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A new guest.
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
}

/// Gives a guest token; so many a minute for each address.
#[utoipa::path(
    post, path = "/api/v1/visitors", tag = "visitors",
    request_body = Option<Nothing>,
    responses((status = 201, description = "A new guest", body = Guest), GuestProblems),
)]
pub async fn guest(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    _: OptionalBody<Nothing>,
) -> Result<Response, Problem> {
    if !app.config.guest_tokens {
        let why = "this shop gives no guest tokens; come with the shop's token";
        return Err(Problem::new(Code::GuestsDisabled, why));
    }
    app.limits.guest(app.address_of(&connection, &headers))?;
    count(&app.metrics.guests);
    let guest = app.guests.mint(unix_now_s());
    let expires_at = Time(guest.expires_s.saturating_mul(1_000));
    Ok(json(StatusCode::CREATED, &Guest { user: guest.user, token: guest.token, expires_at }))
}
