//! Who pays for bookings.

use super::access;
use super::retention;
use super::statements::Statements;
use crate::booking::{Buyer, BuyerOf, Correction};
use crate::lists::{self, USER_OF, bookings_of_user};
use crate::retention::Whom;
use crate::rows::{BUYERS, Record};
use onrush_core::ids::{BookingId, UserId};
use rusqlite::{Params, params};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Reads who pays for one booking.
static FIND: LazyLock<String> = LazyLock::new(|| Buyer::select("WHERE booking_id = ?1"));

/// Says who pays for a visitor's booking, whoever was known.
pub(super) fn set(
    db: &Statements<'_>,
    booking: &BookingId,
    user: &UserId,
    buyer: &Buyer,
) -> rusqlite::Result<()> {
    let known = find(db, booking)?;
    replace(db, known.as_ref(), booking, user, buyer)
}

/// Puts a buyer in the place of the one who was read, and says whether that is news; `None` if it is
/// another one by now.
pub(super) fn correct(
    db: &Statements<'_>,
    correction: &Correction,
) -> rusqlite::Result<Option<bool>> {
    let Correction { booking, user, buyer, .. } = correction;
    let known = find(db, booking)?;
    if !correction.fits(known.as_ref()) {
        return Ok(None);
    }
    replace(db, known.as_ref(), booking, user, buyer)?;
    Ok(Some(known.as_ref() != Some(buyer)))
}

/// Puts a buyer in the place of the known one. The links that the known one was sent open nothing any
/// more, unless the address is the same.
fn replace(
    db: &Statements<'_>,
    known: Option<&Buyer>,
    booking: &BookingId,
    user: &UserId,
    buyer: &Buyer,
) -> rusqlite::Result<()> {
    if known.is_some_and(|known| known.email != buyer.email) {
        access::withdraw(db, booking)?;
    }
    let Buyer { name, email, language } = buyer;
    let (name_lower, email_lower) = (name.to_lowercase(), email.to_lowercase());
    let (booking, user) = (booking.as_str(), user.as_str());
    let values = params![booking, user, name, email, language, name_lower, email_lower];
    let sql = if known.is_some() { &BUYERS.update } else { &BUYERS.insert };
    db.execute(sql, values).map(drop)
}

/// Takes back who pays for a booking, if they still have this address; whether they had.
pub(super) fn remove(
    db: &Statements<'_>,
    booking: &BookingId,
    email: &str,
) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM buyers WHERE booking_id = ?1 AND email = ?2";
    Ok(db.execute(sql, [booking.as_str(), email])? > 0)
}

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Buyer>> {
    db.first(&FIND, [booking.as_str()])
}

/// Whose a booking is.
pub(super) fn user_of(
    db: &Statements<'_>,
    booking: &BookingId,
) -> rusqlite::Result<Option<UserId>> {
    db.first(USER_OF, [booking.as_str()])
}

/// Bookings that a person has to do with, by id.
pub(super) fn bookings_of(
    db: &Statements<'_>,
    whose: &BuyerOf,
    after: Option<&BookingId>,
    limit: usize,
) -> rusqlite::Result<Vec<BookingId>> {
    let (after, limit) = (after.map_or("", BookingId::as_str), i64::try_from(limit));
    let values = params![whose.value(), after, limit.unwrap_or(i64::MAX)];
    db.all(lists::bookings_of(whose), values)
}

/// The statements that forget a person, each with the same values, which say whom.
struct Erasing {
    /// Withdraws the links of what they bought.
    withdraw: &'static str,
    /// Takes the names off what was issued; numbers and amounts stay. Says of which bookings.
    unname: &'static str,
    /// Deletes rows of buyers; says of which bookings.
    erase: &'static str,
}

/// The statements, by which bookings have their links withdrawn, which documents lose their names,
/// and which rows of buyers go.
macro_rules! erasing {
    (links: $links:expr, receipts: $receipts:expr, buyers: $buyers:expr) => {
        Erasing {
            withdraw: concat!(
                "INSERT INTO link_generations (booking_id, generation) SELECT booking_id, 1 FROM (",
                $links,
                ") WHERE true ON CONFLICT (booking_id) DO UPDATE SET generation = generation + 1"
            ),
            unname: concat!(
                "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL WHERE ",
                $receipts,
                " RETURNING booking_id"
            ),
            erase: concat!("DELETE FROM buyers WHERE ", $buyers, " RETURNING booking_id"),
        }
    };
}

// The names of earlier buyers go too.
const OF_BOOKING: Erasing = erasing!(
    links: "SELECT $1 AS booking_id",
    receipts: "booking_id = $1 AND buyer_name IS NOT NULL",
    buyers: "booking_id = $1"
);

const OF_USER: Erasing = erasing!(
    links: bookings_of_user!(),
    receipts: concat!("booking_id IN (", bookings_of_user!(), ") AND buyer_name IS NOT NULL"),
    buyers: concat!("booking_id IN (", bookings_of_user!(), ")")
);

// What was issued to others stays.
const OF_EMAIL: Erasing = erasing!(
    links: "SELECT booking_id FROM buyers WHERE email_lower = $1",
    receipts: "buyer_email_lower = $1 OR buyer_email_lower IS NULL \
               AND booking_id IN (SELECT booking_id FROM buyers WHERE email_lower = $1)",
    buyers: "email_lower = $1"
);

/// Forgets a person; says for how many bookings they were known. Of an event, those of
/// [`crate::retention::ERASED_AT_ONCE`] bookings at most.
pub(super) fn erase(db: &Statements<'_>, whose: &BuyerOf) -> rusqlite::Result<u64> {
    let who = whose.value();
    match whose {
        BuyerOf::Booking(_) => OF_BOOKING.run(db, [&who]),
        BuyerOf::User(_) => OF_USER.run(db, [&who]),
        BuyerOf::Email(_) => OF_EMAIL.run(db, [&who]),
        // Of what was never named there is nothing to hide.
        BuyerOf::Event(event) => retention::erase(db, event, Whom::All),
    }
}

impl Erasing {
    /// Says for how many bookings somebody was known.
    fn run(&self, db: &Statements<'_>, whom: impl Params + Copy) -> rusqlite::Result<u64> {
        // Whoever asked to be forgotten is not found through a mail that was sent before.
        db.execute(self.withdraw, whom)?;
        let mut bookings: BTreeSet<String> = db.all(self.unname, whom)?.into_iter().collect();
        bookings.extend(db.all::<String>(self.erase, whom)?);
        Ok(bookings.len() as u64)
    }
}
