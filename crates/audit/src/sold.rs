//! Bookings, as the journal has them in the end, and what a ledger that has followed it must have of
//! them.
//!
//! The ledger never removes a booking or a saga, whatever is erased or archived. So what it has
//! followed to its sale has a row there, but for three kinds: what is free of charge, of which it hears
//! only while the engine knows of it; what was in an archive file when an older ledger was put back;
//! and the later one of two holds under one id.

use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::booking::Booking;
use onrush_ledger::booking_of;

/// A booking, as the journal has it in the end.
pub(super) struct Sold {
    pub(super) amount_minor: i64,
    pub(super) state: State,
    /// The number of the decision that placed its hold.
    pub(super) placed: u64,
    /// The number of the decision that sold it, or took it back; 0 if none did.
    pub(super) decided: u64,
    /// When it was confirmed, if it was.
    pub(super) confirmed_at: Option<Time>,
    /// Whether its id was used for several holds, one after the other.
    pub(super) is_again: bool,
    /// Whether its history is in an archive file.
    pub(super) is_filed: bool,
    /// Whether the ledger has a row of it.
    pub(super) has_row: bool,
}

pub(super) enum State {
    /// Held, or ended without being confirmed.
    NotSold,
    Confirmed(Option<PaymentId>),
    Cancelled {
        payment: Option<PaymentId>,
        refund_minor: i64,
    },
}

impl Sold {
    /// A booking whose hold was placed by the decision `placed`.
    pub(super) const fn held(amount_minor: i64, placed: u64) -> Self {
        Self {
            amount_minor,
            state: State::NotSold,
            placed,
            decided: 0,
            confirmed_at: None,
            is_again: false,
            is_filed: false,
            has_row: false,
        }
    }

    /// What a ledger's row says otherwise. It has followed the journal as far as `followed`.
    pub(super) fn differs(&self, row: &Booking, followed: u64) -> Option<String> {
        let (status, _, refund_minor) = self.known_by(followed)?;
        // Its row is about what was held first, and stays cancelled once it was.
        if self.is_again {
            return None;
        }
        let Booking { status: has, amount_minor: costs, refund_minor: back, .. } = row;
        let amount_minor = self.amount_minor;
        if (*has, *costs, *back) != (status, amount_minor, refund_minor) {
            return Some(format!(
                "the journal says {status}, {amount_minor} minor units and {refund_minor} to go back; \
                 the ledger says {has}, {costs} and {back}"
            ));
        }
        // Rows of before that was kept have no time.
        let (decided_at, told) = (self.confirmed_at?, row.confirmed_at?);
        (decided_at != told).then(|| {
            format!(
                "the journal confirmed it at {}, and the ledger says that it was at {}",
                decided_at.0, told.0
            )
        })
    }

    /// What a ledger lacks that has followed the journal as far as `followed`.
    pub(super) fn lacking(
        &self,
        booking: &BookingId,
        has_saga: bool,
        followed: u64,
    ) -> Option<String> {
        let (status, payment, _) = self.known_by(followed)?;
        if self.amount_minor == 0 {
            return None;
        }
        if !self.has_row {
            return Some(format!("the journal says {status}, and the ledger has no such booking"));
        }
        // What was paid elsewhere has a name of another form, and what was held later no saga of its own.
        let ours = payment.filter(|id| booking_of(id).as_ref() == Some(booking))?;
        let is_lost = !has_saga && !self.is_again;
        is_lost.then(|| format!("it was paid for with {ours}, and the ledger has no saga of it"))
    }

    /// Its status, what paid for it and what is to go back, if it was sold by then.
    fn known_by(&self, followed: u64) -> Option<(HoldStatus, Option<&PaymentId>, i64)> {
        if self.decided > followed {
            return None;
        }
        match &self.state {
            State::NotSold => None,
            State::Confirmed(payment) => Some((HoldStatus::Confirmed, payment.as_ref(), 0)),
            State::Cancelled { payment, refund_minor } => {
                Some((HoldStatus::Cancelled, payment.as_ref(), *refund_minor))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::lines::Lines;

    const PRICE: i64 = 5_000;
    const FOLLOWED: u64 = 9;

    fn booking() -> BookingId {
        "e.00112233445566778899aabbccddeeff".parse().unwrap()
    }

    fn online() -> Option<PaymentId> {
        Some(format!("{}.000000000001", booking()).parse().unwrap())
    }

    fn sold(state: State) -> Sold {
        Sold { state, decided: FOLLOWED, has_row: true, ..Sold::held(PRICE, 7) }
    }

    fn cancelled() -> Sold {
        sold(State::Cancelled { payment: online(), refund_minor: 3_000 })
    }

    fn row(status: HoldStatus, amount_minor: i64, refund_minor: i64) -> Booking {
        Booking {
            booking: booking(),
            event: "e".parse().unwrap(),
            user: "u".parse().unwrap(),
            status,
            lines: Lines::default(),
            prices_minor: Vec::new(),
            types: None,
            amount_minor,
            fee_minor: 0,
            currency: "EUR".parse().unwrap(),
            payment: None,
            refund_minor,
            checked_in: 0,
            created_at: Time(1),
            confirmed_at: None,
            updated_at: Time(1),
        }
    }

    #[test]
    fn rows_that_say_otherwise_than_the_journal_are_found() {
        let confirmed = || sold(State::Confirmed(online()));
        let (is, was) = (HoldStatus::Confirmed, HoldStatus::Cancelled);
        for (sold, row, is_found) in [
            (confirmed(), row(is, PRICE, 0), false),
            (confirmed(), row(HoldStatus::Released, PRICE, 0), true),
            (confirmed(), row(was, PRICE, 0), true),
            (confirmed(), row(is, PRICE - 1, 0), true),
            (cancelled(), row(was, PRICE, 3_000), false),
            (cancelled(), row(was, PRICE, 2_999), true),
            (cancelled(), row(is, PRICE, 0), true),
            // What was not sold leaves whatever it leaves.
            (sold(State::NotSold), row(HoldStatus::Expired, PRICE, 0), false),
            // The ledger has not come so far.
            (Sold { decided: 10, ..confirmed() }, row(HoldStatus::Paying, PRICE, 0), false),
            // A key was used again after a day, for fewer units.
            (Sold { is_again: true, ..confirmed() }, row(is, 2 * PRICE, 0), false),
        ] {
            let found = sold.differs(&row, FOLLOWED);
            assert_eq!(found.is_some(), is_found, "{:?}: {found:?}", row.status);
        }
    }

    #[test]
    fn rows_that_were_confirmed_at_another_time_are_found_and_those_that_tell_none_are_not() {
        let confirmed = || Sold { confirmed_at: Some(Time(5)), ..sold(State::Confirmed(online())) };
        let taken_back = || Sold { confirmed_at: Some(Time(5)), ..cancelled() };
        let is = |told: Option<i64>| {
            let row = row(HoldStatus::Confirmed, PRICE, 0);
            Booking { confirmed_at: told.map(Time), ..row }
        };
        let was = |told: Option<i64>| {
            let row = row(HoldStatus::Cancelled, PRICE, 3_000);
            Booking { confirmed_at: told.map(Time), ..row }
        };
        for (sold, row, is_found) in [
            (confirmed(), is(Some(5)), false),
            (confirmed(), is(Some(6)), true),
            (confirmed(), is(None), false),
            (taken_back(), was(Some(5)), false),
            (taken_back(), was(Some(4)), true),
            (taken_back(), was(None), false),
            (Sold { decided: 10, ..confirmed() }, is(Some(6)), false),
            (Sold { is_again: true, ..taken_back() }, was(Some(6)), false),
        ] {
            let found = sold.differs(&row, FOLLOWED);
            assert_eq!(found.is_some(), is_found, "{:?}: {found:?}", row.confirmed_at);
        }
    }

    #[test]
    fn what_was_sold_and_is_not_in_the_ledger_is_found() {
        let till: Option<PaymentId> = Some("till-7".parse().unwrap());
        let lost = |sold: Sold| Sold { has_row: false, ..sold };
        let confirmed = || sold(State::Confirmed(online()));
        let (no_row, no_saga) = (Some("has no such booking"), Some("no saga of it"));
        for (sold, has_saga, said) in [
            (confirmed(), true, None),
            (confirmed(), false, no_saga),
            (cancelled(), false, no_saga),
            (lost(confirmed()), true, no_row),
            (lost(cancelled()), false, no_row),
            (lost(sold(State::Confirmed(till.clone()))), false, no_row),
            (sold(State::Confirmed(till)), false, None),
            (lost(sold(State::NotSold)), false, None),
            (Sold { decided: 10, ..lost(confirmed()) }, false, None),
            // Free of charge: the engine may have forgotten it before the ledger asked.
            (Sold { amount_minor: 0, ..lost(sold(State::Confirmed(None))) }, false, None),
        ] {
            let found = sold.lacking(&booking(), has_saga, FOLLOWED);
            match said {
                Some(said) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(said)), "{found:?}")
                }
                None => assert_eq!(found, None),
            }
        }
    }
}
