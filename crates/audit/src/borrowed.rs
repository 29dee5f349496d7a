//! Bookings that were sold with a payment online which is another booking's.

use super::sold::{Sold, State};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::booking_of;
use std::collections::HashMap;

/// The bookings that were sold with what may be another's payment, by that payment. The box office
/// may give such a number out: only a saga that has the payment tells them apart.
#[derive(Default)]
pub(super) struct Borrowed(HashMap<PaymentId, Vec<BookingId>>);

impl Borrowed {
    pub(super) fn among(bookings: &HashMap<BookingId, Sold>) -> Self {
        let mut borrowed = HashMap::<_, Vec<_>>::new();
        for (booking, sold) in bookings {
            let payment = match &sold.state {
                State::NotSold => None,
                State::Confirmed(payment) | State::Cancelled { payment, .. } => payment.as_ref(),
            };
            let others = payment.filter(|id| booking_of(id).is_some_and(|of| of != *booking));
            if let Some(payment) = others {
                borrowed.entry(payment.clone()).or_default().push(booking.clone());
            }
        }
        Self(borrowed)
    }

    /// What is wrong with those that were sold with a payment of this saga's.
    pub(super) fn found(&mut self, of: &BookingId, payment: &PaymentId) -> Vec<String> {
        let mut bookings = self.0.remove(payment).unwrap_or_default();
        bookings.sort();
        let said = |booking| {
            format!("booking {booking}: it was sold with payment {payment}, which is of {of}")
        };
        bookings.into_iter().map(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sold(state: State) -> Sold {
        Sold { state, ..Sold::held(5_000, 7) }
    }

    #[test]
    fn bookings_that_were_sold_with_the_payment_of_another_are_found() {
        let id = |text: &str| -> BookingId { text.parse().unwrap() };
        let payment = |text: &str| -> PaymentId { text.parse().unwrap() };
        let online = payment("e.1.000000000001");
        let with = |text| Some(payment(text));
        let bookings = HashMap::from([
            (id("e.1"), sold(State::Confirmed(Some(online.clone())))),
            (id("e.2"), sold(State::Confirmed(Some(online.clone())))),
            (id("e.3"), sold(State::Cancelled { payment: Some(online.clone()), refund_minor: 0 })),
            (id("e.4"), sold(State::Confirmed(with("till.7")))),
            (id("e.5"), sold(State::Confirmed(with("till-7")))),
            (id("e.6"), sold(State::Confirmed(None))),
            (id("e.7"), sold(State::NotSold)),
        ]);
        let mut borrowed = Borrowed::among(&bookings);
        let said = |of: &str| {
            format!("booking {of}: it was sold with payment e.1.000000000001, which is of e.1")
        };
        assert_eq!(borrowed.found(&id("e.1"), &payment("e.1.000000000002")), [""; 0]);
        assert_eq!(borrowed.found(&id("e.1"), &online), [said("e.2"), said("e.3")]);
        // Nobody has a payment of the till's number.
        assert_eq!(borrowed.0.into_keys().collect::<Vec<_>>(), [payment("till.7")]);
    }
}
