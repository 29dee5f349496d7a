//! The organiser's side of channels: set up, filled, released, and explained.

use crate::history::ChannelChange;
use crate::http::body::{Json, JsonBody, JsonBytes};
use crate::http::caller::{Ids, Operator, OptionalKey};
use crate::http::events::read::show_moved;
use crate::http::once::Scope;
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::{Allotment, AllottedUnits, id};
use crate::http::shapes::reason::reasoned;
use crate::http::state::{Once, Sale, Units};
use crate::json::ids::{EventIdText, FreeText, IdText, TimeMs};
use crate::json::whole::Whole;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use onrush_core::channels::{ChannelSpec, ChannelView, PlannedRelease, Released};
use onrush_core::ids::{ChannelId, EventId, PoolId};
use onrush_core::question::{AvailabilityNow, ChannelsNow};
use onrush_core::settings::Digest;
use onrush_core::view::AvailabilityView;
use onrush_core::{Command, Time};
use onrush_store::Ask;
use serde::{Deserialize, Serialize};
use serde_json::json as value;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

reasoned! {
    /// A channel as it is to be.
    NewChannel {
        /// Units that may be held and sold through it at a time; all that is allotted to it if left out.
        #[serde(default)]
        #[schema(value_type = Option<u32>)]
        quota: Option<Whole<i64>>,
        /// Codes that let a visitor use it, of 6 to 100 characters; capitals do not matter. Those of
        /// before stay if this is left out.
        #[serde(default)]
        #[schema(value_type = Option<Vec<FreeText>>, max_items = 100)]
        codes: Option<Vec<String>>,
        /// Whether its buyers come through the waiting room: then people are let in to what is free in it,
        /// too. Not so if left out.
        #[serde(default)]
        #[schema(value_type = Option<bool>, nullable = false)]
        queued: bool,
        /// When its stock goes elsewhere by itself; never if left out.
        #[serde(default)]
        release: Option<NewRelease>,
    }
}

/// When the stock of a channel goes elsewhere, and where to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRelease {
    /// When.
    #[schema(value_type = TimeMs)]
    at: Whole<i64>,
    /// To which channel; on sale to everybody if left out.
    #[serde(default)]
    #[schema(value_type = Option<IdText>)]
    into: Option<String>,
}

reasoned! {
    /// Where the stock of a channel goes, and why.
    ReleaseNow {
        /// To which channel; on sale to everybody if left out.
        #[serde(default)]
        #[schema(value_type = Option<IdText>)]
        into: Option<String>,
    }
}

/// Channels, and how they came to be what they are.
#[derive(Serialize, ToSchema)]
pub struct Channels {
    /// Each, in the order they were added.
    channels: Vec<ChannelBody>,
    /// How they changed: the latest 500 changes, oldest first.
    history: Vec<ChannelChange>,
}

/// A channel, and what is in it.
#[derive(Serialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelBody {
    #[schema(value_type = IdText)]
    channel: ChannelId,
    /// Units that may be held and sold through it at a time; missing if that is all it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    quota: Option<u32>,
    /// How many codes it has.
    codes: usize,
    /// Whether its buyers come through the waiting room.
    queued: bool,
    /// When its stock goes elsewhere by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    release: Option<ReleaseBody>,
    /// Where its stock went for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    released: Option<ReleaseBody>,
    /// Units of it that are held or sold.
    taken: u32,
    /// Free units of pools, by pool.
    #[schema(value_type = BTreeMap<String, u32>)]
    pools: BTreeMap<PoolId, u32>,
    /// Free seats, by price category.
    categories: BTreeMap<Box<str>, u32>,
}

/// When a channel's stock goes elsewhere, or went, and where to.
#[derive(Serialize, ToSchema)]
#[schema(as = Release)]
pub struct ReleaseBody {
    #[schema(value_type = TimeMs)]
    at: Time,
    /// To which channel; missing where that is everybody's stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    into: Option<ChannelId>,
}

impl From<PlannedRelease> for ReleaseBody {
    fn from(PlannedRelease { at, into }: PlannedRelease) -> Self {
        Self { at, into }
    }
}

impl From<Released> for ReleaseBody {
    fn from(Released { at, into }: Released) -> Self {
        Self { at, into }
    }
}

impl ChannelBody {
    fn new(view: ChannelView, left: &AvailabilityView) -> Self {
        let ChannelView { spec, taken, released } = view;
        let ChannelSpec { channel, quota, codes, queued, release } = spec;
        let its = |allotted: &[(ChannelId, u32)]| {
            allotted.iter().find(|(other, _)| *other == channel).map(|(_, units)| *units)
        };
        let pools = left.pools.iter();
        let pools = pools.filter_map(|pool| Some((pool.pool.clone(), its(&pool.allotted)?)));
        let categories = left.categories.iter();
        let categories = categories.filter_map(|it| Some((it.name.clone(), its(&it.allotted)?)));
        Self {
            quota,
            codes: codes.len(),
            queued,
            release: release.filter(|_| released.is_none()).map(ReleaseBody::from),
            released: released.map(ReleaseBody::from),
            taken,
            pools: pools.collect(),
            categories: categories.collect(),
            channel,
        }
    }
}

async fn body_of(
    sale: &Sale,
    event: &EventId,
    channel: &ChannelId,
) -> Result<Json<ChannelBody>, Problem> {
    let known = sale.engine.ask(event.clone(), ChannelsNow).await?.value;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let view = known.into_iter().find(|view| view.spec.channel == *channel);
    let view = view.ok_or_else(|| Problem::new(Code::Internal, "the channel is not there"))?;
    Ok(Json(ChannelBody::new(view, &left)))
}

fn into_id(into: Option<String>) -> Result<Option<ChannelId>, Problem> {
    into.map(|into| id(&into).map_err(|problem| problem.about("into"))).transpose()
}

/// Adds a channel, or changes what it is. What is in it stays.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/channels/{channel}", tag = "admin",
    params(("event" = EventIdText, Path), ("channel" = IdText, Path)),
    request_body = NewChannel,
    responses((status = 200, description = "The channel", body = ChannelBody), WriteProblems),
)]
pub async fn set_channel(
    State(sale): State<Arc<Sale>>,
    Ids((event, channel)): Ids<(EventId, ChannelId)>,
    operator: Operator,
    JsonBody(NewChannel { quota, codes, queued, release, why, .. }): JsonBody<NewChannel>,
) -> Result<Json<ChannelBody>, Problem> {
    let wrong = |why: String, field| Problem::new(Code::InvalidBody, why).about(field);
    let quota = quota.map(|quota| u32::try_from(quota.0)).transpose();
    let quota = quota.map_err(|_| wrong("quota: use 0 to 1000000000 units".into(), "quota"))?;
    let codes = codes.map(|codes| {
        let kept = codes.iter().map(|code| sale.codes.kept(&event, code));
        kept.collect::<Option<Vec<_>>>().ok_or_else(|| {
            let why = "codes: use 6 to 100 characters each, blanks around them not counted";
            wrong(why.into(), "codes")
        })
    });
    let codes = codes.transpose()?;
    let release = match release {
        Some(NewRelease { at, into }) => {
            Some(PlannedRelease { at: Time(at.0), into: into_id(into)? })
        }
        None => None,
    };
    let reason = operator.because(why);
    let set = async {
        let codes = match codes {
            Some(codes) => codes,
            None => codes_of(&sale, &event, &channel).await?,
        };
        let spec = ChannelSpec { channel: channel.clone(), quota, codes, queued, release };
        let command = Command::SetChannel { spec, reason };
        sale.run::<()>(&event, command).await.map_err(|why| Problem::from(why).named_in_body())?;
        body_of(&sale, &event, &channel).await
    };
    // Whoever leaves the codes as they are must not write back one that was withdrawn meanwhile.
    sale.turns.take("channels", set).await
}

async fn codes_of(
    sale: &Sale,
    event: &EventId,
    channel: &ChannelId,
) -> Result<Vec<Digest>, Problem> {
    let known = sale.engine.ask(event.clone(), ChannelsNow).await?.value;
    let found = known.into_iter().find(|view| view.spec.channel == *channel);
    Ok(found.map(|view| view.spec.codes).unwrap_or_default())
}

/// Gives all stock of a channel to another one, or puts it on sale to everybody, for good: also what
/// comes back.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/channels/{channel}/release", tag = "admin",
    params(("event" = EventIdText, Path), ("channel" = IdText, Path)),
    request_body = ReleaseNow,
    responses((status = 200, description = "The channel", body = ChannelBody), WriteProblems),
)]
pub async fn release_channel(
    State(sale): State<Arc<Sale>>,
    Ids((event, channel)): Ids<(EventId, ChannelId)>,
    operator: Operator,
    JsonBody(ReleaseNow { into, why, .. }): JsonBody<ReleaseNow>,
) -> Result<Json<ChannelBody>, Problem> {
    let (id, into) = (channel.clone(), into_id(into)?);
    let command = Command::ReleaseChannel { channel: id, into, reason: operator.because(why) };
    sale.run::<()>(&event, command).await?;
    body_of(&sale, &event, &channel).await
}

/// Moves free units from one channel to another, or from and to the stock that is for everybody. The
/// same key again gets the first answer.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/allot", tag = "admin",
    params(("event" = EventIdText, Path), OptionalKey),
    request_body = AllottedUnits,
    responses((status = 200, description = "The channels", body = Vec<ChannelBody>), WriteProblems),
)]
pub async fn allot(
    State(sale): State<Arc<Sale>>,
    State(once): State<Arc<Once>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    key: OptionalKey,
    body: JsonBytes,
) -> Result<Response, Problem> {
    let Allotment { lines, from, to, why } = body.parse::<AllottedUnits<'_>>()?.split()?;
    let scope = Scope::of_units("allot", &event, &operator.key.name);
    let asked = value!({ "lines": lines, "from": from, "to": to, "why": why }).to_string();
    let command = Command::Allot { lines, from, to, reason: operator.because(why) };
    let work = async move {
        sale.run::<()>(&event, command).await.map_err(|why| Problem::from(why).named_in_body())?;
        show_moved(|| async { Ok(Json(bodies(&sale, &event).await?).into_response()) }).await
    };
    once.run_if_keyed(scope, &key, asked.as_bytes(), work).await
}

async fn bodies(sale: &Sale, event: &EventId) -> Result<Vec<ChannelBody>, Problem> {
    let known = sale.engine.ask(event.clone(), ChannelsNow).await?.value;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    Ok(known.into_iter().map(|view| ChannelBody::new(view, &left)).collect())
}

/// The channels, what is in each, and how that came about.
///
/// The whole feed is read for it, which takes a few seconds for each million decisions; one
/// question at a time.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/channels", tag = "admin",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The channels", body = Channels), ReadProblems),
)]
pub async fn channels(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Json<Channels>, Problem> {
    let channels = bodies(&sale, &event).await?;
    let history = units.histories.of_channels(&event).await?;
    Ok(Json(Channels { channels, history }))
}
