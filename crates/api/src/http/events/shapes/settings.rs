//! An event's settings, as organisers read and write them.

use super::change::{given, set, whole};
use super::limits::UserLimitBody;
use super::money::{FeesBody, RefundRuleBody, TaxBody};
use super::room::RoomChange;
use super::times::check_unit;
use super::was::SettingsWas;
use crate::http::problem::Problem;
use crate::json::ids::{
    CurrencyText, DurationNumber, EventIdText, FreeText, LATEST_MS, LimitNumber, PayerLimitNumber,
    SettableTime, SmallLimitNumber, TimesNumber,
};
use crate::json::object::Object;
use crate::json::sale::SingleSeatsName;
use crate::json::whole::Whole;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::money::Currency;
use onrush_core::settings::{Digest, Settings, SingleSeats};
use serde::Deserialize;
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

macro_rules! settings {
    ($($(#[$about:meta])* $name:ident: $kind:ty,)+) => {
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
            $($(#[$about])* $name: $kind,)+
        }

        /// Changes to an event's settings; what is left out stays, `null` removes what is optional.
        #[derive(Default, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct SettingsChange {
            /// The event's name for people.
            #[schema(value_type = Option<FreeText>)]
            title: Option<Box<str>>,
            /// The one currency all of the event's prices are in.
            #[schema(value_type = Option<CurrencyText>)]
            currency: Option<Currency>,
            /// What settings that are replaced as a whole were when they were read. Where one that
            /// is to be another is another already, nothing is changed.
            #[schema(value_type = Option<SettingsWas>)]
            was: Option<Object<SettingsWas>>,
            $($(#[$about])* $name: $kind,)+
        }

        impl NewEvent {
            /// The default settings for this title and currency, and what is to be changed about them.
            #[must_use]
            pub fn split(self) -> (EventId, Settings, SettingsChange) {
                let settings = Settings::new(&self.title, self.currency);
                let change =
                    SettingsChange { title: None, currency: None, was: None, $($name: self.$name),+ };
                (self.event, settings, change)
            }
        }
    };
}

settings! {
    /// The waiting room, member by member; without one, or with `null`, anyone holds at once. `{}` is
    /// one with the defaults.
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
    /// The same of pools, categories and their ticket types, in the order they are checked.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<UserLimitBody>>, max_items = 100)]
    limits: Option<Option<Vec<Object<UserLimitBody>>>>,
    /// Units that bookings paid for under one e-mail address may have together; `null` is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<PayerLimitNumber>)]
    max_per_email: Option<Option<Whole<u32>>>,
    /// The same of one card, as the payment gateway recognises it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<PayerLimitNumber>)]
    max_per_card: Option<Option<Whole<u32>>>,
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
    /// When the sale closes by itself, for good: a time to come, unless it stays as it was.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    closes_at: Option<Option<Whole<Settable>>>,
    /// When the event itself begins; refunds count the days before it, and what is confirmed keeps
    /// the event from being archived until then.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SettableTime>)]
    starts_at: Option<Option<Whole<Settable>>>,
    /// What a booking costs beside its units.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<FeesBody>)]
    fees: Option<Option<Object<FeesBody>>>,
    /// The tax that prices and fees include; `null` tells of none. It is fixed once there are prices.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<TaxBody>)]
    tax: Option<Option<Object<TaxBody>>>,
    /// What a buyer gets back who cancels; without a rule that applies, buyers cannot cancel.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<RefundRuleBody>>, max_items = 20)]
    refunds: Option<Option<Vec<Object<RefundRuleBody>>>>,
    /// Whether buyers may choose seats that leave one free seat alone.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<SingleSeatsName>)]
    single_seats: Option<Option<SingleSeats>>,
}

impl SettingsChange {
    /// Changes of the waiting room alone.
    #[must_use]
    pub fn of_room(change: RoomChange) -> Self {
        Self { room: Some(Some(Object(change))), ..Self::default() }
    }

    /// Whether a seed must be drawn for this.
    #[must_use]
    pub fn wants_new_draw(&self, settings: &Settings) -> bool {
        match &self.room {
            Some(Some(Object(room))) => room.wants_new_draw(settings.room.as_ref()),
            Some(None) | None => false,
        }
    }

    /// Takes what settings were when they were read, as far as that is told.
    #[must_use]
    pub fn take_was(&mut self) -> SettingsWas {
        self.was.take().unwrap_or_default().0
    }

    /// Checks that no time is in seconds.
    ///
    /// # Errors
    /// `INVALID_SETTINGS` about the first one that is.
    pub fn check_times(&self) -> Result<(), Problem> {
        let times = [
            ("prequeue_at", self.prequeue_at),
            ("opens_at", self.opens_at),
            ("closes_at", self.closes_at),
            ("starts_at", self.starts_at),
        ];
        let mut set = times.into_iter().filter_map(|(field, at)| Some((field, time(at?)?)));
        set.try_for_each(|(field, at)| check_unit(field, at))
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
        let limits = self.limits.map(Option::unwrap_or_default);
        set(&mut settings.limits, limits.map(UserLimitBody::limits));
        set(&mut settings.max_per_email, self.max_per_email.map(whole));
        set(&mut settings.max_per_card, self.max_per_card.map(whole));
        set(&mut settings.claim_ttl_max_ms, self.claim_ttl_max_ms.map(whole));
        set(&mut settings.prequeue_at, self.prequeue_at.map(time));
        set(&mut settings.opens_at, self.opens_at.map(time));
        set(&mut settings.closes_at, self.closes_at.map(time));
        set(&mut settings.starts_at, self.starts_at.map(time));
        let fees = self.fees.map(Option::unwrap_or_default);
        set(&mut settings.fees, fees.map(|Object(fees)| fees.fees()));
        set(&mut settings.tax, self.tax.map(|tax| tax.map(|Object(tax)| tax.tax())));
        let refunds = self.refunds.map(Option::unwrap_or_default);
        set(&mut settings.refunds, refunds.map(RefundRuleBody::rules));
        set(&mut settings.single_seats, self.single_seats.map(Option::unwrap_or_default));
    }
}

fn time(at: Option<Whole<Settable>>) -> Option<Time> {
    whole(at).map(|Settable(at)| at)
}
