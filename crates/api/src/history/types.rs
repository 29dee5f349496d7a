//! How the ticket types of an event changed.

use super::Histories;
use crate::broken::Broken;
use crate::json::ids::{IdText, TimeMs};
use onrush_core::change::SetupChange;
use onrush_core::ids::{EventId, PoolId};
use onrush_core::prices::Priced;
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use serde::Serialize;
use utoipa::ToSchema;

/// A change of ticket types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TypesChange {
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
    /// The names of the types from then on; none if it had none any more.
    #[schema(value_type = Vec<String>)]
    pub types: Vec<Box<str>>,
    /// Who changed them.
    #[schema(value_type = String)]
    pub by: Box<str>,
    /// Why.
    #[schema(value_type = String)]
    pub why: Box<str>,
}

impl TypesChange {
    fn of(entry: &FeedEntry, change: &Change) -> Option<Self> {
        let Change::Setup(SetupChange::TypesSet { of, types, reason }) = change else {
            return None;
        };
        let (pool, category) = match of {
            Priced::Pool(pool) => (Some(pool.clone()), None),
            Priced::Category(name) => (None, Some(name.clone())),
        };
        Some(Self {
            seq: entry.seq.0,
            at: entry.at,
            pool,
            category,
            types: types.iter().map(|it| it.name.clone()).collect(),
            by: reason.by.clone(),
            why: reason.why.clone(),
        })
    }
}

impl Histories {
    /// How ticket types changed up to now: the latest 500 changes, oldest first.
    ///
    /// # Errors
    /// The feed cannot be read.
    pub async fn of_types(&self, event: &EventId) -> Result<Vec<TypesChange>, Broken> {
        self.latest(event, TypesChange::of).await
    }
}
