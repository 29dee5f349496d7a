//! Taking a sale from one phase to the next.

use super::read::{event_answer, run_and_show};
use super::shapes::EventBody;
use crate::http::body::{Json, Nothing, OptionalBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, PublicValueText};
use axum::extract::State;
use onrush_core::Command;
use onrush_core::ids::EventId;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Handlers that take a sale to its next phase by one command: who may ask, at which path, and the
/// command.
macro_rules! phases {
    ($($(#[$about:meta])* $name:ident($caller:ty) at $path:literal runs $command:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(
            post, path = $path, tag = "admin",
            params(("event" = EventIdText, Path)),
            request_body = Option<Nothing>,
            responses((status = 200, description = "The event", body = EventBody), WriteProblems),
        )]
        pub async fn $name(
            State(sale): State<Arc<Sale>>,
            Ids(event): Ids<EventId>,
            _: $caller,
            _: OptionalBody<Nothing>,
        ) -> Result<Json<EventBody>, Problem> {
            run_and_show(&sale, &event, Command::$command).await
        }
    )+};
}

phases! {
    /// Lets people join before the sale opens.
    open_prequeue(Operator) at "/api/v1/admin/events/{event}/prequeue" runs OpenPrequeue;
    /// Fixes the list of those who take part in the draw.
    close_prequeue(Operator) at "/api/v1/admin/events/{event}/prequeue/close" runs ClosePrequeue;
    /// Stops admission and new holds; clocks run on.
    pause_sale(Operator) at "/api/v1/admin/events/{event}/pause" runs Pause;
    /// Ends a pause.
    resume_sale(Operator) at "/api/v1/admin/events/{event}/resume" runs Resume;
    /// Ends the sale.
    close_sale(Operator) at "/api/v1/admin/events/{event}/close" runs Close;
}

/// What an opening may bring.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// A public random value that became known after the prequeue closed, mixed into the draw. It may
    /// not be missing where one was promised.
    #[schema(value_type = Option<PublicValueText>)]
    public_value: Option<Box<str>>,
}

/// Opens the sale; with a draw, reveals its seed.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/open", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = Option<Opening>,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn open_sale(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    OptionalBody(body): OptionalBody<Opening>,
) -> Result<Json<EventBody>, Problem> {
    sale.draws.open_sale(&event, body.public_value).await?;
    event_answer(&sale, &event).await
}
