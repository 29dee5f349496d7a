//! What is left of the SQLite ledger when the process ends at any moment.

use super::books::{Books, open};
use crate::rows::{booking_id, next, saga, to};
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Takes the files as a crash would leave them. The log is copied last: it has what the file has not.
fn crash_image(dir: &Path) -> TempDir {
    let image = TempDir::new().expect("a directory");
    for name in ["ledger.db", "ledger.db-wal"] {
        fs::copy(dir.join(name), image.path().join(name)).expect("copied");
    }
    image
}

#[tokio::test]
async fn ledger_that_was_never_closed_has_all_that_it_answered() {
    let books = Books::new().await.expect("a directory");
    for n in 0..50 {
        let first = saga(&format!("gala.{n}"), n);
        books.advance(to(first.clone())).await.expect("written");
        books.advance(to(next(&first))).await.expect("written");
    }
    let image = crash_image(books.dir.path());
    let left = open(image.path());
    for n in 0..50 {
        let id = booking_id(&format!("gala.{n}"));
        assert_eq!(left.saga_record(&id).await, books.saga_record(&id).await);
        assert_eq!(left.history(&id).await.expect("read").len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_amid_concurrent_callers_loses_nothing_that_was_answered() {
    const CALLERS: usize = 64;
    const EACH: u64 = 40;
    let dir = TempDir::new().expect("a directory");
    let ledger = Arc::new(SqliteLedger::open(dir.path()).expect("opened"));
    let answered: Arc<Vec<AtomicU64>> = Arc::new((0..CALLERS).map(|_| AtomicU64::new(0)).collect());
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        let (ledger, answered) = (ledger.clone(), answered.clone());
        callers.push(tokio::spawn(async move {
            let mut row = saga(&format!("gala.{caller}"), 5);
            for version in 1..=EACH {
                ledger.advance(to(row.clone())).await.expect("written");
                answered[caller].store(version, Ordering::Release);
                row = next(&row);
            }
        }));
    }
    let snapshot = || -> Vec<u64> { answered.iter().map(|n| n.load(Ordering::Acquire)).collect() };
    let mut images = Vec::new();
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) && images.len() < 40 {
        let before = snapshot();
        images.push((before, crash_image(dir.path())));
        tokio::task::yield_now().await;
    }
    for caller in callers {
        caller.await.expect("no panic");
    }
    images.push((snapshot(), crash_image(dir.path())));
    for (before, image) in images {
        let left = open(image.path());
        for (caller, answered) in before.into_iter().enumerate() {
            let record =
                left.saga_record(&booking_id(&format!("gala.{caller}"))).await.expect("read");
            let version = record.map_or(0, |record| record.saga.version);
            assert!(version >= answered, "{caller} was told {answered}, and {version} is left");
        }
    }
}

#[tokio::test]
async fn what_is_waiting_when_the_ledger_closes_is_done_and_answered() {
    let dir = TempDir::new().expect("a directory");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let pending: Vec<_> =
        (0..500).map(|n| ledger.advance(to(saga(&format!("gala.{n}"), 5)))).collect();
    ledger.close();
    for written in pending {
        written.await.expect("written");
    }
    assert_eq!(open(dir.path()).totals().await.expect("read").open_sagas, 500);
}
