//! What an organiser sets for an event.

use crate::gaps::Gaps;
use crate::hold::HoldTerms;
use crate::limits::{
    DEFAULT_CLAIM_TTL_MAX_MS, DEFAULT_MAX_PER_USER, MAX_AMOUNT_STEP_MINOR, MAX_FEE_BP,
    MAX_PER_PAYER, MAX_PRICE_MINOR, MAX_REFUND_RULES, MAX_TAX_BP, fits_name, is_duration,
};
use crate::money::{Currency, Rounding, share_minor};
use crate::payers::PayerBy;
use crate::refusal::{Field, Refusal};
use crate::tax::{Tax, Taxed};
use crate::time::Time;
use crate::user_limits::{self, UserLimit};
use serde::{Deserialize, Serialize};

pub use crate::digest::Digest;
pub use crate::room_settings::{Order, RoomSettings};

/// An event's settings. All durations are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The event's name for people.
    pub title: Box<str>,
    /// The one currency all of the event's prices are in.
    pub currency: Currency,
    /// The waiting room; `None` lets anyone hold at once (a flash sale).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomSettings>,
    /// How long a hold lasts.
    pub hold_ttl_ms: i64,
    /// How long a hold may live altogether, however often it is extended or paid for in vain.
    pub hold_max_ms: i64,
    /// How much time starting a payment gives at least.
    pub payment_window_ms: i64,
    /// Payments that may be started for one hold.
    pub payment_attempts: u8,
    /// How often a visitor may extend a hold.
    pub extensions: u8,
    /// Units one user may hold, confirm and claim together; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_user: Option<u32>,
    /// The same of pools, categories and their ticket types, in the order they are checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<UserLimit>,
    /// Units that bookings paid for under one e-mail address may have together; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_email: Option<u32>,
    /// The same of one card, as the gateway recognises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_per_card: Option<u32>,
    /// How long a visitor's claim lasts at most, also one that names no time; `None` lets visitors
    /// claim for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_ttl_max_ms: Option<i64>,
    /// When the prequeue starts by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prequeue_at: Option<Time>,
    /// When the sale opens by itself (an event with a draw: when its prequeue closes by itself).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Time>,
    /// When the sale closes by itself, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Time>,
    /// When the event itself begins; refunds count the days before it, and what is confirmed keeps
    /// the event from being archived until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Time>,
    /// What a booking costs beside its units.
    #[serde(default, skip_serializing_if = "Fees::are_none")]
    pub fees: Fees,
    /// The tax that prices and fees include; `None` tells of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Tax>,
    /// What a buyer gets back who cancels; without a rule that applies, buyers cannot cancel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refunds: Vec<RefundRule>,
    /// What all amounts must be multiples of for the gateway to express them, in minor units: 10
    /// where three decimals end in 0. The currency's own steps count besides, see
    /// [`Self::step_minor`].
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub amount_step_minor: i64,
    /// Whether buyers may choose seats that leave one free seat alone.
    #[serde(default, skip_serializing_if = "SingleSeats::are_allowed")]
    pub single_seats: SingleSeats,
}

fn one() -> i64 {
    1
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(number: &i64) -> bool {
    *number == 1
}

/// What happens to seats whose choice leaves one free seat alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::VariantArray)]
pub enum SingleSeats {
    /// They are held.
    #[default]
    Allow,
    /// They are refused where as many seats side by side of their category leave nobody alone.
    Refuse,
}

impl SingleSeats {
    /// Serde asks for a reference.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn are_allowed(&self) -> bool {
        *self == Self::Allow
    }
}

/// What a booking costs beside its units. A booking free of charge has no fees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fees {
    /// For each booking, in minor units.
    #[serde(default)]
    pub fixed_minor: i64,
    /// Of the units' price, in basis points: 250 is 2.5 %.
    #[serde(default)]
    pub percent_bp: u32,
}

impl Fees {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// The fees on units of this price, in minor units; half a minor unit counts as one.
    #[must_use]
    pub fn on_minor(&self, price_minor: i64) -> i64 {
        self.on_minor_in_steps(price_minor, 1)
    }

    /// The same with a percentage in whole steps; half a step counts as one.
    #[must_use]
    pub fn on_minor_in_steps(&self, price_minor: i64, step_minor: i64) -> i64 {
        if price_minor == 0 {
            return 0;
        }
        self.fixed_minor + self.share_minor(price_minor, step_minor)
    }

    /// The percentage alone, in whole steps.
    fn share_minor(&self, price_minor: i64, step_minor: i64) -> i64 {
        share_minor(price_minor, (self.percent_bp, 10_000), step_minor, Rounding::Nearest)
    }
}

/// What a buyer gets back who cancels early enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundRule {
    /// Full days before the event begins, at least.
    pub days_before: u16,
    /// How much of the units' price, in percent, rounded up to what can be paid; fees are kept.
    pub percent: u8,
}

impl RefundRule {
    /// The last moment at which it counts, for an event that begins at `starts_at`.
    #[must_use]
    pub fn until(&self, starts_at: Time) -> Time {
        const DAY_MS: i64 = 24 * 3_600_000;
        starts_at.plus_ms(-DAY_MS * i64::from(self.days_before))
    }
}

/// What a buyer gets back who cancels at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefundNow {
    /// Of the units' price.
    pub percent: u8,
    /// What goes back, in minor units.
    pub refund_minor: i64,
    /// What is kept of what was paid, in minor units.
    pub kept_minor: i64,
    /// The last moment at which that is so.
    pub until: Time,
}

impl Settings {
    /// Settings with the defaults, without a waiting room.
    #[must_use]
    pub fn new(title: &str, currency: Currency) -> Self {
        Self {
            title: title.into(),
            currency,
            room: None,
            hold_ttl_ms: 600_000,
            hold_max_ms: 1_800_000,
            payment_window_ms: 600_000,
            payment_attempts: 3,
            extensions: 1,
            max_per_user: Some(DEFAULT_MAX_PER_USER),
            limits: Vec::new(),
            max_per_email: None,
            max_per_card: None,
            claim_ttl_max_ms: Some(DEFAULT_CLAIM_TTL_MAX_MS),
            prequeue_at: None,
            opens_at: None,
            closes_at: None,
            starts_at: None,
            fees: Fees::default(),
            tax: None,
            refunds: Vec::new(),
            amount_step_minor: 1,
            single_seats: SingleSeats::Allow,
        }
    }

    /// Units that bookings of one payer may have together; `None` is no limit.
    #[must_use]
    pub fn max_per(&self, by: PayerBy) -> Option<u32> {
        match by {
            PayerBy::Email => self.max_per_email,
            PayerBy::Card => self.max_per_card,
        }
    }

    /// What all amounts are multiples of, in minor units: what the gateway can express and the currency has.
    #[must_use]
    pub fn step_minor(&self) -> i64 {
        self.currency.step_minor().max(self.amount_step_minor)
    }

    /// What a unit of this price costs with the percentage fee on it, in minor units; the fixed fee
    /// of a booking comes on top once, unless all of it is free of charge.
    ///
    /// A booking of one unit costs that exactly. One of several may differ by half a step for each,
    /// as its percentage is rounded once.
    #[must_use]
    pub fn all_in_minor(&self, price_minor: i64) -> i64 {
        price_minor + self.fees.share_minor(price_minor, self.step_minor())
    }

    /// The tax in an amount of this event; `None` where none is told.
    #[must_use]
    pub fn taxed(&self, gross_minor: i64) -> Option<Taxed> {
        self.tax.as_ref().map(|tax| tax.split(gross_minor, self.currency))
    }

    /// The refund of a buyer who cancels at `at`, in percent of the units' price; `None` if they
    /// cannot.
    #[must_use]
    pub fn refund_percent(&self, at: Time) -> Option<u8> {
        self.refund_rule(at).map(|(rule, _)| rule.percent)
    }

    /// The rule that counts at `at`, and until when it does.
    fn refund_rule(&self, at: Time) -> Option<(RefundRule, Time)> {
        let starts_at = self.starts_at?;
        let applies = |rule: &&RefundRule| at <= rule.until(starts_at);
        let rule = self.refunds.iter().filter(applies).max_by_key(|rule| rule.days_before)?;
        Some((*rule, rule.until(starts_at)))
    }

    /// When a hold ends at the latest, extended and paid for as often as may be, at an event that was
    /// away as `gaps` tell.
    #[must_use]
    pub fn latest_until(&self, terms: &HoldTerms, gaps: &Gaps) -> Time {
        terms.created_at.plus_ms(self.hold_max_ms).plus_ms(gaps.since_ms(terms.created_at))
    }

    /// What the buyer of a confirmed booking gets back who cancels it at `at`; `None` if they
    /// cannot.
    #[must_use]
    pub fn refund_now(&self, terms: &HoldTerms, at: Time) -> Option<RefundNow> {
        let (RefundRule { percent, .. }, until) = self.refund_rule(at)?;
        let amount_minor = terms.amount_minor;
        let price_minor = amount_minor - terms.fee_minor;
        let part = (u32::from(percent), 100);
        let share_minor = share_minor(price_minor, part, self.step_minor(), Rounding::Up);
        // An amount that is no multiple of a step was paid where steps do not count.
        let refund_minor = share_minor.min(amount_minor);
        Some(RefundNow { percent, refund_minor, kept_minor: amount_minor - refund_minor, until })
    }

    /// The commitment of an event whose prequeue is drawn.
    #[must_use]
    pub fn seed_hash(&self) -> Option<Digest> {
        match self.room.as_ref()?.order {
            Order::Fifo => None,
            Order::Draw { seed_hash } => Some(seed_hash),
        }
    }

    /// Which public value its draw was promised; `None` if none was.
    #[must_use]
    pub fn public_value_source(&self) -> Option<&str> {
        self.room.as_ref()?.public_value_source.as_deref()
    }

    /// What is wrong with these settings by themselves or together; `None` if nothing is. That a new
    /// closing time is to come is for whoever knows the time.
    #[must_use]
    pub fn complaint(&self) -> Option<Complaint> {
        if self.title.is_empty() || !fits_name(&self.title) {
            return wrong(
                "title",
                "title: use 1 to 500 characters, none that turns the text around",
            );
        }
        if !is_duration(self.hold_ttl_ms) {
            return wrong("hold_ttl_ms", "hold_ttl_ms: use 1 ms to 366 days");
        }
        if !is_duration(self.hold_max_ms) {
            return wrong("hold_max_ms", "hold_max_ms: use 1 ms to 366 days");
        }
        if !is_duration(self.payment_window_ms) {
            return wrong("payment_window_ms", "payment_window_ms: use 1 ms to 366 days");
        }
        if self.payment_attempts == 0 {
            return wrong("payment_attempts", "payment_attempts: use at least 1");
        }
        if !(0..=MAX_PRICE_MINOR).contains(&self.fees.fixed_minor) {
            return wrong("fees.fixed_minor", "fees.fixed_minor: use 0 to 1000000000000");
        }
        if self.fees.percent_bp > MAX_FEE_BP {
            return wrong("fees.percent_bp", "fees.percent_bp: use 0 to 10000 (which is 100 %)");
        }
        if self.tax.as_ref().is_some_and(|tax| !tax.has_name()) {
            return wrong("tax.name", "tax.name: use 1 to 40 characters on one line");
        }
        if self.tax.as_ref().is_some_and(|tax| tax.rate_bp > MAX_TAX_BP) {
            return wrong("tax.rate_bp", "tax.rate_bp: use 0 to 10000 (which is 100 %)");
        }
        if !(1..=MAX_AMOUNT_STEP_MINOR).contains(&self.amount_step_minor) {
            return wrong("amount_step_minor", "amount_step_minor: use 1 to 10000");
        }
        if self.refunds.len() > MAX_REFUND_RULES {
            return wrong("refunds", "refunds: use at most 20 rules");
        }
        if let Some(index) = self.refunds.iter().position(|rule| rule.percent > 100) {
            let field = format!("refunds[{index}].percent").into();
            return Some(Complaint { field, why: "refunds: use 0 to 100 percent" });
        }
        if self.max_per_user == Some(0) {
            return wrong("max_per_user", "max_per_user: use at least 1, or null for no limit");
        }
        if let Some((field, why)) = user_limits::complaint(&self.limits) {
            return Some(Complaint { field, why });
        }
        let fits = |limit: Option<u32>| limit.is_none_or(|it| (1..=MAX_PER_PAYER).contains(&it));
        if !fits(self.max_per_email) {
            return wrong("max_per_email", "max_per_email: use 1 to 1000, or null for no limit");
        }
        if !fits(self.max_per_card) {
            return wrong("max_per_card", "max_per_card: use 1 to 1000, or null for no limit");
        }
        if self.claim_ttl_max_ms.is_some_and(|ttl_ms| !is_duration(ttl_ms)) {
            let why = "claim_ttl_max_ms: use 1 ms to 366 days, or null for claims for good";
            return wrong("claim_ttl_max_ms", why);
        }
        if let Some((field, why)) = self.room.as_ref().and_then(RoomSettings::complaint) {
            return wrong(field, why);
        }
        self.contradiction()
    }

    /// Which of these settings do not go together although each is in its range; `None` if they do.
    #[must_use]
    pub fn contradiction(&self) -> Option<Complaint> {
        let step_minor = self.currency.step_minor();
        if self.amount_step_minor != 1 && self.amount_step_minor % step_minor != 0 {
            let why = "amount_step_minor: use a multiple of the currency's smallest amount";
            return wrong("amount_step_minor", why);
        }
        if self.hold_max_ms < self.hold_ttl_ms {
            return wrong("hold_max_ms", "hold_max_ms: use at least hold_ttl_ms");
        }
        if !self.refunds.is_empty() && self.starts_at.is_none() {
            let why = "refunds: they count the days before starts_at, so set that too";
            return wrong("refunds", why);
        }
        let ordered = |first: Option<Time>, then: Option<Time>| {
            first.zip(then).is_none_or(|(first, then)| first < then)
        };
        let why = "prequeue_at, opens_at and closes_at: use times in this order";
        if !ordered(self.prequeue_at, self.opens_at) {
            return wrong("opens_at", why);
        }
        if !ordered(self.opens_at, self.closes_at) || !ordered(self.prequeue_at, self.closes_at) {
            return wrong("closes_at", why);
        }
        let drawn_places = match &self.room {
            Some(RoomSettings { order: Order::Draw { .. }, places_per_user, .. }) => {
                *places_per_user
            }
            Some(RoomSettings { order: Order::Fifo, .. }) | None => 1,
        };
        if drawn_places != 1 {
            let why = "room.places_per_user: a draw is fair only with 1 place per user";
            return wrong("room.places_per_user", why);
        }
        if self.public_value_source().is_some() && self.seed_hash().is_none() {
            let why = "room.public_value_source: only a draw takes a public value";
            return wrong("room.public_value_source", why);
        }
        None
    }
}

/// What is wrong with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Which setting.
    pub field: Field,
    /// A sentence for the organiser, with what to use.
    pub why: &'static str,
}

impl From<Complaint> for Refusal {
    fn from(Complaint { field, why }: Complaint) -> Self {
        Self::InvalidSettings { field: Some(field), why: why.into() }
    }
}

fn wrong(field: &'static str, why: &'static str) -> Option<Complaint> {
    Some(Complaint { field: field.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_DURATION_MS, MAX_QUEUE_SIZE};

    fn good() -> Settings {
        let room = RoomSettings {
            order: Order::Draw { seed_hash: Digest([0; 32]) },
            ..RoomSettings::default()
        };
        Settings {
            room: Some(room),
            starts_at: Some(Time(1_000)),
            refunds: vec![RefundRule { days_before: 1, percent: 50 }; 2],
            ..Settings::new("Gala", "EUR".parse().unwrap())
        }
    }

    #[test]
    fn every_complaint_names_its_setting() {
        type Spoil = fn(&mut Settings, &mut RoomSettings);
        let cases: [(&str, Spoil); 40] = [
            ("title", |it, _| it.title = "".into()),
            ("hold_ttl_ms", |it, _| it.hold_ttl_ms = 0),
            ("hold_max_ms", |it, _| it.hold_max_ms = MAX_DURATION_MS + 1),
            ("hold_max_ms", |it, _| it.hold_max_ms = it.hold_ttl_ms - 1),
            ("payment_window_ms", |it, _| it.payment_window_ms = -1),
            ("payment_attempts", |it, _| it.payment_attempts = 0),
            ("fees.fixed_minor", |it, _| it.fees.fixed_minor = -1),
            ("fees.percent_bp", |it, _| it.fees.percent_bp = MAX_FEE_BP + 1),
            ("tax.name", |it, _| it.tax = Some(Tax { name: " ".into(), rate_bp: 700 })),
            ("tax.name", |it, _| it.tax = Some(Tax { name: "x".repeat(41).into(), rate_bp: 700 })),
            ("tax.rate_bp", |it, _| it.tax = Some(Tax { name: "VAT".into(), rate_bp: 10_001 })),
            ("amount_step_minor", |it, _| it.amount_step_minor = 0),
            ("amount_step_minor", |it, _| {
                it.currency = "MGA".parse().unwrap();
                it.amount_step_minor = 150;
            }),
            ("refunds", |it, _| it.refunds = vec![it.refunds[0]; MAX_REFUND_RULES + 1]),
            ("refunds", |it, _| it.starts_at = None),
            ("refunds[1].percent", |it, _| it.refunds[1].percent = 101),
            ("max_per_user", |it, _| it.max_per_user = Some(0)),
            ("max_per_email", |it, _| it.max_per_email = Some(0)),
            ("max_per_email", |it, _| it.max_per_email = Some(MAX_PER_PAYER + 1)),
            ("max_per_card", |it, _| it.max_per_card = Some(0)),
            ("max_per_card", |it, _| it.max_per_card = Some(MAX_PER_PAYER + 1)),
            ("claim_ttl_max_ms", |it, _| it.claim_ttl_max_ms = Some(0)),
            ("opens_at", |it, _| (it.prequeue_at, it.opens_at) = (Some(Time(2)), Some(Time(2)))),
            ("closes_at", |it, _| (it.opens_at, it.closes_at) = (Some(Time(2)), Some(Time(1)))),
            ("closes_at", |it, _| (it.prequeue_at, it.closes_at) = (Some(Time(2)), Some(Time(1)))),
            ("room.capacity", |_, room| room.capacity = 0),
            ("room.outflow_per_min", |_, room| room.outflow_per_min = Some(0)),
            ("room.session_ms", |_, room| room.session_ms = 0),
            ("room.place_ttl_ms", |_, room| room.place_ttl_ms = 0),
            ("room.arrive_ms", |_, room| room.arrive_ms = 0),
            ("room.max_queue_size", |_, room| room.max_queue_size = 0),
            ("room.max_queue_size", |_, room| room.max_queue_size = MAX_QUEUE_SIZE + 1),
            ("room.places_per_user", |_, room| room.places_per_user = 0),
            ("room.places_per_user", |_, room| room.places_per_user = 2),
            ("room.units_per_visitor", |_, room| room.units_per_visitor = 0),
            ("room.units_per_visitor", |_, room| room.units_per_visitor = 1_001),
            ("room.public_value_source", |_, room| room.public_value_source = Some("".into())),
            ("room.public_value_source", |_, room| {
                room.public_value_source = Some("é".repeat(501).into());
            }),
            ("room.public_value_source", |_, room| {
                room.public_value_source = Some("draw \u{202e}7".into());
            }),
            ("room.public_value_source", |_, room| {
                room.public_value_source = Some("the numbers of the lottery".into());
                room.order = Order::Fifo;
            }),
        ];
        assert_eq!(good().complaint(), None);
        for (field, spoil) in cases {
            let mut settings = good();
            let mut room = settings.room.clone().unwrap();
            spoil(&mut settings, &mut room);
            settings.room = Some(room);
            assert_eq!(settings.complaint().expect(field).field, field);
        }
    }
}
