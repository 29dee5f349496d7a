//! `POST /visitors/carried`.

use super::guest::{Guest, guest_answer};
use crate::http::body::JsonBody;
use crate::http::openapi::CarriedProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use crate::serve::connection::Connection;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

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
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    JsonBody(TypedCode { code }): JsonBody<TypedCode>,
) -> Result<Response, Problem> {
    let address = app.address_of(&connection, &headers);
    app.limits.try_code(address)?;
    let user = match app.carry_codes.hash(&code) {
        Some(hash) => app.ledger.take_code(hash, app.clock.now()).await?,
        None => None,
    };
    let user = user.ok_or_else(|| {
        let why = "there is no such code: it was used, is over, or was mistyped; make a new one on \
                   the other device";
        Problem::new(Code::CarryCodeNotFound, why)
    })?;
    app.limits.right_code(address);
    Ok(guest_answer(StatusCode::OK, app.guests.mint_for(user, app.now_s())))
}
