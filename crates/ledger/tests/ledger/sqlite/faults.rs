//! What the SQLite ledger does when its disk fails.

use crate::rows::{booking_id, held, message, next, page, saga, to, user};
use onrush_core::Time;
use onrush_ledger::booking::{BookingFilter, Buyer};
use onrush_ledger::request::{Begun, RequestKey};
use onrush_ledger::saga::Transition;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_ledger::{Ledger, LedgerError};
use tempfile::TempDir;

fn ledger() -> (TempDir, SqliteLedger) {
    let dir = TempDir::new().expect("a directory");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    (dir, ledger)
}

fn is_unavailable<T>(outcome: &Result<T, LedgerError>) -> bool {
    matches!(outcome, Err(LedgerError::Unavailable(_)))
}

#[tokio::test]
async fn broken_ledger_answers_nobody_and_works_again_afterwards() {
    let (_dir, ledger) = ledger();
    let first = saga("gala.1", 5);
    ledger.advance(to(first.clone())).await.expect("written");
    let key = || RequestKey { scope: "s".into(), key: "k".into(), asker: Some("ann".into()) };

    ledger.break_for_tests(true);
    assert!(is_unavailable(&ledger.begin(key(), [0; 32], 1, Time(5)).await));
    assert!(is_unavailable(&ledger.saga_record(&first.booking).await));
    assert!(is_unavailable(&ledger.advance(to(next(&first))).await));
    assert!(is_unavailable(&ledger.project(page(1, vec![held("gala.2", 5)])).await));
    assert!(is_unavailable(&ledger.bookings(BookingFilter::default(), 9).await));
    assert!(is_unavailable(&ledger.totals().await));

    ledger.break_for_tests(false);
    assert_eq!(ledger.begin(key(), [0; 32], 1, Time(5)).await, Ok(Begun::Fresh));
    assert_eq!(ledger.cursor().await, Ok(0));
    ledger.advance(to(next(&first))).await.expect("written");
    assert_eq!(ledger.totals().await.expect("read").open_sagas, 1);
}

#[tokio::test]
async fn full_disk_refuses_writes_and_loses_nothing() {
    let (_dir, ledger) = ledger();
    let first = saga("gala.1", 5);
    ledger.advance(to(first.clone())).await.expect("written");

    ledger.fill_for_tests(true);
    // More than fits into what is left of the pages there are.
    let large = |n: u32| Transition {
        messages: vec![onrush_ledger::delivery::Message {
            body: "x".repeat(20_000),
            ..message(&format!("m{n}"), 5, &["mail"])
        }],
        ..to(saga(&format!("gala.large-{n}"), 5))
    };
    let pending: Vec<_> = (0..20).map(|n| ledger.advance(large(n))).collect();
    for outcome in pending {
        assert!(is_unavailable(&outcome.await));
    }
    // What is there can still be read.
    let record = ledger.saga_record(&first.booking).await.expect("read").expect("there");
    assert_eq!(record.saga, first);
    assert_eq!(ledger.saga_record(&booking_id("gala.large-0")).await, Ok(None));
    assert_eq!(ledger.totals().await.expect("read").open_sagas, 1);

    ledger.fill_for_tests(false);
    ledger.advance(large(1)).await.expect("written");
    assert_eq!(ledger.next_delivery("mail").await, Ok(Some(Time(5))));
    assert_eq!(ledger.totals().await.expect("read").open_sagas, 2);
}

#[tokio::test]
async fn too_much_at_once_is_refused_but_never_what_money_came_to() {
    let (_dir, ledger) = ledger();
    // Keeps the writer busy with one large page while the rest is asked.
    let facts = (0..20_000).map(|n| held(&format!("gala.{n}"), n)).collect();
    let busy = ledger.project(page(1, facts));
    let id = booking_id("gala.buyer");
    let pending: Vec<_> =
        (0..20_000).map(|_| ledger.set_buyer(&id, &user("ann"), Buyer::default())).collect();
    let paid: Vec<_> =
        (0..100).map(|n| ledger.advance(to(saga(&format!("gala.paid-{n}"), 5)))).collect();
    let followed = ledger.project(page(2, vec![held("gala.last", 9)]));
    let mut refused = 0;
    for outcome in pending {
        match outcome.await {
            Ok(()) => {}
            Err(LedgerError::Unavailable(why)) => {
                assert!(why.contains("too much at once"), "{why}");
                refused += 1;
            }
            Err(LedgerError::Conflict) => panic!("a buyer conflicts with nobody"),
        }
    }
    assert!(refused > 0);
    busy.await.expect("written");
    for outcome in paid {
        outcome.await.expect("written");
    }
    followed.await.expect("written");
    assert_eq!(ledger.totals().await.expect("read").open_sagas, 100);
    for id in ["gala.0", "gala.19999", "gala.last"] {
        assert!(ledger.booking(&booking_id(id)).await.expect("read").is_some(), "{id}");
    }
}
