//! Messages, and their delivery over each channel.

use super::claims::{Claimant, comes_free_in_ms, is_free, next_at};
use super::database::{Ask, all, execute, first};
use super::fault::Fault;
use super::query::{POSTGRES, PageOf};
use super::rows::{OutcomeRow, json, json_of, limit, parse, rows_of};
use crate::delivery::{DeadLetter, Delivered, Delivery, Message, REPLAYED_AT_ONCE};
use crate::lists;
use deadpool_postgres::{Client, Transaction};
use onrush_core::Time;
use onrush_core::ids::BookingId;
use std::collections::HashSet;
use std::sync::OnceLock;
use tokio_postgres::Row;

/// Writes down messages with a delivery for each of their channels, due at once. One that is known
/// is dropped whole.
pub(super) async fn put(db: &Transaction<'_>, mut messages: Vec<&Message>) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    messages.retain(|message| seen.insert(message.id.as_str()));
    if messages.is_empty() {
        return Ok(());
    }
    execute(
        db,
        "WITH told AS (SELECT * FROM json_to_recordset($1::text::json) AS told (message_id text, \
         kind text, event_id text, booking_id text, at bigint, body text, channels text[])), \
         new AS (INSERT INTO messages (message_id, kind, event_id, booking_id, at, body) \
         SELECT message_id, kind, event_id, booking_id, at, body FROM told ORDER BY message_id \
         ON CONFLICT (message_id) DO NOTHING RETURNING message_id) \
         INSERT INTO deliveries (message_id, channel, attempts, since, next_at) \
         SELECT DISTINCT told.message_id, channel, 0, at, at FROM told JOIN new USING (message_id), \
         unnest(told.channels) AS channel",
        &[&json_of(messages)?],
    )
    .await
    .map(drop)
}

/// Writes down one message by itself.
pub(super) struct Tell(pub(super) Message);

impl Ask<()> for Tell {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let db = db.transaction().await?;
        put(&db, vec![&self.0]).await?;
        Ok(db.commit().await?)
    }
}

/// Takes up deliveries that are due.
pub(super) struct Due {
    pub(super) claimant: Claimant,
    pub(super) channel: String,
    pub(super) at: Time,
    pub(super) limit: usize,
}

impl Ask<Vec<Delivery>> for Due {
    async fn run(&self, db: &mut Client) -> Result<Vec<Delivery>, Fault> {
        let Self { claimant: Claimant { node, claim_ms }, channel, at, limit: most } = self;
        let due = all(
            db,
            concat!(
                "WITH due AS (SELECT message_id, attempts, since, next_at FROM deliveries \
                 WHERE channel = $5 AND next_at IS NOT NULL AND next_at <= $2 AND ",
                is_free!(),
                " ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED), \
                 claimed AS (UPDATE deliveries SET claimed_by = $1, \
                 claimed_until = clock_timestamp() + $4::double precision * interval '1 millisecond' \
                 FROM due WHERE deliveries.message_id = due.message_id AND channel = $5 \
                 AND (claimed_by IS DISTINCT FROM $1 \
                 OR claimed_until < clock_timestamp() \
                 + $4::double precision / 2 * interval '1 millisecond')) \
                 SELECT row_to_json(messages)::text, attempts, since \
                 FROM due JOIN messages USING (message_id) ORDER BY next_at"
            ),
            &[&&**node, &at.0, &limit(*most), claim_ms, channel],
        )
        .await?;
        due.iter()
            .map(|row| {
                Ok(Delivery {
                    message: parse(row.try_get(0)?)?,
                    attempts: count(row, 1)?,
                    since: Time(row.try_get(2)?),
                })
            })
            .collect()
    }
}

/// Renews a node's claims; says which it still has.
pub(super) struct Keep {
    pub(super) claimant: Claimant,
    pub(super) channel: String,
    pub(super) messages: Vec<String>,
}

impl Ask<Vec<String>> for Keep {
    async fn run(&self, db: &mut Client) -> Result<Vec<String>, Fault> {
        let Self { claimant: Claimant { node, claim_ms }, channel, messages } = self;
        // Everybody locks deliveries in the same order.
        let sql = "WITH mine AS (SELECT message_id FROM deliveries \
                   WHERE channel = $3 AND message_id = ANY ($4) AND claimed_by = $1 \
                   ORDER BY message_id FOR UPDATE) \
                   UPDATE deliveries SET \
                   claimed_until = clock_timestamp() + $2::double precision * interval '1 millisecond' \
                   FROM mine WHERE deliveries.message_id = mine.message_id AND channel = $3 \
                   RETURNING deliveries.message_id";
        let kept = all(db, sql, &[&&**node, claim_ms, channel, messages]).await?;
        kept.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }
}

/// What was to be told of bookings, with the channels over which that is still to be done.
pub(super) struct About(pub(super) Vec<BookingId>);

impl Ask<Vec<Message>> for About {
    async fn run(&self, db: &mut Client) -> Result<Vec<Message>, Fault> {
        let bookings: Vec<&str> = self.0.iter().map(BookingId::as_str).collect();
        let sql = "SELECT row_to_json(told)::text FROM (SELECT messages.*, \
                   ARRAY(SELECT channel FROM deliveries \
                   WHERE deliveries.message_id = messages.message_id ORDER BY channel) AS channels \
                   FROM messages WHERE booking_id = ANY ($1) ORDER BY at, message_id) AS told";
        rows_of(db, sql, &[&bookings]).await
    }
}

/// When there will be a delivery to take up.
pub(super) struct Next {
    pub(super) claimant: Claimant,
    pub(super) channel: String,
    pub(super) now: Option<Time>,
}

impl Ask<Option<Time>> for Next {
    async fn run(&self, db: &mut Client) -> Result<Option<Time>, Fault> {
        let found = first(
            db,
            concat!(
                "SELECT (SELECT next_at FROM deliveries WHERE channel = $3 AND next_at IS NOT NULL \
                 AND ",
                is_free!(),
                " ORDER BY next_at LIMIT 1), (SELECT ",
                comes_free_in_ms!(),
                " FROM deliveries WHERE channel = $3 AND next_at IS NOT NULL AND next_at <= $2 \
                 AND NOT ",
                is_free!(),
                ")"
            ),
            &[&&*self.claimant.node, &self.now.map(|now| now.0), &self.channel],
        )
        .await?;
        let Some(row) = found else { return Ok(None) };
        Ok(next_at(row.try_get(0)?, row.try_get(1)?, self.now))
    }
}

/// Writes down what became of different deliveries.
pub(super) async fn delivered(
    db: &Transaction<'_>,
    outcomes: &[(&str, &(String, Delivered))],
) -> Result<(), Fault> {
    let (mut done, mut others) = (Vec::new(), Vec::new());
    for (channel, (message, outcome)) in outcomes {
        let row = OutcomeRow::of(channel, message, outcome);
        match outcome {
            Delivered::Done => done.push(row),
            Delivered::Again { .. } | Delivered::Waits { .. } | Delivered::Dead { .. } => {
                others.push(row);
            }
        }
    }
    // Everybody locks deliveries in the same order.
    let mut both: Vec<_> =
        outcomes.iter().map(|(channel, (message, _))| (message.as_str(), *channel)).collect();
    both.sort_unstable();
    let (messages, channels): (Vec<&str>, Vec<&str>) = both.into_iter().unzip();
    all(
        db,
        "SELECT 1 FROM deliveries JOIN unnest($1::text[], $2::text[]) AS told (message_id, channel) \
         USING (message_id, channel) ORDER BY message_id, channel FOR UPDATE OF deliveries",
        &[&messages, &channels],
    )
    .await?;
    if !done.is_empty() {
        execute(
            db,
            "DELETE FROM deliveries USING json_populate_recordset(NULL::deliveries, $1::text::json) \
             AS told WHERE deliveries.message_id = told.message_id \
             AND deliveries.channel = told.channel",
            &[&json(&done)?],
        )
        .await?;
    }
    if !others.is_empty() {
        execute(
            db,
            "UPDATE deliveries SET attempts = deliveries.attempts + told.attempts, \
             next_at = told.next_at, died_at = told.died_at, error = told.error, \
             claimed_by = NULL, claimed_until = NULL \
             FROM json_populate_recordset(NULL::deliveries, $1::text::json) AS told \
             WHERE deliveries.message_id = told.message_id AND deliveries.channel = told.channel",
            &[&json(&others)?],
        )
        .await?;
    }
    Ok(())
}

/// Reads one page of deliveries that were given up.
pub(super) fn dead(channel: Option<&str>, after: Option<&str>, limit: usize) -> PageOf<DeadLetter> {
    PageOf {
        columns: "row_to_json(messages)::text, channel, attempts, died_at, error".into(),
        list: lists::dead_letters(&POSTGRES, channel, after, limit),
        read: |row| {
            Ok(DeadLetter {
                message: parse(row.try_get(0)?)?,
                channel: row.try_get(1)?,
                attempts: count(row, 2)?,
                died_at: Time(row.try_get(3)?),
                error: row.try_get(4)?,
            })
        },
    }
}

fn count(row: &Row, column: usize) -> Result<u32, Fault> {
    let number: i64 = row.try_get(column)?;
    u32::try_from(number).map_err(|_| Fault::Unreadable(format!("{number} is no count")))
}

/// Makes what was given up due again, as if it had never been tried: one message's, or of a channel's
/// the first [`REPLAYED_AT_ONCE`].
pub(super) struct Replay {
    channel: String,
    message: Option<String>,
    at: Time,
    /// When the last of the channel's was given up: what is given up while they are replayed is left
    /// alone.
    newest: OnceLock<i64>,
}

impl Replay {
    pub(super) fn of(channel: &str, message: Option<String>, at: Time) -> Self {
        Self { channel: channel.to_owned(), message, at, newest: OnceLock::new() }
    }
}

impl Ask<u64> for Replay {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let Self { channel, message, at, newest } = self;
        if let Some(message) = message {
            let sql = "UPDATE deliveries SET attempts = 0, since = $3, next_at = $3, \
                       died_at = NULL, claimed_by = NULL, claimed_until = NULL \
                       WHERE message_id = $1 AND channel = $2 AND died_at IS NOT NULL";
            return execute(db, sql, &[message, channel, &at.0]).await;
        }
        let newest = match newest.get() {
            Some(known) => *known,
            None => {
                let sql = "SELECT died_at FROM deliveries WHERE channel = $1 \
                           AND died_at IS NOT NULL ORDER BY died_at DESC LIMIT 1";
                let Some(row) = first(db, sql, &[channel]).await? else { return Ok(0) };
                let found = row.try_get(0)?;
                *newest.get_or_init(|| found)
            }
        };
        let sql = "WITH given_up AS (SELECT message_id FROM deliveries \
                   WHERE channel = $1 AND died_at IS NOT NULL AND died_at <= $3 \
                   ORDER BY died_at, message_id LIMIT $4 FOR UPDATE) \
                   UPDATE deliveries SET attempts = 0, since = $2, next_at = $2, died_at = NULL, \
                   claimed_by = NULL, claimed_until = NULL \
                   FROM given_up WHERE deliveries.message_id = given_up.message_id AND channel = $1";
        execute(db, sql, &[channel, &at.0, &newest, &REPLAYED_AT_ONCE.cast_signed()]).await
    }
}
