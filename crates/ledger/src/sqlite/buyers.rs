//! Who pays for bookings.

use super::access;
use super::statements::Statements;
use crate::booking::{Buyer, BuyerOf};
use crate::rows::{BUYERS, Record};
use onrush_core::ids::BookingId;
use rusqlite::params;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Reads who pays for one booking.
static FIND: LazyLock<String> = LazyLock::new(|| Buyer::select("WHERE booking_id = ?1"));

pub(super) fn put(db: &Statements<'_>, booking: &BookingId, buyer: &Buyer) -> rusqlite::Result<()> {
    let Buyer { name, email, language } = buyer;
    let (name_lower, email_lower) = (name.to_lowercase(), email.to_lowercase());
    let values = params![booking.as_str(), name, email, language, name_lower, email_lower];
    db.put_values(&BUYERS, values)
}

pub(super) fn find(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<Option<Buyer>> {
    db.first(&FIND, [booking.as_str()])
}

/// Bookings that a person has to do with, by id.
pub(super) fn bookings_of(
    db: &Statements<'_>,
    whose: &BuyerOf,
    after: Option<&BookingId>,
    limit: usize,
) -> rusqlite::Result<Vec<BookingId>> {
    let (after, limit) = (after.map_or("", BookingId::as_str), i64::try_from(limit));
    let limit = limit.unwrap_or(i64::MAX);
    match whose {
        BuyerOf::Booking(booking) => db.all(
            "SELECT booking_id FROM (SELECT booking_id FROM bookings WHERE booking_id = ?1 \
             UNION SELECT booking_id FROM sagas WHERE booking_id = ?1 \
             UNION SELECT booking_id FROM buyers WHERE booking_id = ?1) \
             WHERE booking_id > ?2 ORDER BY booking_id LIMIT ?3",
            params![booking.as_str(), after, limit],
        ),
        BuyerOf::User(user) => db.all(
            "SELECT booking_id FROM (SELECT booking_id FROM bookings WHERE user_id = ?1 \
             UNION SELECT booking_id FROM sagas WHERE user_id = ?1) \
             WHERE booking_id > ?2 ORDER BY booking_id LIMIT ?3",
            params![user.as_str(), after, limit],
        ),
        BuyerOf::Email(email) => db.all(
            "SELECT booking_id FROM (SELECT booking_id FROM buyers WHERE email_lower = ?1 \
             UNION SELECT booking_id FROM receipts WHERE buyer_email_lower = ?1) \
             WHERE booking_id > ?2 ORDER BY booking_id LIMIT ?3",
            params![email.to_lowercase(), after, limit],
        ),
        BuyerOf::Event(event) => db.all(
            "SELECT booking_id FROM (SELECT booking_id FROM bookings WHERE event_id = ?1 \
             UNION SELECT booking_id FROM sagas WHERE event_id = ?1) \
             WHERE booking_id > ?2 ORDER BY booking_id LIMIT ?3",
            params![event.as_str(), after, limit],
        ),
    }
}

/// Forgets a person; says for how many bookings they were known.
pub(super) fn erase(db: &Statements<'_>, whose: &BuyerOf) -> rusqlite::Result<u64> {
    // Whoever asked to be forgotten is not found through a mail that was sent before.
    access::withdraw_of(db, whose)?;
    let mut bookings: BTreeSet<String> = erase_names(db, whose)?.into_iter().collect();
    bookings.extend(erase_rows(db, whose)?);
    Ok(bookings.len() as u64)
}

/// Deletes rows of buyers; says of which bookings.
fn erase_rows(db: &Statements<'_>, whose: &BuyerOf) -> rusqlite::Result<Vec<String>> {
    match whose {
        BuyerOf::Booking(booking) => db.all(
            "DELETE FROM buyers WHERE booking_id = ?1 RETURNING booking_id",
            [booking.as_str()],
        ),
        // A booking may have come to its saga and not yet, through the feed, to the bookings.
        BuyerOf::User(user) => db.all(
            "DELETE FROM buyers WHERE booking_id IN (SELECT booking_id FROM bookings \
             WHERE user_id = ?1 UNION SELECT booking_id FROM sagas WHERE user_id = ?1) \
             RETURNING booking_id",
            [user.as_str()],
        ),
        BuyerOf::Email(email) => db.all(
            "DELETE FROM buyers WHERE email_lower = ?1 RETURNING booking_id",
            [email.to_lowercase()],
        ),
        BuyerOf::Event(event) => db.all(
            "DELETE FROM buyers WHERE booking_id IN (SELECT booking_id FROM bookings \
             WHERE event_id = ?1 UNION SELECT booking_id FROM sagas WHERE event_id = ?1) \
             RETURNING booking_id",
            [event.as_str()],
        ),
    }
}

/// Takes the names off what was issued, also to whoever was the buyer before; numbers and amounts
/// stay. Says of which bookings.
fn erase_names(db: &Statements<'_>, whose: &BuyerOf) -> rusqlite::Result<Vec<String>> {
    match whose {
        BuyerOf::Booking(booking) => db.all(
            "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL \
             WHERE booking_id = ?1 AND buyer_name IS NOT NULL RETURNING booking_id",
            [booking.as_str()],
        ),
        BuyerOf::User(user) => db.all(
            "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL \
             WHERE booking_id IN (SELECT booking_id FROM bookings WHERE user_id = ?1 \
             UNION SELECT booking_id FROM sagas WHERE user_id = ?1) \
             AND buyer_name IS NOT NULL RETURNING booking_id",
            [user.as_str()],
        ),
        // What was issued to others stays.
        BuyerOf::Email(email) => db.all(
            "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL \
             WHERE buyer_email_lower = ?1 OR buyer_email_lower IS NULL \
             AND booking_id IN (SELECT booking_id FROM buyers WHERE email_lower = ?1) \
             RETURNING booking_id",
            [email.to_lowercase()],
        ),
        BuyerOf::Event(event) => db.all(
            "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL \
             WHERE event_id = ?1 AND buyer_name IS NOT NULL RETURNING booking_id",
            [event.as_str()],
        ),
    }
}
