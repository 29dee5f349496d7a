//! Events that are over, and who bought at them.

use super::buyers;
use super::database::{Ask, all, execute};
use super::fault::Fault;
use super::rows::{limit, parsed};
use crate::retention::{ERASED_AT_ONCE, at_rest, bookings_of};
use deadpool_postgres::Client;
use onrush_core::Time;
use onrush_core::ids::EventId;
use tokio_postgres::Row;

fn id(after: Option<&EventId>) -> &str {
    after.map_or("", EventId::as_str)
}

fn ids(rows: &[Row]) -> Result<Vec<EventId>, Fault> {
    rows.iter().map(|row| parsed(row.try_get(0)?)).collect()
}

/// Events of the catalogue that were not seen to be over, by id.
pub(super) struct NotOver(pub(super) Option<EventId>, pub(super) usize);

impl Ask<Vec<EventId>> for NotOver {
    async fn run(&self, db: &mut Client) -> Result<Vec<EventId>, Fault> {
        let sql = "SELECT event_id FROM catalogue_events WHERE event_id > $1 \
                   AND NOT EXISTS (SELECT 1 FROM events_over \
                   WHERE events_over.event_id = catalogue_events.event_id) \
                   ORDER BY event_id LIMIT $2";
        ids(&all(db, sql, &[&id(self.0.as_ref()), &limit(self.1)]).await?)
    }
}

/// Says that events are over.
pub(super) struct NoteOver(pub(super) Vec<EventId>, pub(super) Time);

impl Ask<()> for NoteOver {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let events: Vec<&str> = self.0.iter().map(EventId::as_str).collect();
        let sql = "INSERT INTO events_over (event_id, since) \
                   SELECT event_id, $2 FROM unnest($1::text[]) AS event_id ORDER BY event_id \
                   ON CONFLICT (event_id) DO NOTHING";
        execute(db, sql, &[&events, &self.1.0]).await.map(drop)
    }
}

/// Events that were over by a time, by id.
pub(super) struct Over {
    pub(super) by: Time,
    pub(super) after: Option<EventId>,
    pub(super) limit: usize,
}

impl Ask<Vec<EventId>> for Over {
    async fn run(&self, db: &mut Client) -> Result<Vec<EventId>, Fault> {
        let Self { by, after, limit: most } = self;
        let sql = "SELECT event_id FROM events_over WHERE event_id > $1 AND since <= $2 \
                   ORDER BY event_id LIMIT $3";
        ids(&all(db, sql, &[&id(after.as_ref()), &by.0, &limit(*most)]).await?)
    }
}

/// Which bookings of a table are an event's and at rest.
macro_rules! of_event {
    ($table:literal) => {
        concat!(
            "booking_id > $1 AND booking_id < $2 \
             AND position('.' IN substr(booking_id, $3::bigint::integer)) = 0 AND ",
            at_rest!($table)
        )
    };
}

/// Erases some who bought at an event.
pub(super) struct EraseOf(pub(super) EventId);

impl Ask<u64> for EraseOf {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let (from, to, rest) = bookings_of(&self.0);
        let db = db.transaction().await?;
        let sql = concat!(
            "SELECT booking_id FROM buyers WHERE ",
            of_event!("buyers"),
            " ORDER BY booking_id LIMIT $4 FOR UPDATE OF buyers"
        );
        let buyers = all(&db, sql, &[&from, &to, &rest, &signed(ERASED_AT_ONCE)]).await?;
        let erased = buyers::erase_these(&db, &texts(&buyers)?).await?;
        // Where the last buyer is gone, what was issued may name an earlier one.
        let sql = concat!(
            "SELECT DISTINCT booking_id FROM receipts WHERE buyer_name IS NOT NULL AND ",
            of_event!("receipts"),
            " ORDER BY booking_id LIMIT $4"
        );
        let most = signed(ERASED_AT_ONCE.saturating_sub(erased));
        let named = all(&db, sql, &[&from, &to, &rest, &most]).await?;
        let erased = erased + buyers::erase_these(&db, &texts(&named)?).await?;
        db.commit().await?;
        Ok(erased)
    }
}

fn texts(rows: &[Row]) -> Result<Vec<String>, Fault> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

fn signed(count: u64) -> i64 {
    limit(usize::try_from(count).unwrap_or(usize::MAX))
}
