//! Sums of payments and refunds.

use super::database::{Ask, begin_until, first};
use super::fault::Fault;
use super::rows::unsigned;
use crate::lists;
use crate::money::{OpenMoney, Totals};
use crate::receipt::ReceiptRule;
use deadpool_postgres::Client;
use onrush_core::ids::EventId;
use tokio::time::Instant;

/// Sums over everything, as it is at one moment.
pub(super) struct Sums;

impl Ask<Totals> for Sums {
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

/// What is still to come of one event's money, documents by a rule, and until when it may take to look
/// at all its sagas.
pub(super) struct Open(pub(super) EventId, pub(super) ReceiptRule, pub(super) Instant);

impl Ask<OpenMoney> for Open {
    async fn run(&self, db: &mut Client) -> Result<OpenMoney, Fault> {
        let Self(event, rule, until) = self;
        let db = begin_until(db, *until).await?;
        let found = first(&db, &lists::open_money(*rule), &[&event.as_str()]).await?;
        let Some(row) = found else { return Ok(OpenMoney::default()) };
        Ok(OpenMoney {
            under_way: unsigned(row.try_get(0)?),
            without_document: unsigned(row.try_get(1)?),
        })
    }
}
