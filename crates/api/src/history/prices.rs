//! How the prices of an event changed.

use super::Histories;
use crate::broken::Broken;
use crate::json::ids::{IdText, TimeMs};
use onrush_core::change::SetupChange;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use serde::Serialize;
use utoipa::ToSchema;

/// A change of a price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PriceChange {
    /// The decision's number in the feed.
    pub seq: u64,
    /// When it was decided.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// The pool, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub pool: Option<PoolId>,
    /// The category of seats, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub category: Option<Box<str>>,
    /// The price before, in minor units.
    pub before_minor: i64,
    /// The price from then on.
    pub price_minor: i64,
    /// What was to come then, the earliest first.
    pub later: Vec<LaterPrice>,
    /// Who changed it; missing where a time had come that was said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub by: Option<Box<str>>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub why: Option<Box<str>>,
}

/// A price that was to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LaterPrice {
    /// From when on.
    #[schema(value_type = TimeMs)]
    pub from: Time,
    /// The price of one unit, in minor units.
    pub price_minor: i64,
}

impl PriceChange {
    fn of(entry: &FeedEntry, change: &Change) -> Option<Self> {
        let Change::Setup(SetupChange::PriceChanged {
            of,
            before_minor,
            price_minor,
            later,
            reason,
        }) = change
        else {
            return None;
        };
        let (pool, category) = match of {
            Priced::Pool(pool) => (Some(pool.clone()), None),
            Priced::Category(name) => (None, Some(name.clone())),
        };
        let step = |step: &PriceStep| LaterPrice { from: step.from, price_minor: step.price_minor };
        Some(Self {
            seq: entry.seq.0,
            at: entry.at,
            pool,
            category,
            before_minor: *before_minor,
            price_minor: *price_minor,
            later: later.iter().map(step).collect(),
            by: reason.as_ref().map(|reason| reason.by.clone()),
            why: reason.as_ref().map(|reason| reason.why.clone()),
        })
    }
}

impl Histories {
    /// How prices changed up to now: the latest 500 changes, oldest first.
    ///
    /// # Errors
    /// The feed cannot be read.
    pub async fn of_prices(&self, event: &EventId) -> Result<Vec<PriceChange>, Broken> {
        self.latest(event, PriceChange::of).await
    }
}
