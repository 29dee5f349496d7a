//! Tickets: one signed text for each unit of a confirmed booking, which anybody verifies with the
//! published keys.
//!
//! The units of a booking are numbered from 1: first those of pools in the order of the pools' ids,
//! unit after unit, then the seats in the order of theirs. Lines are kept in that order, so a
//! number means the same unit for ever.

pub mod qr;

use crate::auth::jws::{JwsSigner, JwsVerifier, NotGenuine, PublicKey, Use};
use crate::auth::keys::KeyDir;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PoolId, SeatId, TypeId, UserId};
use onrush_core::lines::Lines;
use onrush_core::types::{HeldType, HeldTypes, types_of_tickets};
use serde::{Deserialize, Serialize};
use std::io;

/// What a ticket lets its owner into. In JSON: `{"seat": "A-1"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One unit of a pool.
    Pool(PoolId),
    /// A seat.
    Seat(SeatId),
}

/// What a ticket says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketClaims {
    /// Who issued it.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The event.
    #[serde(rename = "aud")]
    pub event: EventId,
    /// Whose booking it is.
    #[serde(rename = "sub")]
    pub user: UserId,
    /// The booking.
    pub booking: BookingId,
    /// Its number within the booking, from 1.
    pub ticket: u32,
    /// What it is for.
    #[serde(rename = "for")]
    pub unit: Unit,
    /// Its ticket type, if it has one.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub ticket_type: Option<TypeId>,
    /// Whether its bearer shows at the door that they may have this type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proof: bool,
    /// When the booking was confirmed, in seconds.
    #[serde(rename = "iat")]
    pub confirmed_at_s: i64,
}

/// The booking that tickets are made of.
#[derive(Clone, Copy, Debug)]
pub struct Confirmed<'a> {
    /// Its id.
    pub booking: &'a BookingId,
    /// The event.
    pub event: &'a EventId,
    /// Whose.
    pub user: &'a UserId,
    /// What it is about.
    pub lines: &'a Lines,
    /// The types of its units, if any has one.
    pub types: Option<&'a HeldTypes>,
    /// When it was confirmed.
    pub at: Time,
}

/// A ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its number within the booking, from 1.
    pub number: u32,
    /// What it is for.
    pub unit: Unit,
    /// Its ticket type, if it has one.
    pub kind: Option<Kind>,
    /// The signed text: what is in the QR code.
    pub code: String,
}

/// A ticket's type, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: Box<str>,
    /// Whether its bearer shows at the door that they may have it.
    pub proof: bool,
}

/// What each number stands for, in order from 1.
pub fn units(lines: &Lines) -> impl Iterator<Item = (u32, Unit)> {
    let pools = lines.pools().iter().flat_map(|line| {
        std::iter::repeat_n(&line.pool, line.quantity as usize).cloned().map(Unit::Pool)
    });
    (1..).zip(pools.chain(lines.seats().iter().cloned().map(Unit::Seat)))
}

/// The same with the type of each.
fn typed_units(booking: Confirmed<'_>) -> impl Iterator<Item = ((u32, Unit), Option<&HeldType>)> {
    units(booking.lines).zip(types_of_tickets(booking.lines, booking.types))
}

/// Signs tickets with the newest `ticket-<since s>.key`, and knows its own; see [`JwsSigner`].
///
/// Keep a key as long as tickets that it signed are to be checked in.
pub struct TicketSigner {
    signer: JwsSigner,
    verifier: JwsVerifier,
    issuer: String,
}

impl TicketSigner {
    /// Reads the keys; the first one is drawn if there is none.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, issuer: &str) -> io::Result<Self> {
        let signer = JwsSigner::open(keys, Use::Tickets)?;
        let verifier = JwsVerifier::new(signer.published(), Use::Tickets);
        Ok(Self { signer, verifier, issuer: issuer.to_owned() })
    }

    /// All tickets of a booking, in order.
    #[must_use]
    pub fn sign_all(&self, booking: Confirmed<'_>) -> Vec<Ticket> {
        typed_units(booking).map(|unit| self.sign(booking, unit)).collect()
    }

    /// One ticket of a booking; `None` if it has no such number.
    #[must_use]
    pub fn sign_one(&self, booking: Confirmed<'_>, number: u32) -> Option<Ticket> {
        let unit = typed_units(booking).find(|((other, _), _)| *other == number)?;
        Some(self.sign(booking, unit))
    }

    fn sign(
        &self,
        booking: Confirmed<'_>,
        ((number, unit), held): ((u32, Unit), Option<&HeldType>),
    ) -> Ticket {
        let claims = TicketClaims {
            issuer: self.issuer.clone(),
            event: booking.event.clone(),
            user: booking.user.clone(),
            booking: booking.booking.clone(),
            ticket: number,
            unit,
            ticket_type: held.map(|held| held.id.clone()),
            proof: held.is_some_and(|held| held.proof),
            // The time of the booking and not of the signing, so that the same ticket is always the
            // same text.
            confirmed_at_s: booking.at.0.div_euclid(1_000),
        };
        let code = self.signer.sign(&claims);
        let kind = held.map(|held| Kind { name: held.name.clone(), proof: held.proof });
        Ticket { number, unit: claims.unit, kind, code }
    }

    /// What one of our tickets says.
    ///
    /// # Errors
    /// [`NotGenuine`], with what is wrong.
    pub fn verify(&self, code: &str) -> Result<TicketClaims, NotGenuine> {
        self.verifier.verify(code)
    }

    /// The keys that verify our tickets.
    #[must_use]
    pub fn published(&self) -> &[PublicKey] {
        self.signer.published()
    }
}

/// Confirmed bookings that were taken back: their tickets are void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The event.
    pub event: EventId,
    /// When the list was made.
    pub at: Time,
    /// The bookings.
    pub bookings: Vec<BookingId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::lines::PoolLine;
    use onrush_core::types::AskedTypes;

    fn lines() -> Lines {
        let pool = |id: &str, quantity| PoolLine { pool: id.parse().unwrap(), quantity };
        let seats = vec!["B-2".parse().unwrap(), "B-1".parse().unwrap()];
        Lines::new(vec![pool("ga", 2), pool("car", 1)], seats).unwrap()
    }

    /// A signer in a directory of its own, and the booking of `change`.
    fn with_booking(check: impl FnOnce(&TicketSigner, Confirmed<'_>, &KeyDir)) {
        let dir = tempfile::tempdir().unwrap();
        let keys = KeyDir::open(dir.path()).unwrap();
        let signer = TicketSigner::open(&keys, "onrush").unwrap();
        let booking = Confirmed {
            booking: &"e.1".parse().unwrap(),
            event: &"e".parse().unwrap(),
            user: &"ann".parse().unwrap(),
            lines: &lines(),
            types: None,
            at: Time(1_790_000_000_999),
        };
        check(&signer, booking, &keys);
    }

    #[test]
    fn tickets_are_numbered_pools_first_and_then_seats() {
        let lines = lines();
        let pool = |id: &str| Unit::Pool(id.parse().unwrap());
        let seat = |id: &str| Unit::Seat(id.parse().unwrap());
        let expected = [
            (1, pool("car")),
            (2, pool("ga")),
            (3, pool("ga")),
            (4, seat("B-1")),
            (5, seat("B-2")),
        ];
        assert_eq!(units(&lines).collect::<Vec<_>>(), expected);
        assert_eq!(units(&lines).count(), lines.units() as usize);
    }

    #[test]
    fn a_ticket_signed_twice_is_the_same_text() {
        with_booking(|signer, booking, keys| {
            let tickets = signer.sign_all(booking);
            let again = TicketSigner::open(keys, "onrush").unwrap();
            assert_eq!(again.sign_all(booking), tickets);
            assert_eq!(again.sign_one(booking, 4).as_ref(), tickets.get(3));
            assert_eq!(again.sign_one(booking, 6), None);
            assert_eq!(again.sign_one(booking, 0), None);
            let claims = again.verify(&tickets[3].code).unwrap();
            assert_eq!((claims.ticket, &claims.unit), (4, &tickets[3].unit));
            assert_eq!(claims.confirmed_at_s, 1_790_000_000);
        });
    }

    #[test]
    fn each_ticket_says_the_type_of_its_unit() {
        let of = |id: &str, proof, units| HeldType {
            id: id.parse().unwrap(),
            name: id.into(),
            proof,
            price_minor: 0,
            units,
        };
        // Of the lines car, ga, B-1 and B-2; car has no types.
        let adult = of("adult", false, vec![(1, 1), (3, 1)]);
        let child = of("child", true, vec![(1, 1), (2, 1)]);
        let types = HeldTypes { asked: AskedTypes::default(), held: vec![adult, child] };
        with_booking(|signer, booking, _| {
            let booking = Confirmed { types: Some(&types), ..booking };
            let all = signer.sign_all(booking);
            let said = all.iter().map(|ticket| {
                let claims = signer.verify(&ticket.code).unwrap();
                assert_eq!(signer.sign_one(booking, ticket.number).as_ref(), Some(ticket));
                claims.ticket_type.map(|id| (id.to_string(), claims.proof))
            });
            let (adult, child) = (Some(("adult".into(), false)), Some(("child".into(), true)));
            assert_eq!(
                said.collect::<Vec<_>>(),
                [None, adult.clone(), child.clone(), child, adult]
            );
        });
    }

    #[test]
    fn every_changed_character_is_noticed() {
        with_booking(|signer, booking, _| {
            let code = signer.sign_one(booking, 1).unwrap().code;
            for index in 0..code.len() {
                let mut bytes = code.clone().into_bytes();
                bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
                let forged = String::from_utf8(bytes).unwrap();
                assert!(signer.verify(&forged).is_err(), "{index}");
            }
            assert!(signer.verify(&format!("{code}A")).is_err());
            assert!(signer.verify(&code.repeat(20)).is_err());
        });
    }

    #[test]
    fn a_ticket_of_another_key_or_kind_is_not_genuine() {
        with_booking(|signer, booking, keys| {
            let other_dir = tempfile::tempdir().unwrap();
            let other_keys = KeyDir::open(other_dir.path()).unwrap();
            let other = TicketSigner::open(&other_keys, "onrush").unwrap();
            let code = other.sign_one(booking, 1).unwrap().code;
            assert_eq!(signer.verify(&code), Err(NotGenuine::UnknownKey));
            // The same claims, signed as a pass.
            let passes = JwsSigner::open(keys, Use::Passes).unwrap();
            let claims = other.verify(&code).unwrap();
            assert_eq!(signer.verify(&passes.sign(&claims)), Err(NotGenuine::Malformed));
            let wrong_set = JwsVerifier::new(passes.published(), Use::Tickets);
            assert!(wrong_set.is_empty());
        });
    }

    #[test]
    fn a_ticket_of_an_older_key_is_still_genuine() {
        with_booking(|signer, booking, keys| {
            let code = signer.sign_one(booking, 1).unwrap().code;
            keys.store_new("ticket-999999999999.key", &[7; 32]).unwrap();
            let rotated = TicketSigner::open(keys, "onrush").unwrap();
            assert_ne!(rotated.sign_one(booking, 1).unwrap().code, code);
            rotated.verify(&code).unwrap();
            assert_eq!(rotated.published().len(), 2);
        });
    }
}
