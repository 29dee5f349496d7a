//! Messages that could not be delivered: listed, and tried again.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::{page, page_size};
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText, TimeMs};
use axum::extract::State;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::Ledger;
use onrush_ledger::delivery::DeadLetter;
use onrush_relay::Relay;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeadQuery {
    /// Only of this channel: `mail`, or `webhook:<name>`.
    #[param(nullable = false)]
    channel: Option<String>,
    /// Where the page begins: the `next` of the one before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

page! {
    /// A page of messages that were given up.
    DeadBody,
    /// The latest first.
    messages: DeadMessage
}

/// A message that was given up.
#[derive(Serialize, ToSchema)]
pub struct DeadMessage {
    /// Its id.
    message: String,
    /// What it is about, such as `booking_confirmed`.
    kind: String,
    /// The event.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// The booking, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// When it happened.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// Over which channel it could not be told.
    channel: String,
    /// How often it was tried.
    attempts: u32,
    /// When it was given up.
    #[schema(value_type = TimeMs)]
    died_at: Time,
    /// What went wrong last.
    error: String,
}

/// Messages that could not be delivered and are not tried any more.
#[utoipa::path(
    get, path = "/api/v1/admin/messages/dead", tag = "admin",
    params(DeadQuery),
    responses((status = 200, description = "A page of them", body = DeadBody), ReadProblems),
)]
pub async fn dead_messages(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(query): Strict<DeadQuery>,
) -> Result<Json<DeadBody>, Problem> {
    let limit = page_size(query.limit)?;
    let page = ledger.dead_letters(query.channel, query.after, limit).await?;
    Ok(Json(page.into()))
}

impl From<DeadLetter> for DeadMessage {
    fn from(letter: DeadLetter) -> Self {
        let DeadLetter { message, channel, attempts, died_at, error } = letter;
        Self {
            message: message.id,
            kind: message.kind,
            event: message.event,
            booking: message.booking,
            at: message.at,
            channel,
            attempts,
            died_at,
            error,
        }
    }
}

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
)]
pub async fn replay_messages(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(relay): State<Arc<Relay>>,
    _: Operator,
    JsonBody(replay): JsonBody<Replay>,
) -> Result<Json<Replayed>, Problem> {
    let one = replay.message.is_some();
    if !relay.channels().contains(&replay.channel) {
        return Err(Problem::new(Code::MessageNotFound, "no channel of this name is configured"));
    }
    let at = sale.clock.now();
    let replayed = ledger.replay(&replay.channel, replay.message, at).await;
    // Some may be due although the rest are not.
    relay.ring();
    let replayed = replayed?;
    if one && replayed == 0 {
        let why = "the channel gave up no message of this id";
        return Err(Problem::new(Code::MessageNotFound, why));
    }
    Ok(Json(Replayed { replayed }))
}
