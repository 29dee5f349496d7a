//! Events that are over, and who bought at them.

use super::buyers;
use super::database::{Ask, all, execute};
use super::fault::Fault;
use super::rows::{limit, parsed};
use crate::retention::{ERASED_AT_ONCE, Whom, at_rest, bookings_of};
use deadpool_postgres::{Client, Transaction};
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

/// Which bookings of a table are an event's.
macro_rules! of_event {
    () => {
        "booking_id > $1 AND booking_id < $2 \
         AND position('.' IN substr(booking_id, $3::bigint::integer)) = 0"
    };
}

/// The statements that find whom to erase: some who buy, and some whom documents name although their
/// bookings have no buyer. What follows says for which of an event's bookings.
macro_rules! finding {
    ($and_of_buyers:expr, $and_of_receipts:expr) => {
        [
            concat!(
                "SELECT booking_id FROM buyers WHERE ",
                of_event!(),
                $and_of_buyers,
                " ORDER BY booking_id LIMIT $4 FOR UPDATE OF buyers"
            ),
            concat!(
                "SELECT DISTINCT booking_id FROM receipts WHERE buyer_name IS NOT NULL AND ",
                of_event!(),
                $and_of_receipts,
                " ORDER BY booking_id LIMIT $4"
            ),
        ]
    };
}

/// Erases some who bought at an event; says for how many bookings. Where it was [`ERASED_AT_ONCE`],
/// there may be more.
pub(super) async fn erase_some(
    db: &Transaction<'_>,
    event: &EventId,
    whom: Whom,
) -> Result<u64, Fault> {
    let (from, to, rest) = bookings_of(event);
    let [of_buyers, of_receipts] = match whom {
        Whom::All => finding!("", ""),
        Whom::AtRest => {
            finding!(concat!(" AND ", at_rest!("buyers")), concat!(" AND ", at_rest!("receipts")))
        }
    };
    let buyers = all(db, of_buyers, &[&from, &to, &rest, &signed(ERASED_AT_ONCE)]).await?;
    let erased = buyers::erase_these(db, &texts(&buyers)?).await?;
    // Where the last buyer is gone, what was issued may name an earlier one.
    let most = signed(ERASED_AT_ONCE.saturating_sub(erased));
    let named = all(db, of_receipts, &[&from, &to, &rest, &most]).await?;
    Ok(erased + buyers::erase_these(db, &texts(&named)?).await?)
}

/// Erases some who bought at an event, where nothing is under way.
pub(super) struct EraseOf(pub(super) EventId);

impl Ask<u64> for EraseOf {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        let db = db.transaction().await?;
        let erased = erase_some(&db, &self.0, Whom::AtRest).await?;
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
