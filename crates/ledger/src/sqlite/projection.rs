//! What pages of the feed make of the rows.

use super::columns::signed;
use super::mailbox::Fault;
use super::statements::Statements;
use super::{bookings, catalogue, deliveries, money, sagas};
use crate::projection::{Fact, Moved, Projection};
use crate::saga::Saga;
use onrush_core::booking::Step;
use rusqlite::params;

pub(super) fn cursor(db: &Statements<'_>) -> rusqlite::Result<u64> {
    let seq = db.first("SELECT seq FROM feed_cursor WHERE id = 1", [], |row| row.get(0))?;
    Ok(seq.map_or(0, i64::cast_unsigned))
}

pub(super) fn project(db: &Statements<'_>, projection: &Projection) -> Result<(), Fault> {
    let stored = cursor(db)?;
    if projection.cursor <= stored {
        return Ok(());
    }
    if projection.after != stored {
        return Err(Fault::Conflict);
    }
    db.execute("UPDATE feed_cursor SET seq = ?1 WHERE id = 1", params![signed(projection.cursor)])?;
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
        Fact::Held { booking, saga } => {
            bookings::add(db, booking)?;
            match saga {
                Some(saga) => sagas::begin(db, saga, None, "the units are held").map(drop),
                None => Ok(()),
            }
        }
        Fact::Moved(moved) => {
            bookings::set_status(db, moved)?;
            match sagas::find(db, &moved.booking)? {
                Some(saga) => match end_without_payment(moved.status) {
                    // One that was woken and not looked at yet has something to find out first.
                    Some(step) if saga.step == Step::ReserveOk && !is_called(&saga, moved) => {
                        follow(db, saga, step, moved)
                    }
                    Some(_) | None if moved.wake => wake(db, saga, moved),
                    Some(_) | None => Ok(()),
                },
                None => Ok(()),
            }
        }
        Fact::CheckedIn { booking, at } => bookings::check_in(db, booking, *at),
    }
}

/// Whether somebody was called to look at a saga and has not done so.
fn is_called(saga: &Saga, moved: &Moved) -> bool {
    let is_due = saga.next_at.is_some_and(|next_at| next_at <= moved.at);
    is_due || (moved.wake && saga.stuck.is_some())
}

/// Has a saga looked at. It gets a new version even if it is due already: who works on it now may not know of this.
fn wake(db: &Statements<'_>, saga: Saga, moved: &Moved) -> rusqlite::Result<()> {
    let is_seen_to =
        moved.status == "paying" && moved.payment.is_some() && saga.payment == moved.payment;
    if saga.stuck.is_some() || saga.step == Step::Failed || is_seen_to {
        return Ok(());
    }
    let next_at = saga.next_at.map_or(moved.at, |next| next.min(moved.at));
    let woken = Saga { next_at: Some(next_at), ..saga };
    write(db, woken, moved)
}

/// Where a status leads a saga that has no payment.
fn end_without_payment(status: &str) -> Option<Step> {
    match status {
        "confirmed" => Some(Step::Confirmed),
        "released" | "expired" => Some(Step::Failed),
        _ => None,
    }
}

/// Moves a saga whose hold ended without a payment.
fn follow(db: &Statements<'_>, saga: Saga, step: Step, moved: &Moved) -> rusqlite::Result<()> {
    // Money that an earlier payment took after all must still be given back.
    let followed = if money::is_unfinished(db, &saga.booking)? {
        let next_at = saga.next_at.map_or(moved.at, |next| next.min(moved.at));
        Saga { step, next_at: Some(next_at), ..saga }
    } else {
        Saga { step, next_at: None, tries: 0, stuck: None, ..saga }
    };
    write(db, followed, moved)
}

fn write(db: &Statements<'_>, saga: Saga, moved: &Moved) -> rusqlite::Result<()> {
    let stage = match &saga.payment {
        Some(payment) => money::stage(db, &saga.booking, payment)?,
        None => None,
    };
    let saga =
        Saga { version: saga.version + 1, updated_at: saga.updated_at.max(moved.at), ..saga };
    let note = format!("the engine says: {}", moved.status);
    let written = sagas::replace(db, &saga, stage, &note)?;
    assert!(written, "a saga cannot change within a transaction of the only writer");
    Ok(())
}
