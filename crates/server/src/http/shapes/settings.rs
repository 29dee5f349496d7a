//! An event's settings, as organisers read and write them.

use crate::json::ids::LATEST_MS;
use crate::json::ids::{
    CurrencyText, DurationNumber, EventIdText, FreeText, LimitNumber, PlacesNumber,
    QueueSizeNumber, RoomCapacityNumber, SettableTime, SmallLimitNumber, TimesNumber,
};
use crate::json::object::Object;
use crate::json::whole::Whole;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::money::Currency;
use onrush_core::settings::{Digest, Fees, Order, RefundRule, RoomSettings, Settings};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// A time that can be set: 1970 to 9999.
#[derive(Clone, Copy)]
struct Settable(Time);

impl TryFrom<i64> for Settable {
    type Error = ();

    fn try_from(ms: i64) -> Result<Self, ()> {
        if (0..=LATEST_MS).contains(&ms) { Ok(Self(Time(ms))) } else { Err(()) }
    }
}

/// The order of the people in the prequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Order)]
pub enum OrderName {
    /// First come, first served.
    Fifo,
    /// By lot, from a seed that is committed to when the event is made.
    Draw,
}

/// The waiting room, as it is shown.
#[derive(Serialize, ToSchema)]
#[schema(as = Room)]
pub struct RoomBody {
    capacity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outflow_per_min: Option<u32>,
    session_ms: i64,
    place_ttl_ms: i64,
    arrive_ms: i64,
    max_queue_size: u32,
    places_per_user: u32,
    order: OrderName,
}

impl RoomBody {
    /// What is shown of a room.
    #[must_use]
    pub fn new(room: &RoomSettings) -> Self {
        Self {
            capacity: room.capacity,
            outflow_per_min: room.outflow_per_min,
            session_ms: room.session_ms,
            place_ttl_ms: room.place_ttl_ms,
            arrive_ms: room.arrive_ms,
            max_queue_size: room.max_queue_size,
            places_per_user: room.places_per_user,
            order: match room.order {
                Order::Fifo => OrderName::Fifo,
                Order::Draw { seed_hash: _ } => OrderName::Draw,
            },
        }
    }
}

/// Changes to a waiting room; what is left out stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomChange {
    /// Admitted visitors at a time.
    #[schema(value_type = Option<RoomCapacityNumber>)]
    capacity: Option<Whole<u32>>,
    /// Admissions a minute at most; `null` is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<LimitNumber>)]
    outflow_per_min: Option<Option<Whole<u32>>>,
    /// How long an admitted visitor may shop.
    #[schema(value_type = Option<DurationNumber>)]
    session_ms: Option<Whole<i64>>,
    /// How long a place waits for a visitor who is not seen.
    #[schema(value_type = Option<DurationNumber>)]
    place_ttl_ms: Option<Whole<i64>>,
    /// How long an admitted visitor has to show up.
    #[schema(value_type = Option<DurationNumber>)]
    arrive_ms: Option<Whole<i64>>,
    /// People waiting at a time.
    #[schema(value_type = Option<QueueSizeNumber>)]
    max_queue_size: Option<Whole<u32>>,
    /// Places one user may take; 1 in an event with a draw.
    #[schema(value_type = Option<PlacesNumber>)]
    places_per_user: Option<Whole<u32>>,
    /// The order of the people in the prequeue.
    #[schema(value_type = Option<OrderName>)]
    order: Option<OrderName>,
}

impl RoomChange {
    /// Whether this asks for a draw that `room` does not have.
    fn wants_new_draw(&self, room: Option<&RoomSettings>) -> bool {
        let has_draw = room.is_some_and(|room| matches!(room.order, Order::Draw { .. }));
        self.order == Some(OrderName::Draw) && !has_draw
    }

    /// Applies the changes; `seed_hash` is there if [`SettingsChange::wants_new_draw`] said so.
    pub fn apply(self, room: &mut RoomSettings, seed_hash: Option<Digest>) {
        set(&mut room.capacity, whole(self.capacity));
        set(&mut room.outflow_per_min, self.outflow_per_min.map(whole));
        set(&mut room.session_ms, whole(self.session_ms));
        set(&mut room.place_ttl_ms, whole(self.place_ttl_ms));
        set(&mut room.arrive_ms, whole(self.arrive_ms));
        set(&mut room.max_queue_size, whole(self.max_queue_size));
        set(&mut room.places_per_user, whole(self.places_per_user));
        match (self.order, seed_hash) {
            (Some(OrderName::Fifo), _) => room.order = Order::Fifo,
            (Some(OrderName::Draw), Some(seed_hash)) => room.order = Order::Draw { seed_hash },
            (Some(OrderName::Draw) | None, _) => {}
        }
    }
}

/// What a booking costs beside its units; what is left out is 0.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Fees)]
pub struct FeesBody {
    /// For each booking, in minor units.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    fixed_minor: i64,
    /// Of the units' price, in basis points: 250 is 2.5 %.
    #[serde(default)]
    #[schema(maximum = 10_000)]
    percent_bp: u32,
}

impl FeesBody {
    /// What is shown of fees; nothing if there are none.
    #[must_use]
    pub fn shown(fees: &Fees) -> Option<Self> {
        let Fees { fixed_minor, percent_bp } = *fees;
        (*fees != Fees::default()).then_some(Self { fixed_minor, percent_bp })
    }

    fn fees(self) -> Fees {
        Fees { fixed_minor: self.fixed_minor, percent_bp: self.percent_bp }
    }
}

/// What a buyer gets back who cancels early enough.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RefundRule)]
pub struct RefundRuleBody {
    /// Full days before `starts_at`, at least.
    days_before: u16,
    /// How much of the units' price, in percent; fees are kept.
    #[schema(maximum = 100)]
    percent: u8,
}

impl RefundRuleBody {
    /// What is shown of the rules.
    #[must_use]
    pub fn shown(rules: &[RefundRule]) -> Vec<Self> {
        let shown =
            |rule: &RefundRule| Self { days_before: rule.days_before, percent: rule.percent };
        rules.iter().map(shown).collect()
    }

    fn rules(rules: Vec<Object<Self>>) -> Vec<RefundRule> {
        let rule = |Object(Self { days_before, percent })| RefundRule { days_before, percent };
        rules.into_iter().map(rule).collect()
    }
}

/// A new event: settings that are left out have their defaults.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// Its id.
    #[schema(value_type = EventIdText)]
    pub event: EventId,
    /// The event's name for people.
    #[schema(value_type = FreeText)]
    title: Box<str>,
    /// The one currency all of the event's prices are in.
    #[schema(value_type = CurrencyText)]
    currency: Currency,
    /// The waiting room; without one, or with `null`, anyone holds at once. `{}` is one with the defaults.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<RoomChange>)]
    room: Option<Option<Object<RoomChange>>>,
    #[schema(value_type = Option<DurationNumber>)]
    hold_ttl_ms: Option<Whole<i64>>,
    #[schema(value_type = Option<DurationNumber>)]
    hold_max_ms: Option<Whole<i64>>,
    #[schema(value_type = Option<DurationNumber>)]
    payment_window_ms: Option<Whole<i64>>,
    #[schema(value_type = Option<SmallLimitNumber>)]
    payment_attempts: Option<Whole<u8>>,
    #[schema(value_type = Option<TimesNumber>)]
    extensions: Option<Whole<u8>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<LimitNumber>)]
    max_per_user: Option<Option<Whole<u32>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DurationNumber>)]
    claim_ttl_max_ms: Option<Option<Whole<i64>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    prequeue_at: Option<Option<Whole<Settable>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    opens_at: Option<Option<Whole<Settable>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    closes_at: Option<Option<Whole<Settable>>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    starts_at: Option<Option<Whole<Settable>>>,
    #[schema(value_type = Option<FeesBody>)]
    fees: Option<Object<FeesBody>>,
    #[schema(value_type = Option<Vec<RefundRuleBody>>, max_items = 20)]
    refunds: Option<Vec<Object<RefundRuleBody>>>,
}

impl NewEvent {
    /// The default settings for this title and currency, and what is to be changed about them.
    #[must_use]
    pub fn split(self) -> (EventId, Settings, SettingsChange) {
        let settings = Settings::new(&self.title, self.currency);
        let change = SettingsChange {
            title: None,
            currency: None,
            room: self.room,
            hold_ttl_ms: self.hold_ttl_ms,
            hold_max_ms: self.hold_max_ms,
            payment_window_ms: self.payment_window_ms,
            payment_attempts: self.payment_attempts,
            extensions: self.extensions,
            max_per_user: self.max_per_user,
            claim_ttl_max_ms: self.claim_ttl_max_ms,
            prequeue_at: self.prequeue_at,
            opens_at: self.opens_at,
            closes_at: self.closes_at,
            starts_at: self.starts_at,
            fees: self.fees,
            refunds: self.refunds,
        };
        (self.event, settings, change)
    }
}

/// Changes to an event's settings; what is left out stays, `null` removes what is optional.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    /// The event's name for people.
    #[schema(value_type = Option<FreeText>)]
    title: Option<Box<str>>,
    /// The one currency all of the event's prices are in.
    #[schema(value_type = Option<CurrencyText>)]
    currency: Option<Currency>,
    /// The waiting room, member by member; `null` removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<RoomChange>)]
    room: Option<Option<Object<RoomChange>>>,
    /// How long a hold lasts.
    #[schema(value_type = Option<DurationNumber>)]
    hold_ttl_ms: Option<Whole<i64>>,
    /// How long a hold may live altogether.
    #[schema(value_type = Option<DurationNumber>)]
    hold_max_ms: Option<Whole<i64>>,
    /// How much time starting a payment gives at least.
    #[schema(value_type = Option<DurationNumber>)]
    payment_window_ms: Option<Whole<i64>>,
    /// Payments that may be started for one hold.
    #[schema(value_type = Option<SmallLimitNumber>)]
    payment_attempts: Option<Whole<u8>>,
    /// How often a visitor may extend a hold.
    #[schema(value_type = Option<TimesNumber>)]
    extensions: Option<Whole<u8>>,
    /// Units one user may hold, confirm and claim together; `null` is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<LimitNumber>)]
    max_per_user: Option<Option<Whole<u32>>>,
    /// How long a visitor's claim lasts at most, also one that names no time; `null` lets visitors
    /// claim for good.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<DurationNumber>)]
    claim_ttl_max_ms: Option<Option<Whole<i64>>>,
    /// When the prequeue starts by itself.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    prequeue_at: Option<Option<Whole<Settable>>>,
    /// When the sale opens by itself.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    opens_at: Option<Option<Whole<Settable>>>,
    /// When the sale closes by itself.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    closes_at: Option<Option<Whole<Settable>>>,
    /// When the event itself begins; refunds count the days before it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    starts_at: Option<Option<Whole<Settable>>>,
    /// What a booking costs beside its units.
    #[schema(value_type = Option<FeesBody>)]
    fees: Option<Object<FeesBody>>,
    /// What a buyer gets back who cancels; without a rule that applies, buyers cannot cancel.
    #[schema(value_type = Option<Vec<RefundRuleBody>>, max_items = 20)]
    refunds: Option<Vec<Object<RefundRuleBody>>>,
}

impl SettingsChange {
    /// Changes of the waiting room alone.
    #[must_use]
    pub fn of_room(change: RoomChange) -> Self {
        Self { room: Some(Some(Object(change))), ..Self::nothing() }
    }

    /// All stays as it is.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            title: None,
            currency: None,
            room: None,
            hold_ttl_ms: None,
            hold_max_ms: None,
            payment_window_ms: None,
            payment_attempts: None,
            extensions: None,
            max_per_user: None,
            claim_ttl_max_ms: None,
            prequeue_at: None,
            opens_at: None,
            closes_at: None,
            starts_at: None,
            fees: None,
            refunds: None,
        }
    }

    /// Whether a seed must be drawn for this.
    #[must_use]
    pub fn wants_new_draw(&self, settings: &Settings) -> bool {
        match &self.room {
            Some(Some(Object(room))) => room.wants_new_draw(settings.room.as_ref()),
            Some(None) | None => false,
        }
    }

    /// Applies the changes; `seed_hash` is there if [`Self::wants_new_draw`] said so.
    pub fn apply(self, settings: &mut Settings, seed_hash: Option<Digest>) {
        set(&mut settings.title, self.title);
        set(&mut settings.currency, self.currency);
        match self.room {
            None => {}
            Some(None) => settings.room = None,
            Some(Some(Object(change))) => {
                change.apply(settings.room.get_or_insert_default(), seed_hash);
            }
        }
        set(&mut settings.hold_ttl_ms, whole(self.hold_ttl_ms));
        set(&mut settings.hold_max_ms, whole(self.hold_max_ms));
        set(&mut settings.payment_window_ms, whole(self.payment_window_ms));
        set(&mut settings.payment_attempts, whole(self.payment_attempts));
        set(&mut settings.extensions, whole(self.extensions));
        set(&mut settings.max_per_user, self.max_per_user.map(whole));
        set(&mut settings.claim_ttl_max_ms, self.claim_ttl_max_ms.map(whole));
        set(&mut settings.prequeue_at, self.prequeue_at.map(time));
        set(&mut settings.opens_at, self.opens_at.map(time));
        set(&mut settings.closes_at, self.closes_at.map(time));
        set(&mut settings.starts_at, self.starts_at.map(time));
        set(&mut settings.fees, self.fees.map(|Object(fees)| fees.fees()));
        set(&mut settings.refunds, self.refunds.map(RefundRuleBody::rules));
    }
}

fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

fn whole<T>(number: Option<Whole<T>>) -> Option<T> {
    number.map(|number| number.0)
}

fn time(at: Option<Whole<Settable>>) -> Option<Time> {
    whole(at).map(|Settable(at)| at)
}

/// Tells a member that is `null` (`Some(None)`) from one that is left out (`None`, by `default`).
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
