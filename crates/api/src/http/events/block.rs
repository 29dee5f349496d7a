//! Taking units off sale, and putting them back.

use super::read::{event_answer, show_moved};
use super::shapes::EventBody;
use crate::http::body::JsonBytes;
use crate::http::caller::{Ids, Operator, OptionalKey};
use crate::http::once::Scope;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::shapes::lines::UnitsAndReason;
use crate::http::state::{Once, Sale};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use onrush_core::Command;
use onrush_core::ids::EventId;
use serde_json::json;
use std::sync::Arc;

/// Handlers that move units off sale and back, each key's once: who may ask, at which path, and the
/// command.
macro_rules! moves {
    ($($(#[$about:meta])* $name:ident($caller:ty) at $path:literal runs $command:ident;)+) => {$(
        $(#[$about])*
        #[utoipa::path(
            post, path = $path, tag = "admin",
            params(("event" = EventIdText, Path), OptionalKey),
            request_body = UnitsAndReason,
            responses((status = 200, description = "The event", body = EventBody), WriteProblems),
        )]
        pub async fn $name(
            State(sale): State<Arc<Sale>>,
            State(once): State<Arc<Once>>,
            Ids(event): Ids<EventId>,
            operator: $caller,
            key: OptionalKey,
            body: JsonBytes,
        ) -> Result<Response, Problem> {
            let (lines, why) = body.parse::<UnitsAndReason<'_>>()?.split()?;
            // Keys are kept under the handler's name.
            let scope = Scope::of_units(stringify!($name), &event, &operator.key.name);
            let asked = json!({ "lines": lines, "why": why }).to_string();
            let command = Command::$command { lines, reason: operator.because(why) };
            once.run_if_keyed(scope, &key, asked.as_bytes(), show(sale, event, command)).await
        }
    )+};
}

moves! {
    /// Takes free units off sale, with a reason. The same key again gets the first
    /// answer.
    block(Operator) at "/api/v1/admin/events/{event}/block" runs Block;
    /// Puts blocked units on sale again; those of a pool were blocked for the same reason. The same key
    /// again gets the first answer.
    unblock(Operator) at "/api/v1/admin/events/{event}/unblock" runs Unblock;
}

async fn show(sale: Arc<Sale>, event: EventId, command: Command) -> Result<Response, Problem> {
    sale.run::<()>(&event, command).await.map_err(|why| Problem::from(why).named_in_body())?;
    let shown = show_moved(|| event_answer(&sale, &event)).await?;
    Ok(shown.into_response())
}
