//! Lists of payments and refunds, and their sums.

use super::database::{Ask, first};
use super::fault::Fault;
use super::query::{Query, text, time_key};
use super::rows::{parse, unsigned, word};
use crate::Page;
use crate::money::{Payment, PaymentFilter, Refund, Totals};
use deadpool_postgres::Client;
use tokio_postgres::Row;

/// What both lists can be told: of one event, of one booking.
fn narrow(query: &mut Query, table: &str, filter: &PaymentFilter) {
    if let Some(event) = &filter.event {
        // Row by row, so that a page need not look at all there are.
        let condition = format!(
            "EXISTS (SELECT 1 FROM sagas WHERE sagas.booking_id = {table}.booking_id \
             AND event_id = ?)"
        );
        query.only(&condition, [text(event.as_str())]);
    }
    if let Some(booking) = &filter.booking {
        query.only("booking_id = ?", [text(booking.as_str())]);
    }
}

/// One page of payments.
pub(super) struct Payments(pub(super) PaymentFilter, pub(super) usize);

impl Ask for Payments {
    type Answer = Page<Payment>;

    async fn run(&self, db: &mut Client) -> Result<Page<Payment>, Fault> {
        let Self(filter, limit) = self;
        let mut query = Query::new("SELECT row_to_json(payments)::text FROM payments");
        narrow(&mut query, "payments", filter);
        if let Some(stage) = filter.stage {
            query.only("stage = ?", [text(&word(&stage)?)]);
        }
        if filter.flagged {
            query.only("flagged", []);
        }
        query.after(filter.after.as_deref(), "(created_at, payment_id) < (?, ?)", time_key);
        let read = |row: &Row| parse(row.try_get(0)?);
        query
            .page(db, "created_at DESC, payment_id DESC", *limit, read, |payment: &Payment| {
                format!("{}/{}", payment.created_at, payment.payment)
            })
            .await
    }
}

/// One page of refunds.
pub(super) struct Refunds(pub(super) PaymentFilter, pub(super) usize);

impl Ask for Refunds {
    type Answer = Page<Refund>;

    async fn run(&self, db: &mut Client) -> Result<Page<Refund>, Fault> {
        let Self(filter, limit) = self;
        let mut query = Query::new("SELECT row_to_json(refunds)::text FROM refunds");
        narrow(&mut query, "refunds", filter);
        query.after(filter.after.as_deref(), "(created_at, refund_id) < (?, ?)", time_key);
        let read = |row: &Row| parse(row.try_get(0)?);
        query
            .page(db, "created_at DESC, refund_id DESC", *limit, read, |refund: &Refund| {
                format!("{}/{}", refund.created_at, refund.refund)
            })
            .await
    }
}

/// Sums over everything, as it is at one moment.
pub(super) struct Sums;

impl Ask for Sums {
    type Answer = Totals;

    async fn run(&self, db: &mut Client) -> Result<Totals, Fault> {
        let db = db.transaction().await?;
        // Sums go through whole tables anyway.
        db.batch_execute("SET LOCAL enable_seqscan = on").await?;
        let found = first(
            &db,
            "SELECT open, stuck, captured, captured_minor, refunded_minor, refunding_minor FROM \
             (SELECT count(*) FILTER (WHERE current_step NOT IN ('CONFIRMED', 'FAILED')) AS open, \
              count(stuck) AS stuck FROM sagas) AS of_sagas, \
             (SELECT count(*) AS captured, coalesce(sum(captured_minor), 0)::bigint \
              AS captured_minor FROM payments WHERE captured_minor > 0) AS of_payments, \
             (SELECT coalesce(sum(amount_minor) FILTER (WHERE status = 'done'), 0)::bigint \
              AS refunded_minor, \
              coalesce(sum(amount_minor) FILTER (WHERE status IN ('requested', 'sent')), 0)::bigint \
              AS refunding_minor FROM refunds) AS of_refunds",
            &[],
        )
        .await?;
        let Some(row) = found else { return Ok(Totals::default()) };
        Ok(Totals {
            open_sagas: unsigned(row.try_get(0)?),
            stuck_sagas: unsigned(row.try_get(1)?),
            captured_payments: unsigned(row.try_get(2)?),
            captured_minor: row.try_get(3)?,
            refunded_minor: row.try_get(4)?,
            refunding_minor: row.try_get(5)?,
        })
    }
}
