//! `POST /admin/events/{event}/visitors/{user}/remove`.

use super::reason;
use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, Ids};
use crate::http::faults::odd_answer;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::App;
use crate::json::ids::{EventIdText, FreeText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::view::RemovedView;
use onrush_core::{Command, Reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Who removes a visitor, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// Who.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
    /// Whether they may take no place, hold or claim in this event from now on.
    #[serde(default)]
    ban: bool,
}

/// What was taken from a visitor.
#[derive(Serialize, ToSchema)]
pub struct RemovedBody {
    /// Whom.
    #[schema(value_type = IdText)]
    user: UserId,
    /// Waiting places that were given up.
    places: u32,
    /// Whether a session ended.
    session_ended: bool,
    /// Holds that were released.
    released: u32,
    /// Bookings whose payment runs: they stay until it has ended.
    #[schema(value_type = Vec<IdText>)]
    paying: Vec<BookingId>,
    /// Whether they are banned.
    banned: bool,
}

impl From<RemovedView> for RemovedBody {
    fn from(view: RemovedView) -> Self {
        let RemovedView { user, places, session, released, paying, banned } = view;
        Self { user, places, session_ended: session, released, paying, banned }
    }
}

/// Takes places, session and unpaid holds from a visitor, in one decision, and bans them from the
/// event if wished.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/visitors/{user}/remove", tag = "admin",
    params(("event" = EventIdText, Path), ("user" = IdText, Path)),
    request_body = Removal,
    responses((status = 200, description = "What was taken", body = RemovedBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn remove_visitor(
    State(app): State<Arc<App>>,
    Ids((event, user)): Ids<(EventId, UserId)>,
    _: Admin,
    JsonBody(Removal { by, why, ban }): JsonBody<Removal>,
) -> Result<Response, Problem> {
    let command = Command::RemoveVisitor { user, reason: reason(by, why), ban };
    match app.run(&event, command).await? {
        Reply::Removed(view) => Ok(json(StatusCode::OK, &RemovedBody::from(view))),
        Reply::Done | Reply::Place(_) | Reply::Left(_) | Reply::Hold(_) | Reply::Claim(_) => {
            Err(odd_answer())
        }
    }
}
