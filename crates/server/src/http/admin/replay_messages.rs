//! `POST /admin/messages/replay`.

use crate::http::body::{JsonBody, json};
use crate::http::caller::Admin;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Which messages.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The channel: `mail`, or `webhook:<name>`.
    channel: String,
    /// The message; all that the channel gave up if left out.
    #[serde(default)]
    message: Option<String>,
}

/// How many.
#[derive(Serialize, ToSchema)]
pub struct Replayed {
    /// Messages that are tried again.
    replayed: u64,
}

/// Has messages that were given up tried again, with their old ids.
#[utoipa::path(
    post, path = "/api/v1/admin/messages/replay", tag = "admin",
    request_body = Replay,
    responses((status = 200, description = "They are tried again", body = Replayed), WriteProblems),
    security(("admin" = []))
)]
pub async fn replay_messages(
    State(app): State<Arc<App>>,
    _: Admin,
    JsonBody(replay): JsonBody<Replay>,
) -> Result<Response, Problem> {
    let one = replay.message.is_some();
    if !app.relay.channels().contains(&replay.channel) {
        return Err(Problem::new(Code::MessageNotFound, "no channel of this name is configured"));
    }
    let at = app.clock.now();
    let replayed = app.ledger.replay(&replay.channel, replay.message, at).await?;
    if one && replayed == 0 {
        let why = "the channel gave up no message of this id";
        return Err(Problem::new(Code::MessageNotFound, why));
    }
    app.relay.ring();
    Ok(json(StatusCode::OK, &Replayed { replayed }))
}
