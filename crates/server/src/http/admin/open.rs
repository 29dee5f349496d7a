//! `POST /admin/events/{event}/open`.

use super::event_answer;
use crate::http::body::OptionalBody;
use crate::http::caller::{Admin, Ids};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::event::EventBody;
use crate::http::state::App;
use crate::json::ids::{EventIdText, FreeText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What an opening may bring.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// A public random value that became known after the prequeue closed, mixed into the draw.
    #[schema(value_type = Option<FreeText>)]
    public_value: Option<Box<str>>,
}

/// Opens the sale; with a draw, reveals its seed.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/open", tag = "admin", operation_id = "open_sale",
    params(("event" = EventIdText, Path)),
    request_body = Option<Opening>,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn open(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    OptionalBody(body): OptionalBody<Opening>,
) -> Result<Response, Problem> {
    app.draws.open_sale(&event, body.public_value).await?;
    event_answer(&app, StatusCode::OK, &event).await
}
