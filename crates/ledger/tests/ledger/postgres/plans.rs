//! How statements find their rows.

use super::books::{database, open};
use crate::rows::{booking_id, event, user};
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_ledger::booking::BuyerOf;
use onrush_ledger::money::PaymentFilter;
use onrush_ledger::postgres::PgLedger;
use onrush_ledger::receipt::ReceiptRule;
use onrush_ledger::saga::SagaFilter;
use std::time::Duration;
use tokio::time::timeout;

async fn ask(ledger: &PgLedger, of: &EventId) {
    let about = vec![booking_id("gala.1"), booking_id("gala.2")];
    ledger.messages_about(about).await.expect("read");
    let rule = ReceiptRule { with_sandbox: false, from: Some(Time(5)) };
    ledger.open_money(of, rule).await.expect("read");
    ledger.bookings_of(BuyerOf::Event(of.clone()), None, 9).await.expect("read");
    ledger.bookings_of(BuyerOf::User(user("ann")), None, 9).await.expect("read");
    ledger.user_of(&booking_id("gala.1")).await.expect("read");
    ledger.erase_buyers_of(of).await.expect("erased");
    let sagas = SagaFilter { event: Some(of.clone()), ..SagaFilter::default() };
    ledger.sagas(sagas, 9).await.expect("read");
    for stuck in [None, Some(false), Some(true)] {
        let sagas = SagaFilter { stuck, ..SagaFilter::default() };
        ledger.sagas(sagas, 9).await.expect("read");
    }
    for after in [None, Some("gala.1")] {
        ledger.all_sagas(after, 9).await.expect("read");
    }
    let theirs = PaymentFilter { event: Some(of.clone()), ..PaymentFilter::default() };
    ledger.payments(theirs.clone(), 9).await.expect("read");
    ledger.refunds(theirs, 9).await.expect("read");
}

/// They have some seconds, and tables may have millions of rows. Where an index can be gone by, one is:
/// nodes tell PostgreSQL so.
#[tokio::test]
async fn what_is_asked_of_one_event_or_booking_and_lists_of_all_sagas_go_by_an_index() {
    let Some((server, url)) = database() else { return };
    let sql = |sql: &str| server.sql(&url, sql).expect("rows");
    let scans = async |ledger: PgLedger| {
        ledger.close().await;
        // What a connection did is counted by when it is gone.
        let left = "SELECT count(*) FROM pg_stat_activity \
                    WHERE datname = current_database() AND application_name = 'onrush'";
        let gone = async {
            while sql(left) != "0" {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(20), gone).await.expect("in time");
        sql("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname IN \
             ('bookings', 'buyers', 'deliveries', 'messages', 'payments', 'receipts', 'refunds', 'sagas') \
             ORDER BY relname")
    };
    // The steps that make the tables go through some.
    let before = scans(open(&url).await).await;
    let ledger = open(&url).await;
    ask(&ledger, &event("gala")).await;
    assert_eq!(scans(ledger).await, before);
}
