//! What a visitor's channels have left.

use super::codes::Shopper;
use crate::http::body::{Json, JsonBytes};
use crate::http::caller::Ids;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, FreeText, IdText, TimeMs};
use axum::extract::State;
use onrush_core::Time;
use onrush_core::ids::{ChannelId, EventId, PoolId, SeatId};
use onrush_core::question::{AvailabilityNow, ChannelsNow, SeatsNow};
use onrush_store::Ask;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Codes that open channels.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChannelCodes)]
pub struct Codes<'a> {
    /// As somebody typed them.
    #[serde(borrow, default)]
    #[schema(value_type = Option<Vec<FreeText>>, nullable = false, max_items = 5)]
    codes: Vec<Cow<'a, str>>,
}

/// The channels that a visitor may use.
#[derive(Serialize, ToSchema)]
pub struct MyChannels {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// Each of them, the one that is taken from first before the others.
    channels: Vec<MyChannel>,
}

/// What is left in a channel.
#[derive(Serialize, ToSchema)]
pub struct MyChannel {
    #[schema(value_type = IdText)]
    channel: ChannelId,
    /// Units that may still be taken through it; missing if that is all there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    left: Option<u32>,
    /// When its stock goes elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Option<Time>,
    /// Free units of pools, by pool.
    #[schema(value_type = BTreeMap<String, u32>)]
    pools: BTreeMap<PoolId, u32>,
    /// Free seats.
    #[schema(value_type = Vec<IdText>)]
    seats: Vec<SeatId>,
}

/// What is left in the channels that a visitor may use: those of these codes, and those that the
/// shop's token names.
///
/// An address has ten wrong codes a minute.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/channels", tag = "bookings",
    params(("event" = EventIdText, Path)),
    request_body = Codes,
    responses((status = 200, description = "What is left", body = MyChannels), WriteProblems),
    security(("visitor" = []))
)]
pub async fn my_channels(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    shopper: Shopper,
    body: JsonBytes,
) -> Result<Json<MyChannels>, Problem> {
    let Codes { codes } = body.parse::<Codes<'_>>()?;
    let mine = shopper.channels(&sale, &event, &codes).await?;
    let known = sale.engine.ask(event.clone(), ChannelsNow).await?;
    let at = known.at;
    let mut channels = Vec::new();
    if mine.is_empty() {
        return Ok(Json(MyChannels { event, at, channels }));
    }
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let has_seats = left.categories.iter().any(|category| !category.allotted.is_empty());
    let seats = match has_seats {
        true => sale.engine.ask(event.clone(), SeatsNow).await?.value,
        false => Vec::new(),
    };
    for channel in mine {
        let Some(view) = known.value.iter().find(|view| view.spec.channel == channel) else {
            continue;
        };
        if view.released.is_some() {
            continue;
        }
        let pools = left.pools.iter().filter_map(|pool| {
            let its = pool.allotted.iter().find(|(its, _)| *its == channel)?;
            Some((pool.pool.clone(), its.1))
        });
        let of_channel = seats.iter().filter(|seat| seat.channel.as_ref() == Some(&channel));
        channels.push(MyChannel {
            left: view.left(),
            until: view.spec.release.as_ref().map(|release| release.at),
            pools: pools.collect(),
            seats: of_channel.map(|seat| seat.seat.clone()).collect(),
            channel,
        });
    }
    Ok(Json(MyChannels { event, at, channels }))
}
