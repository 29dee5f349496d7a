//! Events and their settings.

mod change;
pub mod limits;
pub mod money;
pub mod room;
pub mod settings;
pub mod stock;
pub mod times;
pub mod was;

use self::limits::UserLimitBody;
use self::money::{FeesBody, RefundTermBody, TaxBody};
use self::room::RoomBody;
use crate::json::ids::{CurrencyText, DigestText, EventIdText, FreeText, TimeMs};
use crate::json::sale::{AdmissionName, PhaseName, SingleSeatsName, UnitsBody};
use onrush_core::ids::EventId;
use onrush_core::settings::{Digest, SingleSeats};
use onrush_core::view::{AdmissionState, DrawView, EventView};
use onrush_core::{Phase, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// An event.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventBody {
    /// Its id.
    #[schema(value_type = EventIdText)]
    pub event: EventId,
    #[schema(value_type = FreeText)]
    title: Box<str>,
    #[schema(value_type = CurrencyText)]
    currency: String,
    #[schema(value_type = PhaseName)]
    phase: Phase,
    /// The engine's time.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// Missing where anyone may hold at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room: Option<RoomBody>,
    hold_ttl_ms: i64,
    hold_max_ms: i64,
    payment_window_ms: i64,
    payment_attempts: u8,
    extensions: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_per_user: Option<u32>,
    /// How much one user may have of pools, categories and their ticket types; missing if no more is
    /// limited than the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    limits: Vec<UserLimitBody>,
    /// Units that bookings paid for under one e-mail address may have together; missing without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_per_email: Option<u32>,
    /// The same of one card, as the payment gateway recognises it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_per_card: Option<u32>,
    /// Missing where visitors may claim for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    claim_ttl_max_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    prequeue_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    opens_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    closes_at: Option<Time>,
    /// When the event itself begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    starts_at: Option<Time>,
    /// Missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    fees: Option<FeesBody>,
    /// The tax that prices and fees include; missing where none is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxBody>,
    /// What a buyer gets back who cancels; missing if buyers cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    refunds: Vec<RefundTermBody>,
    /// What all amounts are multiples of, in minor units; missing if it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    amount_step_minor: Option<i64>,
    /// Whether buyers may choose seats that leave one free seat alone.
    #[schema(value_type = SingleSeatsName)]
    single_seats: SingleSeats,
    /// Whether those who wait can be let in to anything.
    #[schema(value_type = AdmissionName)]
    admission: AdmissionState,
    /// People waiting.
    waiting: u32,
    /// Slots of the room in use.
    active: u32,
    /// Places taken so far.
    places_taken: u32,
    /// Units of pools and seats together.
    units: UnitsBody,
}

impl EventBody {
    /// What anyone may see of an event.
    #[must_use]
    pub fn new(at: Time, view: EventView) -> Self {
        let settings = view.settings;
        let step_minor = settings.step_minor();
        let refunds = RefundTermBody::shown(&settings);
        Self {
            event: view.event,
            title: settings.title,
            currency: settings.currency.to_string(),
            phase: view.phase,
            at,
            room: settings.room.as_ref().map(RoomBody::new),
            hold_ttl_ms: settings.hold_ttl_ms,
            hold_max_ms: settings.hold_max_ms,
            payment_window_ms: settings.payment_window_ms,
            payment_attempts: settings.payment_attempts,
            extensions: settings.extensions,
            max_per_user: settings.max_per_user,
            limits: UserLimitBody::shown(settings.limits),
            max_per_email: settings.max_per_email,
            max_per_card: settings.max_per_card,
            claim_ttl_max_ms: settings.claim_ttl_max_ms,
            prequeue_at: settings.prequeue_at,
            opens_at: settings.opens_at,
            closes_at: settings.closes_at,
            starts_at: settings.starts_at,
            amount_step_minor: Some(step_minor).filter(|step_minor| *step_minor > 1),
            single_seats: settings.single_seats,
            fees: FeesBody::shown(&settings.fees),
            tax: settings.tax.map(TaxBody::shown),
            refunds,
            admission: view.admission,
            waiting: view.waiting,
            active: view.active,
            places_taken: view.places_taken,
            units: view.units.into(),
        }
    }
}

/// A page of events.
#[derive(Serialize, ToSchema)]
pub struct Events {
    /// In the order they were created.
    pub events: Vec<EventBody>,
    /// Where the next page begins; missing on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EventIdText>, nullable = false)]
    pub next: Option<EventId>,
}

/// What is public about a draw at this time.
#[derive(Serialize, ToSchema)]
#[schema(as = Draw)]
pub struct DrawBody {
    /// SHA-256 of the seed.
    #[schema(value_type = DigestText)]
    seed_hash: Digest,
    /// Which public value was promised to be mixed in; missing if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FreeText>, nullable = false)]
    public_value_source: Option<Box<str>>,
    /// How many take part, once the prequeue is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    entrants: Option<u32>,
    /// SHA-256 of the list of entrants, once the prequeue is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DigestText>, nullable = false)]
    entrants_hash: Option<Digest>,
    /// When that list was fixed: a public value that was known by then proves nothing. Missing until
    /// then, and if it was before this was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    list_fixed_at: Option<Time>,
    /// The seed, once it is revealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DigestText>, nullable = false)]
    seed: Option<Digest>,
    /// The public value, once it is mixed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    public_value: Option<Box<str>>,
}

impl DrawBody {
    /// What anyone may see of an event's draw; `None` if it has none.
    #[must_use]
    pub fn new(view: EventView) -> Option<Self> {
        let public_value_source = view.settings.public_value_source().map(Into::into);
        let DrawView { seed_hash, entrants, entrants_hash, list_fixed_at, seed, public_value } =
            view.draw?;
        Some(Self {
            seed_hash,
            public_value_source,
            entrants,
            entrants_hash,
            list_fixed_at,
            seed,
            public_value,
        })
    }
}
