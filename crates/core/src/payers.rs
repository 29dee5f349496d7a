//! Payers: those who are known by an e-mail address or a card, and how many units each pays for.

use crate::arena::Idx;
use crate::ids::PayerId;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

/// What a payer is known by. Each has a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PayerBy {
    /// The e-mail address that was given with the payment.
    Email,
    /// The card, as the gateway recognises it.
    Card,
}

impl PayerBy {
    /// Every kind there is.
    pub const ALL: [Self; 2] = [Self::Email, Self::Card];

    /// What it is called in a sentence.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Email => "e-mail address",
            Self::Card => "card",
        }
    }
}

/// Who pays for one booking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPayers {
    /// By their e-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<PayerId>,
    /// By their card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<PayerId>,
}

impl NamedPayers {
    /// Whether nobody is named.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// The one who is known by this.
    #[must_use]
    pub fn by(&self, by: PayerBy) -> Option<PayerId> {
        match by {
            PayerBy::Email => self.email,
            PayerBy::Card => self.card,
        }
    }

    /// All who are named.
    pub fn iter(&self) -> impl Iterator<Item = (PayerBy, PayerId)> + use<> {
        let payers = *self;
        PayerBy::ALL.into_iter().filter_map(move |by| Some((by, payers.by(by)?)))
    }

    fn replace(&mut self, by: PayerBy, payer: PayerId) -> Option<PayerId> {
        match by {
            PayerBy::Email => self.email.replace(payer),
            PayerBy::Card => self.card.replace(payer),
        }
    }
}

/// The payers of one event; only bookings whose payer is named, and payers who have units, are in it.
#[derive(Debug, Default)]
pub(crate) struct Payers {
    of_booking: HashMap<Idx, NamedPayers, foldhash::fast::FixedState>,
    units: HashMap<(PayerBy, PayerId), u32, foldhash::fast::FixedState>,
}

impl Payers {
    /// Whether anybody is named for any booking.
    pub(crate) fn has_any(&self) -> bool {
        !self.of_booking.is_empty()
    }

    /// Who pays for a booking.
    pub(crate) fn of(&self, booking: Idx) -> NamedPayers {
        self.of_booking.get(&booking).copied().unwrap_or_default()
    }

    /// How many units the bookings have that a payer is named for.
    pub(crate) fn units_of(&self, by: PayerBy, payer: PayerId) -> u32 {
        self.units.get(&(by, payer)).copied().unwrap_or(0)
    }

    /// Bookings with a payer.
    pub(crate) fn bookings(&self) -> usize {
        self.of_booking.len()
    }

    /// Payers with units.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    /// Names a payer for a booking that has so many units now, in place of the one before.
    pub(crate) fn name(&mut self, booking: Idx, units: u32, by: PayerBy, payer: PayerId) {
        let before = self.of_booking.entry(booking).or_default().replace(by, payer);
        if let Some(before) = before {
            self.take(by, before, units);
        }
        self.add(by, payer, units);
    }

    /// Follows a booking of so many units that had them before or not, and has them now or not.
    pub(crate) fn count(&mut self, booking: Idx, units: u32, [before, now]: [bool; 2]) {
        for (by, payer) in self.of(booking).iter() {
            match (before, now) {
                (false, true) => self.add(by, payer, units),
                (true, false) => self.take(by, payer, units),
                (true, true) | (false, false) => {}
            }
        }
    }

    /// Forgets who paid for a booking; it has no units any more.
    pub(crate) fn forget(&mut self, booking: Idx) {
        self.of_booking.remove(&booking);
    }

    fn add(&mut self, by: PayerBy, payer: PayerId, more: u32) {
        if more > 0 {
            *self.units.entry((by, payer)).or_default() += more;
        }
    }

    fn take(&mut self, by: PayerBy, payer: PayerId, fewer: u32) {
        if fewer == 0 {
            return;
        }
        let units = self.units.get_mut(&(by, payer)).expect("who gives back has units");
        *units = units.checked_sub(fewer).expect("payers give back only what they have");
        if *units == 0 {
            self.units.remove(&(by, payer));
        }
    }
}
