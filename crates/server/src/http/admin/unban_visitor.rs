//! `POST /admin/events/{event}/visitors/{user}/unban`.

use super::reason;
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::App;
use crate::json::ids::{EventIdText, FreeText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Command;
use onrush_core::ids::{EventId, UserId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Who ends a ban, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unban {
    /// Who.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
}

/// A visitor who is not banned.
#[derive(Serialize, ToSchema)]
pub struct UnbannedBody {
    /// Whom.
    #[schema(value_type = IdText)]
    user: UserId,
    /// Always false.
    banned: bool,
}

/// Ends a ban; nothing changes for somebody who is not banned.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/visitors/{user}/unban", tag = "admin",
    params(("event" = EventIdText, Path), ("user" = IdText, Path)),
    request_body = Unban,
    responses((status = 200, description = "They are not banned", body = UnbannedBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn unban_visitor(
    State(app): State<Arc<App>>,
    Ids((event, user)): Ids<(EventId, UserId)>,
    _: Admin,
    JsonBody(Unban { by, why }): JsonBody<Unban>,
) -> Result<Response, Problem> {
    let command = Command::UnbanVisitor { user: user.clone(), reason: reason(by, why) };
    app.run(&event, command).await?;
    Ok(json(StatusCode::OK, &UnbannedBody { user, banned: false }))
}
