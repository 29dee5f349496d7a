//! Sagas, their transitions and their histories.

use super::buyers;
use super::claims::{Claimant, comes_free_in_ms, is_free, next_at};
use super::database::{Ask, all, execute, first};
use super::deliveries;
use super::fault::Fault;
use super::rows::{
    self, BuyerRow, NoteRow, json, json_of, limit, parse, parse_all, parsed, rows_of,
};
use super::writer::Slot;
use crate::LedgerError;
use crate::money::{Payment, Refund};
use crate::rows::Stored;
use crate::saga::{Saga, SagaNote, SagaRecord, Transition};
use deadpool_postgres::{Client, GenericClient, Transaction};
use onrush_core::Time;
use onrush_core::ids::BookingId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

/// Writes sagas for the first time, and says which of them there were not.
static BEGIN: LazyLock<String> = LazyLock::new(|| {
    let insert = &Saga::table().all.insert;
    format!("{insert} ORDER BY booking_id ON CONFLICT (booking_id) DO NOTHING RETURNING booking_id")
});

/// Writes sagas in place of those stored.
static REPLACE: LazyLock<String> = LazyLock::new(|| {
    let new = Saga::table().all.assigned("new");
    format!(
        "UPDATE sagas SET {new}, claimed_by = CASE WHEN $2 THEN NULL ELSE sagas.claimed_by END, \
         claimed_until = CASE WHEN $2 THEN NULL ELSE sagas.claimed_until END \
         FROM json_populate_recordset(NULL::sagas, $1::text::json) AS new \
         WHERE sagas.booking_id = new.booking_id"
    )
});

/// Everything about one booking's money, as it is at one moment.
pub(super) struct RecordOf(pub(super) BookingId);

impl Ask<Option<SagaRecord>> for RecordOf {
    async fn run(&self, db: &mut Client) -> Result<Option<SagaRecord>, Fault> {
        let found = first(
            db,
            "SELECT row_to_json(sagas)::text, \
             (SELECT json_agg(payments ORDER BY created_at, payment_id)::text FROM payments \
              WHERE booking_id = $1), \
             (SELECT json_agg(refunds ORDER BY created_at, refund_id)::text FROM refunds \
              WHERE booking_id = $1) \
             FROM sagas WHERE booking_id = $1",
            &[&self.0.as_str()],
        )
        .await?;
        let Some(row) = found else { return Ok(None) };
        Ok(Some(SagaRecord {
            saga: parse(row.try_get(0)?)?,
            payments: parse_all::<Payment>(row.try_get(1)?)?,
            refunds: parse_all::<Refund>(row.try_get(2)?)?,
        }))
    }
}

/// Does transitions of different bookings at once. Those that conflict are told so; all others are written.
pub(super) async fn advance(
    db: &Transaction<'_>,
    jobs: Vec<(&Transition, &mut Slot<()>)>,
) -> Result<(), Fault> {
    // Everybody locks sagas in the same order. So nobody waits for one who waits for them.
    let ids: Vec<&str> = jobs.iter().map(|(job, _)| job.saga.booking.as_str()).collect();
    let stored = versions(db, &ids).await?;
    let is_next = |saga: &Saga| match (saga.version, stored.get(saga.booking.as_str())) {
        (1, None) => true,
        (version, Some(stored)) => version.checked_sub(1) == Some(*stored) && version > 1,
        (_, None) => false,
    };
    let (mut going, mut conflicting): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|(job, _)| is_next(&job.saga));
    let new = going.iter().map(|(job, _)| &job.saga).filter(|saga| saga.version == 1);
    let begun = begin(db, new).await?;
    // Another node may have begun the same saga at this very moment.
    let (keep, late) = going
        .into_iter()
        .partition(|(job, _)| job.saga.version > 1 || begun.contains(&job.saga.booking));
    going = keep;
    conflicting.extend::<Vec<_>>(late);
    let written: Vec<&Transition> = going.iter().map(|(job, _)| *job).collect();
    replace(db, written.iter().map(|job| &job.saga).filter(|saga| saga.version > 1), true).await?;
    write_rest(db, &written).await?;
    for (_, slot) in going {
        slot.put(Ok(()));
    }
    for (_, slot) in conflicting {
        slot.put(Err(LedgerError::Conflict));
    }
    Ok(())
}

/// What transitions bring beside their sagas.
async fn write_rest(db: &Transaction<'_>, transitions: &[&Transition]) -> Result<(), Fault> {
    // By their keys: one that comes twice in a transition is as it was told last.
    let mut payments: BTreeMap<_, &Payment> = BTreeMap::new();
    let mut refunds: BTreeMap<_, &Refund> = BTreeMap::new();
    let (mut notes, mut buyers, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for transition in transitions {
        let Transition { saga, payments: paid, refunds: given_back, buyer, note, messages: told } =
            transition;
        for payment in paid {
            payments.insert((payment.booking.as_str(), payment.payment.as_str()), payment);
        }
        for refund in given_back {
            refunds.insert((refund.booking.as_str(), refund.refund.as_str()), refund);
        }
        if !note.is_empty() {
            notes.push(note_of(saga, note));
        }
        buyers.extend(buyer.as_ref().map(|it| BuyerRow::of(&saga.booking, &saga.user, it)));
        messages.extend(told);
    }
    rows::put(db, payments.into_values()).await?;
    rows::put(db, refunds.into_values()).await?;
    remember(db, &notes).await?;
    buyers::set_all(db, &buyers).await?;
    deliveries::put(db, messages).await
}

pub(super) fn note_of<'a>(saga: &'a Saga, note: &'a str) -> NoteRow<'a> {
    NoteRow {
        booking_id: &saga.booking,
        version: saga.version,
        at: saga.updated_at,
        step: saga.step,
        payment_id: saga.payment.as_ref(),
        note,
    }
}

/// The versions of the sagas there are, which nobody else writes from now on.
async fn versions(db: &Transaction<'_>, ids: &[&str]) -> Result<HashMap<String, u64>, Fault> {
    let found = all(
        db,
        "SELECT booking_id, version FROM sagas WHERE booking_id = ANY ($1) ORDER BY booking_id \
         FOR UPDATE",
        &[&ids],
    )
    .await?;
    found.iter().map(|row| Ok((row.try_get(0)?, rows::unsigned(row.try_get(1)?)))).collect()
}

/// Writes sagas for the first time; says which of them there were not.
pub(super) async fn begin(
    db: &Transaction<'_>,
    sagas: impl Iterator<Item = &Saga>,
) -> Result<HashSet<BookingId>, Fault> {
    let sagas: Vec<&Saga> = sagas.collect();
    if sagas.is_empty() {
        return Ok(HashSet::new());
    }
    let begun = all(db, &BEGIN, &[&json_of(sagas)?]).await?;
    begun.iter().map(|row| parsed(row.try_get(0)?)).collect()
}

/// Writes sagas in place of those stored, whose rows are locked. `ends_claim`: whoever worked on
/// them is done.
pub(super) async fn replace(
    db: &Transaction<'_>,
    sagas: impl Iterator<Item = &Saga>,
    ends_claim: bool,
) -> Result<(), Fault> {
    let sagas: Vec<&Saga> = sagas.collect();
    if sagas.is_empty() {
        return Ok(());
    }
    execute(db, &REPLACE, &[&json_of(sagas)?, &ends_claim]).await.map(drop)
}

/// Writes lines of history, each with the stage of the present payment as it is written by now.
pub(super) async fn remember(db: &Transaction<'_>, notes: &[NoteRow<'_>]) -> Result<(), Fault> {
    if notes.is_empty() {
        return Ok(());
    }
    execute(
        db,
        "INSERT INTO saga_history (saga, version, at, step, stage, note) \
         SELECT sagas.number, new.version, new.at, new.step, payments.stage, new.note \
         FROM json_to_recordset($1::text::json) AS new (booking_id text, version bigint, at bigint, \
         step text, payment_id text, note text) \
         JOIN sagas ON sagas.booking_id = new.booking_id \
         LEFT JOIN payments ON payments.booking_id = new.booking_id \
         AND payments.payment_id = new.payment_id",
        &[&json(&notes)?],
    )
    .await
    .map(drop)
}

/// Takes up sagas that are due.
pub(super) struct Due {
    pub(super) claimant: Claimant,
    pub(super) at: Time,
    pub(super) limit: usize,
}

impl Ask<Vec<BookingId>> for Due {
    async fn run(&self, db: &mut Client) -> Result<Vec<BookingId>, Fault> {
        let Self { claimant: Claimant { node, claim_ms }, at, limit: most } = self;
        // A claim is written again only when half of it is over.
        let due = all(
            db,
            concat!(
                "WITH due AS (SELECT number, booking_id, next_at FROM sagas \
                 WHERE stuck IS NULL AND next_at IS NOT NULL AND next_at <= $2 AND ",
                is_free!(),
                " ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED), \
                 claimed AS (UPDATE sagas SET claimed_by = $1, \
                 claimed_until = clock_timestamp() + $4::double precision * interval '1 millisecond' \
                 FROM due WHERE sagas.number = due.number AND (sagas.claimed_by IS DISTINCT FROM $1 \
                 OR sagas.claimed_until < clock_timestamp() \
                 + $4::double precision / 2 * interval '1 millisecond')) \
                 SELECT booking_id FROM due ORDER BY next_at, number"
            ),
            &[&&**node, &at.0, &limit(*most), claim_ms],
        )
        .await?;
        due.iter().map(|row| parsed(row.try_get(0)?)).collect()
    }
}

/// When there will be something to take up.
pub(super) struct NextDue {
    pub(super) claimant: Claimant,
    pub(super) now: Option<Time>,
}

impl Ask<Option<Time>> for NextDue {
    async fn run(&self, db: &mut Client) -> Result<Option<Time>, Fault> {
        let found = first(
            db,
            concat!(
                "SELECT (SELECT next_at FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL AND ",
                is_free!(),
                " ORDER BY next_at LIMIT 1), (SELECT ",
                comes_free_in_ms!(),
                " FROM sagas WHERE stuck IS NULL AND next_at IS NOT NULL AND next_at <= $2 AND NOT ",
                is_free!(),
                ")"
            ),
            &[&&*self.claimant.node, &self.now.map(|now| now.0)],
        )
        .await?;
        let Some(row) = found else { return Ok(None) };
        Ok(next_at(row.try_get(0)?, row.try_get(1)?, self.now))
    }
}

/// Gives back what a node took up.
pub(super) async fn unclaim(db: &impl GenericClient, node: &str) -> Result<(), Fault> {
    // Each as the condition of an index has it.
    for (table, which) in [
        ("sagas", "stuck IS NULL AND next_at IS NOT NULL"),
        ("sagas", "stuck IS NOT NULL"),
        ("deliveries", "next_at IS NOT NULL"),
    ] {
        let sql = format!(
            "UPDATE {table} SET claimed_by = NULL, claimed_until = NULL \
             WHERE claimed_by = $1 AND {which}"
        );
        execute(db, &sql, &[&node]).await?;
    }
    Ok(())
}

/// What happened to one saga.
pub(super) struct History(pub(super) BookingId);

impl Ask<Vec<SagaNote>> for History {
    async fn run(&self, db: &mut Client) -> Result<Vec<SagaNote>, Fault> {
        let sql = "SELECT row_to_json(saga_history)::text FROM saga_history \
                   JOIN sagas ON sagas.number = saga_history.saga WHERE booking_id = $1 \
                   ORDER BY saga_history.version";
        rows_of(db, sql, &[&self.0.as_str()]).await
    }
}
