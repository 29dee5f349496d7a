//! The archive of the feed.

use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::news;
use super::rows::{limit, parsed, signed, unsigned};
use super::writer::{Job, Slot};
use crate::LedgerError;
use deadpool_postgres::{Client, Transaction};
use onrush_core::Time;
use onrush_core::ids::EventId;
use std::collections::BTreeMap;
use tokio::sync::watch;
use tokio_postgres::Row;

/// Where nodes hear of new decisions; what is said is the highest number.
pub(super) const CHANNEL: &str = "onrush_feed";

/// A decision on its way into the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowToArchive {
    /// The event's own number of it.
    pub seq: u64,
    /// When it was decided.
    pub at: Time,
    /// What changed, as JSON.
    pub changes: String,
    /// A hash over it and the decisions before; `None` if it has none.
    pub mark: Option<u64>,
}

/// What became of decisions that were to be archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// They are in the archive.
    Archived,
    /// The archive has others under their numbers, or before them, or lacks some before them; nothing
    /// was written.
    Diverged,
}

/// Where an event's history ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveHead {
    /// How often the event was rebuilt.
    pub epoch: u64,
    /// The event's own number of its last archived decision; 0 if there is none.
    pub seq: u64,
    /// That decision's mark.
    pub mark: Option<u64>,
}

/// An archived decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedRow {
    /// Its number among the decisions of all events.
    pub number: u64,
    /// The event.
    pub event: EventId,
    /// The event's own number of it.
    pub seq: u64,
    /// How often the event had been rebuilt before it was decided.
    pub epoch: u64,
    /// When it was decided.
    pub at: Time,
    /// What changed, as JSON.
    pub changes: String,
    /// Its mark, if it has one.
    pub mark: Option<u64>,
}

/// Decisions of one event that are to be archived.
pub(super) struct Append {
    pub(super) event: EventId,
    pub(super) epoch: u64,
    /// The mark of the decision before the first.
    pub(super) before: Option<u64>,
    pub(super) rows: Vec<RowToArchive>,
    /// The highest number that this node has seen.
    pub(super) newest: watch::Sender<u64>,
    /// The highest number that was given in its batch; 0 if none was.
    pub(super) given: u64,
    pub(super) slot: Slot<Appended>,
}

/// An event as the batch has left it so far.
#[derive(Clone, Copy, Default)]
struct Head {
    epoch: u64,
    last_seq: u64,
    first_number: Option<i64>,
    mark: Option<u64>,
}

/// Rows column by column.
#[derive(Default)]
struct NewRows<'a> {
    numbers: Vec<i64>,
    events: Vec<&'a str>,
    seqs: Vec<i64>,
    epochs: Vec<i64>,
    times: Vec<i64>,
    changes: Vec<&'a str>,
    marks: Vec<Option<i64>>,
}

/// Locks the end of the archive until the transaction ends, so that numbers become visible in their
/// order; gives the highest.
async fn lock_end(db: &Transaction<'_>) -> Result<i64, Fault> {
    let row = first(db, "SELECT number FROM feed_head WHERE id = 1 FOR UPDATE", &[]).await?;
    let row = row.ok_or_else(|| Fault::Unreadable("the feed has no end".into()))?;
    Ok(row.try_get(0)?)
}

impl Job for Append {
    async fn run(jobs: &mut [Self], db: &Transaction<'_>) -> Result<(), Fault> {
        let last = lock_end(db).await?;
        let mut heads = heads(db, jobs).await?;
        let mut new = NewRows::default();
        // Whoever has read a number reads on after it. So it is not given again if the archive has
        // lost its end, as after a failover to a standby that lagged behind.
        let seen = jobs.iter().map(|job| signed(*job.newest.borrow())).max();
        let before_all = seen.map_or(last, |seen| seen.max(last));
        let mut number = before_all;
        for Self { event, epoch, before, rows, given, slot, .. } in jobs.iter_mut() {
            *given = 0;
            let head = heads.entry(event.clone()).or_default();
            if *epoch < head.epoch {
                slot.put(Err(LedgerError::Conflict));
                continue;
            }
            // There was more here than is left, as after a failover to a standby that lagged behind.
            if rows.first().is_some_and(|first| first.seq > head.last_seq + 1) {
                slot.put(Ok(Appended::Diverged));
                continue;
            }
            if *epoch > head.epoch {
                head.epoch = *epoch;
                // The epoch began elsewhere, and earlier than the history ends here: the rest came
                // to nothing.
                if let Some(first) = rows.first()
                    && first.seq <= head.last_seq
                {
                    std::mem::take(&mut new).write(db).await?;
                    lose(db, event, first.seq).await?;
                    head.last_seq = first.seq.saturating_sub(1);
                }
                head.mark = None;
            }
            let known = rows.iter().rfind(|row| row.seq <= head.last_seq);
            let (ours, theirs) = match known {
                None => (Some(head.mark), *before),
                Some(row) if row.seq == head.last_seq => (Some(head.mark), row.mark),
                Some(row) => {
                    std::mem::take(&mut new).write(db).await?;
                    (mark_of(db, event, row.seq).await?, row.mark)
                }
            };
            let differs = ours.is_none_or(|ours| differ(ours, theirs));
            if head.last_seq > 0 && differs {
                slot.put(Ok(Appended::Diverged));
                continue;
            }
            for row in rows.iter().filter(|row| row.seq > head.last_seq) {
                number += 1;
                new.push(number, event.as_str(), *epoch, row);
                head.first_number.get_or_insert(number);
            }
            if let Some(newest) = rows.last().filter(|newest| newest.seq > head.last_seq) {
                (head.last_seq, head.mark) = (newest.seq, newest.mark);
            }
            slot.put(Ok(Appended::Archived));
        }
        new.write(db).await?;
        write_heads(db, &heads).await?;
        if number > before_all {
            let sql = "UPDATE feed_head SET number = $1 WHERE id = 1";
            execute(db, sql, &[&number]).await?;
            jobs.iter_mut().for_each(|job| job.given = unsigned(number));
            let said = number.to_string();
            execute(db, "SELECT pg_notify($1, $2)", &[&CHANNEL, &said]).await?;
        }
        Ok(())
    }

    fn answer(self, failure: Option<&str>) {
        if failure.is_none() {
            news::rise(&self.newest, self.given);
        }
        self.slot.answer(failure);
    }
}

impl<'a> NewRows<'a> {
    fn push(&mut self, number: i64, event: &'a str, epoch: u64, row: &'a RowToArchive) {
        self.numbers.push(number);
        self.events.push(event);
        self.seqs.push(signed(row.seq));
        self.epochs.push(signed(epoch));
        self.times.push(row.at.0);
        self.changes.push(&row.changes);
        self.marks.push(row.mark.map(signed));
    }

    async fn write(self, db: &Transaction<'_>) -> Result<(), Fault> {
        let Self { numbers, events, seqs, epochs, times, changes, marks } = self;
        if numbers.is_empty() {
            return Ok(());
        }
        execute(
            db,
            "INSERT INTO feed (number, event, seq, epoch, at, changes, mark) \
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], \
             $5::bigint[], $6::text[], $7::bigint[])",
            &[&numbers, &events, &seqs, &epochs, &times, &changes, &marks],
        )
        .await
        .map(drop)
    }
}

/// Marks what an epoch that came to nothing has left from an own number on.
async fn lose(db: &Transaction<'_>, event: &EventId, from: u64) -> Result<(), Fault> {
    let sql = "UPDATE feed SET lost = TRUE WHERE event = $1 AND seq >= $2 AND NOT lost";
    execute(db, sql, &[&event.as_str(), &signed(from)]).await.map(drop)
}

/// Whether two decisions of the same number are of different histories, as far as is known.
fn differ(one: Option<u64>, other: Option<u64>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// A decision's mark, if it has one; `None` if its row has left for a file. By then the event was
/// archived and read to its end: whoever still brings a decision from before has another history.
async fn mark_of(
    db: &Transaction<'_>,
    event: &EventId,
    seq: u64,
) -> Result<Option<Option<u64>>, Fault> {
    let sql = "SELECT mark FROM feed WHERE event = $1 AND seq = $2 AND NOT lost";
    match first(db, sql, &[&event.as_str(), &signed(seq)]).await? {
        Some(row) => Ok(Some(row.try_get::<_, Option<i64>>(0)?.map(unsigned))),
        None => Ok(None),
    }
}

async fn heads(db: &Transaction<'_>, jobs: &[Append]) -> Result<BTreeMap<EventId, Head>, Fault> {
    let ids: Vec<&str> = jobs.iter().map(|job| job.event.as_str()).collect();
    let sql = "SELECT known.event, known.epoch, last_seq, first_number, mark FROM feed_events AS known \
               LEFT JOIN feed ON feed.event = known.event AND seq = last_seq AND NOT lost \
               WHERE known.event = ANY ($1)";
    let found = all(db, sql, &[&ids]).await?;
    found
        .iter()
        .map(|row| {
            let head = Head {
                epoch: unsigned(row.try_get(1)?),
                last_seq: unsigned(row.try_get(2)?),
                first_number: row.try_get(3)?,
                mark: row.try_get::<_, Option<i64>>(4)?.map(unsigned),
            };
            Ok((parsed(row.try_get(0)?)?, head))
        })
        .collect()
}

async fn write_heads(db: &Transaction<'_>, heads: &BTreeMap<EventId, Head>) -> Result<(), Fault> {
    // One that was asked of and has nothing is not known.
    let heads: Vec<_> =
        heads.iter().filter(|(_, head)| head.last_seq > 0 || head.epoch > 0).collect();
    let events: Vec<&str> = heads.iter().map(|(event, _)| event.as_str()).collect();
    let epochs: Vec<i64> = heads.iter().map(|(_, head)| signed(head.epoch)).collect();
    let last: Vec<i64> = heads.iter().map(|(_, head)| signed(head.last_seq)).collect();
    let numbers: Vec<Option<i64>> = heads.iter().map(|(_, head)| head.first_number).collect();
    execute(
        db,
        "INSERT INTO feed_events (event, epoch, last_seq, first_number) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) \
         ON CONFLICT (event) DO UPDATE SET epoch = excluded.epoch, last_seq = excluded.last_seq, \
         first_number = excluded.first_number",
        &[&events, &epochs, &last, &numbers],
    )
    .await
    .map(drop)
}

/// What [`read`] reads.
pub(super) const COLUMNS: &str =
    "number, feed.event, feed.seq, feed.epoch, feed.at, feed.changes, feed.mark";
/// How many these are.
pub(super) const COLUMN_COUNT: usize = 7;

/// Asks for decisions of one event after an own number.
pub(super) fn page_of_event() -> String {
    format!(
        "SELECT {COLUMNS} FROM feed WHERE event = $1 AND seq > $2 AND NOT lost ORDER BY seq LIMIT $3"
    )
}

pub(super) fn read(row: &Row) -> Result<ArchivedRow, Fault> {
    Ok(ArchivedRow {
        number: unsigned(row.try_get(0)?),
        event: parsed(row.try_get(1)?)?,
        seq: unsigned(row.try_get(2)?),
        epoch: unsigned(row.try_get(3)?),
        at: Time(row.try_get(4)?),
        changes: row.try_get(5)?,
        mark: row.try_get::<_, Option<i64>>(6)?.map(unsigned),
    })
}

/// Decisions of all events after a number.
pub(super) struct ReadFeed(pub(super) u64, pub(super) usize);

impl Ask<Vec<ArchivedRow>> for ReadFeed {
    async fn run(&self, db: &mut Client) -> Result<Vec<ArchivedRow>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM feed WHERE number > $1 AND NOT lost ORDER BY number LIMIT $2"
        );
        let found = all(db, &sql, &[&signed(self.0), &limit(self.1)]).await?;
        found.iter().map(read).collect()
    }
}

/// Decisions of one event after an own number.
pub(super) struct ReadEvent(pub(super) EventId, pub(super) u64, pub(super) usize);

impl Ask<Vec<ArchivedRow>> for ReadEvent {
    async fn run(&self, db: &mut Client) -> Result<Vec<ArchivedRow>, Fault> {
        let Self(event, after, most) = self;
        let sql = page_of_event();
        let found = all(db, &sql, &[&event.as_str(), &signed(*after), &limit(*most)]).await?;
        found.iter().map(read).collect()
    }
}

/// Where an event's history ends.
pub(super) struct HeadOf(pub(super) EventId);

impl Ask<ArchiveHead> for HeadOf {
    async fn run(&self, db: &mut Client) -> Result<ArchiveHead, Fault> {
        let sql = format!("SELECT {HEAD} FROM feed_events AS known WHERE known.event = $1");
        let found = first(db, &sql, &[&self.0.as_str()]).await?;
        found.as_ref().map_or_else(|| Ok(ArchiveHead::default()), head_of)
    }
}

/// What is told of `known`, a line of `feed_events`.
const HEAD: &str = "known.epoch, known.last_seq, (SELECT mark FROM feed WHERE \
                    feed.event = known.event AND feed.seq = known.last_seq AND NOT feed.lost)";

fn head_of(row: &Row) -> Result<ArchiveHead, Fault> {
    Ok(ArchiveHead {
        epoch: unsigned(row.try_get(0)?),
        seq: unsigned(row.try_get(1)?),
        mark: row.try_get::<_, Option<i64>>(2)?.map(unsigned),
    })
}

/// Begins another epoch of an event.
pub(super) struct BeginEpoch(pub(super) EventId, pub(super) u64);

impl Ask<ArchiveHead> for BeginEpoch {
    async fn run(&self, db: &mut Client) -> Result<ArchiveHead, Fault> {
        let Self(event, epoch) = self;
        let db = db.transaction().await?;
        // Whatever is being appended is there by then, or is refused.
        lock_end(&db).await?;
        let sql = format!(
            "INSERT INTO feed_events AS known (event, epoch, last_seq) \
             SELECT $1, 1, 0 WHERE $2 = 0::bigint \
             OR EXISTS (SELECT 1 FROM feed_events WHERE event = $1) \
             ON CONFLICT (event) DO UPDATE SET epoch = known.epoch + 1 \
             WHERE known.epoch = $2 RETURNING {HEAD}"
        );
        let begun = first(&db, &sql, &[&event.as_str(), &signed(*epoch)]).await?;
        let Some(row) = begun else { return Err(Fault::Conflict) };
        let answer = head_of(&row)?;
        db.commit().await?;
        Ok(answer)
    }
}

/// All events with anything archived.
pub(super) struct Events;

impl Ask<Vec<EventId>> for Events {
    async fn run(&self, db: &mut Client) -> Result<Vec<EventId>, Fault> {
        let sql = "SELECT event FROM feed_events WHERE first_number IS NOT NULL \
                   ORDER BY first_number";
        let found = all(db, sql, &[]).await?;
        found.iter().map(|row| parsed(row.try_get(0)?)).collect()
    }
}
