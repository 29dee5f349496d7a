//! The keys that verify tickets and passes.

use crate::http::body::json;
use crate::http::openapi::OpenProblems;
use crate::http::state::Signers;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::jws::PublicKeys;
use std::sync::Arc;
use utoipa::ToSchema;

/// A JWK set (RFC 7517).
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what auth::jws publishes")]
pub struct KeySet {
    keys: Vec<Key>,
}

/// An Ed25519 key (RFC 8037).
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what auth::jws publishes")]
pub struct Key {
    kty: String,
    crv: String,
    r#use: String,
    alg: String,
    kid: String,
    x: String,
    /// What it signs: `passes` or `tickets`.
    r#for: String,
}

/// The keys that verify passes and tickets.
#[utoipa::path(
    get, path = "/api/v1/keys", tag = "visitors",
    responses((status = 200, description = "The keys", body = KeySet), OpenProblems),
)]
pub async fn keys(State(signers): State<Arc<Signers>>) -> Response {
    let keys = [signers.tickets.published(), signers.passes.published()].concat();
    json(StatusCode::OK, &PublicKeys { keys })
}
