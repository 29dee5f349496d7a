//! What pages of the feed make of the rows.

use super::mailbox::Fault;
use super::statements::Statements;
use super::{bookings, catalogue, deliveries, money, sagas};
use crate::projection::{Fact, FeedPosition, Moved, Projection};
use crate::saga::Saga;
use rusqlite::{Connection, params};

/// The version whose tables say first which journal was followed.
const SAYS_JOURNAL: u32 = 5;

pub(super) fn cursor(db: &Statements<'_>) -> rusqlite::Result<u64> {
    Ok(db.first("SELECT seq FROM feed_cursor WHERE id = 1", [])?.unwrap_or(0))
}

pub(super) fn position(db: &Statements<'_>) -> rusqlite::Result<FeedPosition> {
    let found = db.first("SELECT seq, at, journal FROM feed_cursor WHERE id = 1", [])?;
    let (seq, at, journal) = found.unwrap_or_default();
    Ok(FeedPosition { seq, at, journal })
}

/// The same of tables that a version before may have made, as its connection reads them.
pub(super) fn position_of(connection: &Connection, version: u32) -> rusqlite::Result<FeedPosition> {
    if version >= SAYS_JOURNAL {
        return position(&Statements::new(connection));
    }
    let seq = cursor(&Statements::new(connection))?;
    Ok(FeedPosition { seq, ..FeedPosition::default() })
}

pub(super) fn follow(db: &Statements<'_>, position: &FeedPosition) -> rusqlite::Result<()> {
    let FeedPosition { seq, at, journal } = position;
    let sql = "UPDATE feed_cursor SET seq = ?1, at = ?2, journal = ?3 WHERE id = 1";
    db.execute(sql, params![seq.cast_signed(), at.map(|at| at.0), journal]).map(drop)
}

pub(super) fn project(db: &Statements<'_>, projection: &Projection) -> Result<(), Fault> {
    let stored = cursor(db)?;
    if projection.cursor <= stored {
        return Ok(());
    }
    if projection.after != stored {
        return Err(Fault::Conflict);
    }
    let at = projection.at.map(|at| at.0);
    db.execute(
        "UPDATE feed_cursor SET seq = ?1, at = ?2 WHERE id = 1",
        params![projection.cursor.cast_signed(), at],
    )?;
    for fact in &projection.facts {
        apply(db, fact)?;
    }
    for message in &projection.messages {
        deliveries::put(db, message)?;
    }
    Ok(())
}

fn apply(db: &Statements<'_>, fact: &Fact) -> rusqlite::Result<()> {
    match fact {
        Fact::Event { event, title, currency, settings, at } => {
            catalogue::put_event(db, event, title, currency, settings, *at)
        }
        Fact::Price { event, kind, name, price_minor } => {
            catalogue::put_price(db, event, kind, name, *price_minor)
        }
        // One that is known stays as it is: it may have moved since.
        Fact::Held(booking) => db.add(&**booking).map(drop),
        Fact::Moved(moved) => {
            bookings::set_status(db, moved)?;
            let Some(saga) = sagas::find(db, &moved.booking)? else {
                let booking = bookings::find(db, &moved.booking)?;
                return match booking.and_then(|booking| moved.begin(&booking)) {
                    Some(saga) => sagas::begin(db, &saga, None, &moved.note()).map(drop),
                    None => Ok(()),
                };
            };
            let unfinished = || money::is_unfinished(db, &moved.booking);
            match moved.lead(saga, unfinished)? {
                Some(saga) => write(db, &saga, moved),
                None => Ok(()),
            }
        }
        // There is no table of room-nights here.
        Fact::Until { .. } | Fact::Stock { .. } => Ok(()),
        Fact::CheckedIn { booking, at } => bookings::check_in(db, booking, *at),
    }
}

fn write(db: &Statements<'_>, saga: &Saga, moved: &Moved) -> rusqlite::Result<()> {
    let stage = match &saga.payment {
        Some(payment) => money::stage(db, &saga.booking, payment)?,
        None => None,
    };
    let written = sagas::replace(db, saga, stage, &moved.note())?;
    assert!(written, "a saga cannot change within a transaction of the only writer");
    Ok(())
}
