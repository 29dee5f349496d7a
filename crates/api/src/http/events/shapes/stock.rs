//! What is left of an event, and why.

use crate::http::shapes::types::TypeBody;
use crate::inventory::Drift;
use crate::json::ids::{EventIdText, IdText, TimeMs};
use crate::json::sale::{PhaseName, PriceStepBody, UnitsBody};
use onrush_core::ids::{ChannelId, EventId, PoolId};
use onrush_core::settings::Settings;
use onrush_core::view::{AvailabilityView, CategoryView, PoolView};
use onrush_core::{Phase, Time};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What is left of an event.
#[derive(Serialize, ToSchema)]
pub struct Availability {
    /// The event.
    #[schema(value_type = EventIdText)]
    pub event: EventId,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// What each booking costs beside its units' prices with their percentage fee, in minor units,
    /// unless it is free of charge; missing if that is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub fee_per_booking_minor: Option<i64>,
    /// Each pool, in the order they were added.
    pub pools: Vec<PoolBody>,
    /// Each price category of seats, in the order they were added.
    pub categories: Vec<CategoryBody>,
}

impl Availability {
    /// What anyone may see.
    #[must_use]
    pub fn new(event: EventId, at: Time, view: &AvailabilityView, settings: &Settings) -> Self {
        let fee_minor = settings.fees.fixed_minor;
        Self {
            event,
            at,
            fee_per_booking_minor: (fee_minor > 0).then_some(fee_minor),
            pools: PoolBody::all(&view.pools, settings),
            categories: CategoryBody::all(view.categories.iter().cloned(), settings),
        }
    }
}

/// A pool and what is left of it.
#[derive(Serialize, ToSchema)]
#[schema(as = Pool)]
pub struct PoolBody {
    #[schema(value_type = IdText)]
    pool: PoolId,
    /// What one unit costs before fees, in minor units.
    price_minor: i64,
    /// The same with the percentage fee on it.
    all_in_minor: i64,
    /// What it costs later, the earliest first; missing if that is the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    later: Vec<PriceStepBody>,
    /// Its ticket types; units that none is named for are of the first. Missing if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    types: Vec<TypeBody>,
    capacity: u32,
    free: u32,
    held: u32,
    sold: u32,
    blocked: u32,
}

impl PoolBody {
    /// What anyone may see of these pools.
    #[must_use]
    pub fn all(views: &[PoolView], settings: &Settings) -> Vec<Self> {
        views.iter().map(|view| Self::new(view, settings)).collect()
    }

    /// What anyone may see of a pool.
    #[must_use]
    pub fn new(view: &PoolView, settings: &Settings) -> Self {
        Self {
            pool: view.pool.clone(),
            price_minor: view.price_minor,
            all_in_minor: settings.all_in_minor(view.price_minor),
            later: PriceStepBody::all(&view.later, settings),
            types: TypeBody::all(&view.types, settings),
            capacity: view.capacity,
            free: view.units.free,
            held: view.units.held,
            sold: view.units.sold,
            blocked: view.units.blocked,
        }
    }
}

/// The seats of one price category.
#[derive(Serialize, ToSchema)]
#[schema(as = Category)]
pub struct CategoryBody {
    name: Box<str>,
    /// What one seat costs before fees, in minor units.
    price_minor: i64,
    /// The same with the percentage fee on it.
    all_in_minor: i64,
    /// What it costs later, the earliest first; missing if that is the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    later: Vec<PriceStepBody>,
    /// Its ticket types; seats that none is named for are of the first. Missing if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    types: Vec<TypeBody>,
    free: u32,
    held: u32,
    sold: u32,
    blocked: u32,
}

impl CategoryBody {
    /// What anyone may see of these categories.
    #[must_use]
    pub fn all(views: impl IntoIterator<Item = CategoryView>, settings: &Settings) -> Vec<Self> {
        views.into_iter().map(|view| Self::new(view, settings)).collect()
    }

    fn new(view: CategoryView, settings: &Settings) -> Self {
        let CategoryView { name, price_minor, first_minor: _, later, types, units, allotted: _ } =
            view;
        Self {
            name,
            price_minor,
            all_in_minor: settings.all_in_minor(price_minor),
            later: PriceStepBody::all(&later, settings),
            types: TypeBody::all(&types, settings),
            free: units.free,
            held: units.held,
            sold: units.sold,
            blocked: units.blocked,
        }
    }
}

/// All stock, with the reasons why some of it is not on sale.
#[derive(Serialize, ToSchema)]
pub struct InventoryStatus {
    /// In the order they were created.
    pub events: Vec<EventStock>,
}

/// One event's stock.
#[derive(Serialize, ToSchema)]
pub struct EventStock {
    /// The event.
    #[schema(value_type = EventIdText)]
    pub event: EventId,
    /// Where its sale stands.
    #[schema(value_type = PhaseName)]
    pub phase: Phase,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// People waiting.
    pub waiting: u32,
    /// Slots of the room in use.
    pub active: u32,
    /// Units of pools and seats together.
    pub units: UnitsBody,
    /// Each pool.
    pub pools: Vec<PoolStock>,
    /// Each price category of seats.
    pub categories: Vec<CategoryBody>,
    /// Pools that the organiser's inventory has and the event has not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<IdText>)]
    pub missing_pools: Vec<PoolId>,
}

/// A pool's stock.
#[derive(Serialize, ToSchema)]
pub struct PoolStock {
    #[schema(value_type = IdText)]
    pool: PoolId,
    price_minor: i64,
    capacity: u32,
    free: u32,
    held: u32,
    sold: u32,
    blocked: u32,
    /// Of the sold ones, those that were claimed.
    claimed: u32,
    /// Of the claimed ones, those that services claimed.
    claimed_by_services: u32,
    /// Blocked units by reason.
    blocked_why: Vec<BlockedUnits>,
    /// Blocked units that are free in a channel, by channel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, u32>, required = false)]
    allotted: BTreeMap<ChannelId, u32>,
    /// How it differs from the organiser's inventory, if there is one and it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<Drift>,
}

/// Units that are blocked for one reason.
#[derive(Serialize, ToSchema)]
pub struct BlockedUnits {
    why: Box<str>,
    units: u32,
}

impl PoolStock {
    /// A pool, and how it differs from what is wanted.
    #[must_use]
    pub fn new(view: PoolView, drift: Option<Drift>) -> Self {
        Self {
            pool: view.pool,
            price_minor: view.price_minor,
            capacity: view.capacity,
            free: view.units.free,
            held: view.units.held,
            sold: view.units.sold,
            blocked: view.units.blocked,
            claimed: view.claimed,
            claimed_by_services: view.claimed_by_services,
            blocked_why: view
                .blocked_why
                .into_iter()
                .map(|(why, units)| BlockedUnits { why, units })
                .collect(),
            allotted: view.allotted.into_iter().collect(),
            drift,
        }
    }
}
