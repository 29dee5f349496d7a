//! What each user has in an event, counted from a snapshot's rows.

use super::layout::Texts;
use super::records::UserText;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, PoolId, UserId};
use onrush_core::question::BookingsOf;
use onrush_core::snapshot::{HoldRow, PlaceRow};
use onrush_core::view::{ClaimState, ClaimView};
use onrush_core::{Event, Time};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Counts a booking's units for its payers, by what they are called in their hash.
pub(super) fn count_payers(row: &HoldRow, units_of: &mut BTreeMap<String, u64>) {
    if row.state.has_units() {
        for (by, payer) in row.payers.iter() {
            let payer = format!("{by}:{payer}");
            *units_of.entry(payer).or_default() += u64::from(row.terms.lines.units());
        }
    }
}

/// What a user has.
#[derive(Default)]
pub(super) struct OfUser {
    pub(super) units: u64,
    pub(super) live_holds: u32,
    pub(super) places: Vec<String>,
    pub(super) bookings: Vec<BookingId>,
    /// Bookings and claims that wait to be forgotten.
    pub(super) ended: u32,
    /// Units of live claims, by pool.
    pub(super) claimed: BTreeMap<PoolId, u64>,
}

#[derive(Default)]
pub(super) struct Holdings {
    pub(super) of_user: HashMap<UserId, OfUser>,
    pub(super) inside: HashSet<UserId>,
}

impl Holdings {
    pub(super) fn of(&mut self, user: &UserId) -> &mut OfUser {
        self.of_user.entry(user.clone()).or_default()
    }

    pub(super) fn count_hold(&mut self, row: &HoldRow) {
        let of = self.of(&row.terms.user);
        of.bookings.push(row.terms.booking.clone());
        let live = row.state.until().is_some();
        of.live_holds += u32::from(live);
        of.ended += u32::from(row.state.has_ended());
        if live || matches!(row.state, HoldState::Confirmed { .. }) {
            of.units += u64::from(row.terms.lines.units());
        }
    }

    pub(super) fn count_claim(&mut self, claim: &ClaimView) {
        match (&claim.user, claim.state) {
            (Some(user), ClaimState::Claimed { .. }) => {
                let (of, units) = (self.of(user), claim.amount.unsigned_abs());
                of.units += units;
                *of.claimed.entry(claim.pool.clone()).or_default() += units;
            }
            (Some(user), ClaimState::Returned { .. } | ClaimState::Expired { .. }) => {
                self.of(user).ended += 1;
            }
            (Some(_), ClaimState::Adjusted { .. }) | (None, _) => {}
        }
    }

    pub(super) fn places(&mut self, row: &PlaceRow) {
        let place = format!("{}:{}", row.place, row.number);
        self.of(&row.user).places.push(place);
    }

    pub(super) fn into_texts(self, event: &Event, at: Time) -> Texts {
        let texts = self.of_user.into_iter().map(|(user, mut of)| {
            if of.bookings.len() > 1 {
                // Bookings of one millisecond stand in the order they were made, which only the
                // event itself tells.
                let all = BookingsOf { user: user.clone(), after: None, limit: u32::MAX };
                if let Ok(views) = event.ask(at, all) {
                    of.bookings = views.iter().map(|view| view.terms.booking.clone()).collect();
                }
            }
            let bookings: Vec<_> = of.bookings.iter().map(BookingId::as_str).collect();
            let claimed = of.claimed.iter().map(|(pool, units)| format!("{pool}:{units}"));
            let claimed = claimed.collect::<Vec<_>>().join(",");
            let counts_ended = !bookings.is_empty() || of.ended > 0;
            let ended = if counts_ended { of.ended.to_string() } else { String::new() };
            let text = UserText {
                units: of.units.to_string(),
                places: of.places.join(","),
                bookings: bookings.join(","),
                more: if claimed.is_empty() { ended } else { format!("{ended}|{claimed}") },
            };
            (user.to_string(), text.text())
        });
        texts.filter(|(_, text)| text != "0||").collect()
    }
}
