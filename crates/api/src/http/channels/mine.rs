//! What a visitor's channels have left.

use super::codes::Shopper;
use crate::http::body::{Json, JsonBytes};
use crate::http::caller::Ids;
use crate::http::openapi::WriteProblems;
use crate::http::problem::Problem;
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, FreeText, IdText, TimeMs};
use crate::live::looks::Looks;
use crate::live::seats::Boards;
use axum::extract::State;
use onrush_core::Time;
use onrush_core::channels::ChannelView;
use onrush_core::ids::{ChannelId, EventId, PoolId, SeatId};
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
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    shopper: Shopper,
    body: JsonBytes,
) -> Result<Json<MyChannels>, Problem> {
    let Codes { codes } = body.parse::<Codes<'_>>()?;
    let known = sale.looks.channels(&event).await?;
    let mine = shopper.channels_among(&known.value, &sale, &event, &codes)?;
    let channels = left_in(&sale.looks, &units.boards, &event, &known.value, mine).await?;
    Ok(Json(MyChannels { event, at: known.at, channels }))
}

/// What is left in those of `mine` that are open still. Whoever has a code asks as often as they
/// like, so that all who do share what the engine is asked.
async fn left_in(
    looks: &Looks,
    boards: &Boards,
    event: &EventId,
    known: &[ChannelView],
    mine: Vec<ChannelId>,
) -> Result<Vec<MyChannel>, Problem> {
    let view_of = |channel: ChannelId| known.iter().find(|view| view.spec.channel == channel);
    let mine = mine.into_iter().filter_map(view_of);
    let open: Vec<&ChannelView> = mine.filter(|view| view.released.is_none()).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let left = &looks.left(event).await?.value.stock;
    let is_open = |(its, _): &(ChannelId, u32)| open.iter().any(|view| view.spec.channel == *its);
    let has_seats = left.categories.iter().any(|it| it.allotted.iter().any(is_open));
    let board = if has_seats { Some(boards.now(event).await?) } else { None };
    let what_is_left = |view: &ChannelView| {
        let channel = view.spec.channel.clone();
        let pools = left.pools.iter().filter_map(|pool| {
            let its = pool.allotted.iter().find(|(its, _)| *its == channel)?;
            Some((pool.pool.clone(), its.1))
        });
        let pools = pools.collect();
        let seats = board.iter().flat_map(|board| board.free_in(&channel)).cloned().collect();
        let until = view.spec.release.as_ref().map(|release| release.at);
        MyChannel { left: view.left(), until, pools, seats, channel }
    };
    Ok(open.into_iter().map(what_is_left).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::samples;
    use crate::plans::PlanDir;
    use futures_util::future::join_all;
    use onrush_core::channels::{ChannelSpec, Released};
    use onrush_core::view::{AvailabilityView, CategoryView, SeatStatus, SeatView};
    use onrush_core::{Query, View};
    use onrush_store::Engine;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A category of which one seat is free in a channel.
    fn category(channel: &ChannelId) -> CategoryView {
        CategoryView {
            name: "Stalls".into(),
            price_minor: 900,
            first_minor: None,
            later: Vec::new(),
            types: Vec::new(),
            units: Default::default(),
            allotted: vec![(channel.clone(), 1)],
        }
    }

    fn seat(seat: &str, status: SeatStatus, channel: Option<&ChannelId>) -> SeatView {
        SeatView {
            seat: seat.parse().unwrap(),
            category: "Stalls".into(),
            status,
            booking: None,
            why: None,
            channel: channel.cloned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_with_a_code_asks_for_every_seat_once_and_for_nothing_once_it_is_over() {
        let event: EventId = "e".parse().unwrap();
        let fans: ChannelId = "fans".parse().unwrap();
        let asked = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let (counted, channel) = (asked.clone(), fans.clone());
        let told = move |event: &EventId, query: &Query| {
            let view = match query {
                Query::Event(_) => View::Event(Box::new(samples::tests::view(event.as_str()))),
                Query::Availability(_) => {
                    counted[0].fetch_add(1, Ordering::Relaxed);
                    let categories = vec![category(&channel)];
                    View::Availability(Box::new(AvailabilityView { pools: Vec::new(), categories }))
                }
                Query::Seats(_) => {
                    counted[1].fetch_add(1, Ordering::Relaxed);
                    View::Seats(vec![
                        seat("A-1", SeatStatus::Free, None),
                        seat("A-2", SeatStatus::Blocked, Some(&channel)),
                    ])
                }
                _ => unreachable!("nothing else is asked"),
            };
            Some(Ok(view))
        };
        let stub = EngineStub::telling(told);
        let engine: Arc<dyn Engine> = Arc::new(stub);
        let dir = tempfile::tempdir().unwrap();
        let plans = PlanDir::open(dir.path(), None).unwrap();
        let (looks, boards) = (Looks::new(engine.clone()), Boards::new(engine, plans));

        let spec = ChannelSpec {
            channel: fans.clone(),
            quota: Some(3),
            codes: Vec::new(),
            queued: false,
            release: None,
        };
        let over = Released { at: Time(1), into: None };
        let released = ChannelView { spec: spec.clone(), taken: 1, released: Some(over) };
        let left = left_in(&looks, &boards, &event, &[released], vec![fans.clone()]).await;
        assert!(left.unwrap().is_empty());
        let asked = || asked.each_ref().map(|asked| asked.load(Ordering::Relaxed));
        assert_eq!(asked(), [0, 0]);

        let known = [ChannelView { spec, taken: 1, released: None }];
        let ask = |_| left_in(&looks, &boards, &event, &known, vec![fans.clone()]);
        for told in join_all((0..100).map(ask)).await {
            let told = told.unwrap();
            let seats: Vec<_> = told[0].seats.iter().map(SeatId::as_str).collect();
            assert_eq!((told[0].left, seats), (Some(2), vec!["A-2"]));
        }
        let [left, seats] = asked();
        assert!(
            left <= 6 && seats <= 2,
            "asked {left} times what is left, {seats} times for seats"
        );

        // Who is told the map is not told of channels.
        let snapshot = boards.now(&event).await.unwrap();
        let statuses = snapshot.statuses();
        assert!(!String::from_utf8_lossy(&statuses).contains("fans"));
    }
}
