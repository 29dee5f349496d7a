//! Who pays for bookings.

use super::access::{withdraw, withdrawing};
use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::retention;
use super::rows::{BuyerRow, json, limit, parsed, put_in, row_of};
use crate::booking::{Buyer, BuyerOf, Correction};
use crate::lists::{self, USER_OF, bookings_of_user};
use crate::retention::Whom;
use crate::rows::BUYERS;
use deadpool_postgres::{Client, Transaction};
use onrush_core::ids::{BookingId, UserId};
use std::collections::BTreeSet;
use tokio_postgres::Row;

/// Says who pays for a visitor's booking, whoever was known.
pub(super) struct SetBuyer(pub(super) BookingId, pub(super) UserId, pub(super) Buyer);

impl Ask<()> for SetBuyer {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(booking, user, buyer) = self;
        let db = db.transaction().await?;
        let known = lock(&db, booking).await?;
        replace(&db, known.as_ref(), booking, user, buyer).await?;
        Ok(db.commit().await?)
    }
}

/// Puts a buyer in the place of the one who was read, and says whether that is news.
pub(super) struct CorrectBuyer(pub(super) Correction);

impl Ask<bool> for CorrectBuyer {
    async fn run(&self, db: &mut Client) -> Result<bool, Fault> {
        let Self(correction) = self;
        let Correction { booking, user, buyer, .. } = correction;
        let db = db.transaction().await?;
        let known = lock(&db, booking).await?;
        if !correction.fits(known.as_ref()) {
            return Err(Fault::Conflict);
        }
        replace(&db, known.as_ref(), booking, user, buyer).await?;
        db.commit().await?;
        Ok(known.as_ref() != Some(buyer))
    }
}

/// Who is known to pay for a booking. Their row is locked: of two who name another, the later one sees
/// whom the earlier one named.
async fn lock(db: &Transaction<'_>, booking: &BookingId) -> Result<Option<Buyer>, Fault> {
    let sql = "SELECT row_to_json(buyers)::text FROM buyers WHERE booking_id = $1 FOR UPDATE";
    row_of(db, sql, &[&booking.as_str()]).await
}

/// Puts a buyer in the place of the known one, who is locked. The links that the known one was sent
/// open nothing any more, unless the address is the same.
async fn replace(
    db: &Transaction<'_>,
    known: Option<&Buyer>,
    booking: &BookingId,
    user: &UserId,
    buyer: &Buyer,
) -> Result<(), Fault> {
    let rows = [BuyerRow::of(booking, user, buyer)];
    let Some(known) = known else {
        // There was no row to lock: whoever has been named since then was not seen.
        let is_first = execute(db, &BUYERS.all.add, &[&json(&rows)?]).await? > 0;
        return if is_first { Ok(()) } else { Err(Fault::Overtaken) };
    };
    if known.email != buyer.email {
        withdraw(db, booking).await?;
    }
    put_in(db, &BUYERS, &rows).await
}

/// Says who pays for bookings, each of which comes once, whoever was known. Most are named for the
/// first time, which is all of one statement.
pub(super) async fn set_all(db: &Transaction<'_>, named: &[BuyerRow<'_>]) -> Result<(), Fault> {
    if named.is_empty() {
        return Ok(());
    }
    let rows = json(&named)?;
    if execute(db, &BUYERS.all.add, &[&rows]).await? == named.len() as u64 {
        return Ok(());
    }
    // As they are stored by now, and whoever corrects one waits.
    let ids: Vec<&str> = named.iter().map(|row| row.booking_id.as_str()).collect();
    let sql = "SELECT booking_id, email FROM buyers WHERE booking_id = ANY ($1) \
               ORDER BY booking_id FOR UPDATE";
    let known = all(db, sql, &[&ids]).await?;
    let known: Vec<(&str, &str)> = known
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Fault>>()?;
    let has_other = |row: &&BuyerRow<'_>| {
        let id = row.booking_id.as_str();
        known.iter().any(|(booking, email)| *booking == id && *email != row.email)
    };
    for row in named.iter().filter(has_other) {
        withdraw(db, row.booking_id).await?;
    }
    execute(db, &BUYERS.all.put, &[&rows]).await.map(drop)
}

/// Takes back who pays for a booking, if they still have this address; says whether they had.
pub(super) struct UnsetBuyer(pub(super) BookingId, pub(super) String);

impl Ask<bool> for UnsetBuyer {
    async fn run(&self, db: &mut Client) -> Result<bool, Fault> {
        let Self(booking, email) = self;
        let sql = "DELETE FROM buyers WHERE booking_id = $1 AND email = $2";
        Ok(execute(db, sql, &[&booking.as_str(), email]).await? > 0)
    }
}

/// Who pays for a booking.
pub(super) struct FindBuyer(pub(super) BookingId);

impl Ask<Option<Buyer>> for FindBuyer {
    async fn run(&self, db: &mut Client) -> Result<Option<Buyer>, Fault> {
        let sql = "SELECT row_to_json(buyers)::text FROM buyers WHERE booking_id = $1";
        row_of(db, sql, &[&self.0.as_str()]).await
    }
}

/// Whose a booking is.
pub(super) struct UserOf(pub(super) BookingId);

impl Ask<Option<UserId>> for UserOf {
    async fn run(&self, db: &mut Client) -> Result<Option<UserId>, Fault> {
        let found = first(db, USER_OF, &[&self.0.as_str()]).await?;
        found.map(|row| parsed(row.try_get(0)?)).transpose()
    }
}

/// The statement that forgets who buys some bookings, and says for which there was somebody. Whoever
/// asked to be forgotten is not found through a mail that was sent before.
const ERASE: &str = concat!(
    withdrawing!("SELECT booking_id FROM unnest($1::text[]) AS booking_id"),
    "DELETE FROM buyers WHERE booking_id = ANY ($1) RETURNING booking_id"
);

/// The statement that takes the names off what was issued, by which documents, and says of which
/// bookings. It comes after the rows of buyers are ours: what was issued to them by then is seen,
/// and what is issued later has no name. Numbers and amounts stay.
macro_rules! unnaming {
    ($which:literal) => {
        concat!(
            "UPDATE receipts SET buyer_name = NULL, buyer_email_lower = NULL WHERE ",
            $which,
            " RETURNING booking_id"
        )
    };
}

/// Bookings that a person has to do with, by id.
pub(super) struct BookingsOf {
    pub(super) whose: BuyerOf,
    pub(super) after: Option<BookingId>,
    pub(super) limit: usize,
}

impl Ask<Vec<BookingId>> for BookingsOf {
    async fn run(&self, db: &mut Client) -> Result<Vec<BookingId>, Fault> {
        let Self { whose, after, limit: most } = self;
        let (after, most) = (after.as_ref().map_or("", BookingId::as_str), limit(*most));
        let who = whose.value();
        // No address that is kept has a NUL in it.
        if who.contains('\0') {
            return Ok(Vec::new());
        }
        let found = all(db, lists::bookings_of(whose), &[&who, &after, &most]).await?;
        found.iter().map(|row| parsed(row.try_get(0)?)).collect()
    }
}

/// Forgets who buys and who bought some bookings; says for how many somebody was known.
pub(super) async fn erase_these(db: &Transaction<'_>, bookings: &[String]) -> Result<u64, Fault> {
    if bookings.is_empty() {
        return Ok(0);
    }
    let erased = all(db, ERASE, &[&bookings]).await?;
    let sql = unnaming!("booking_id = ANY ($1) AND buyer_name IS NOT NULL");
    both(&erased, &all(db, sql, &[&bookings]).await?)
}

/// The same for an address: what was issued to it, also for bookings that have another buyer by now.
/// What was issued to others stays.
async fn erase_address(db: &Transaction<'_>, email_lower: &str) -> Result<u64, Fault> {
    // Another buyer may be put in their place meanwhile. PostgreSQL looks again at the address of a row
    // that it waited for only where the statement that locks the row asks for the address itself.
    let sql = "SELECT booking_id FROM buyers WHERE email_lower = $1 ORDER BY booking_id FOR UPDATE";
    let theirs = all(db, sql, &[&email_lower]).await?;
    let theirs: Vec<&str> = theirs.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let erased = all(db, ERASE, &[&theirs]).await?;
    let sql =
        unnaming!("buyer_email_lower = $1 OR buyer_email_lower IS NULL AND booking_id = ANY ($2)");
    both(&erased, &all(db, sql, &[&email_lower, &theirs]).await?)
}

/// How many bookings are in either.
fn both(erased: &[Row], unnamed: &[Row]) -> Result<u64, Fault> {
    let bookings = erased.iter().chain(unnamed).map(|row| row.try_get(0));
    let bookings: BTreeSet<&str> = bookings.collect::<Result<_, _>>()?;
    Ok(bookings.len() as u64)
}

/// Forgets people; of an event, those of [`crate::retention::ERASED_AT_ONCE`] bookings at most.
pub(super) struct EraseBuyer(pub(super) BuyerOf);

impl Ask<u64> for EraseBuyer {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let db = db.transaction().await?;
        let erased = match &self.0 {
            BuyerOf::Booking(booking) => erase_these(&db, &[booking.to_string()]).await?,
            BuyerOf::User(user) => {
                let sql = concat!(bookings_of_user!(), " ORDER BY booking_id");
                let theirs = all(&db, sql, &[&user.as_str()]).await?;
                let theirs =
                    theirs.iter().map(|row| row.try_get(0)).collect::<Result<Vec<_>, _>>()?;
                erase_these(&db, &theirs).await?
            }
            // No address that is kept has a NUL in it.
            BuyerOf::Email(email) if email.contains('\0') => return Ok(0),
            BuyerOf::Email(email) => erase_address(&db, &email.to_lowercase()).await?,
            BuyerOf::Event(event) => retention::erase_some(&db, event, Whom::All).await?,
        };
        db.commit().await?;
        Ok(erased)
    }
}
