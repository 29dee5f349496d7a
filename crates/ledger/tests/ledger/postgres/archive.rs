//! The archive of the feed.

use super::books::{Books, open};
use crate::rows::event;
use onrush_core::Time;
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::{ArchivedRow, PgLedger, RowToArchive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;

fn row(seq: u64, changes: &str) -> RowToArchive {
    RowToArchive { seq, at: Time(1_000 + seq.cast_signed()), changes: changes.into() }
}

fn rows(seqs: std::ops::RangeInclusive<u64>) -> Vec<RowToArchive> {
    seqs.map(|seq| row(seq, &format!(r#"[{{"n": {seq}}}]"#))).collect()
}

fn short(rows: &[ArchivedRow]) -> Vec<(u64, &str, u64, u64)> {
    rows.iter().map(|row| (row.number, row.event.as_str(), row.epoch, row.seq)).collect()
}

async fn append(ledger: &PgLedger, of: &str, epoch: u64, rows: Vec<RowToArchive>) {
    ledger.append(event(of), epoch, rows).await.expect("archived");
}

#[tokio::test]
async fn decisions_are_numbered_over_all_events_and_read_back() {
    let Some(mut books) = Books::new().await else { return };
    let pg = books.pg();
    assert_eq!(pg.read_feed(0, 9).await, Ok(vec![]));
    assert_eq!(pg.events().await, Ok(vec![]));
    assert_eq!(pg.head(event("gala")).await, Ok((0, 0)));
    append(pg, "gala", 0, rows(1..=2)).await;
    append(pg, "fair", 0, vec![row(4, r#"[{"b":1,  "a":"\u0000ü"}]"#)]).await;
    append(pg, "gala", 0, rows(3..=3)).await;
    books.reopen().await;
    let pg = books.pg();
    let all = pg.read_feed(0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (3, "fair", 0, 4), (4, "gala", 0, 3)];
    assert_eq!(short(&all), expected);
    // As it was told, to the letter.
    assert_eq!(all[2].changes, r#"[{"b":1,  "a":"\u0000ü"}]"#);
    assert_eq!(all[2].at, Time(1_004));
    assert_eq!(short(&pg.read_feed(1, 2).await.expect("read")), expected[1..3]);
    let of_gala = pg.read_event(event("gala"), 1, 9).await.expect("read");
    assert_eq!(short(&of_gala), [(2, "gala", 0, 2), (4, "gala", 0, 3)]);
    assert_eq!(pg.read_event(event("gala"), 0, 1).await.expect("read").len(), 1);
    assert_eq!(pg.head(event("gala")).await, Ok((0, 3)));
    assert_eq!(pg.events().await, Ok(vec![event("gala"), event("fair")]));
}

#[tokio::test]
async fn decisions_that_are_archived_already_are_passed_over() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=3)).await;
    append(pg, "gala", 0, rows(2..=4)).await;
    append(pg, "gala", 0, rows(1..=4)).await;
    append(pg, "gala", 0, vec![]).await;
    let all = pg.read_feed(0, 9).await.expect("read");
    assert_eq!(short(&all), [1, 2, 3, 4].map(|n| (n, "gala", 0, n)));
}

#[tokio::test]
async fn epoch_that_is_over_is_refused() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=3)).await;
    assert_eq!(pg.begin_epoch(event("gala"), 0).await, Ok((1, 3)));
    assert_eq!(pg.begin_epoch(event("gala"), 0).await, Err(LedgerError::Conflict));
    assert_eq!(pg.begin_epoch(event("gala"), 2).await, Err(LedgerError::Conflict));
    assert_eq!(pg.append(event("gala"), 0, rows(4..=5)).await, Err(LedgerError::Conflict));
    assert_eq!(pg.head(event("gala")).await, Ok((1, 3)));
    append(pg, "gala", 1, rows(4..=4)).await;
    let of_gala = pg.read_event(event("gala"), 0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (3, "gala", 0, 3), (4, "gala", 1, 4)];
    assert_eq!(short(&of_gala), expected);
    // Another event has its own epochs, also one of which nothing is archived.
    append(pg, "fair", 0, rows(1..=1)).await;
    assert_eq!(pg.begin_epoch(event("new"), 1).await, Err(LedgerError::Conflict));
    assert_eq!(pg.begin_epoch(event("new"), 0).await, Ok((1, 0)));
    assert_eq!(pg.events().await, Ok(vec![event("gala"), event("fair")]));
}

#[tokio::test]
async fn what_an_epoch_that_began_earlier_replaces_is_lost_and_stays_in_the_table() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=4)).await;
    append(pg, "fair", 0, rows(1..=1)).await;
    append(pg, "gala", 2, vec![row(3, "[\"other\"]")]).await;
    let of_gala = pg.read_event(event("gala"), 0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (6, "gala", 2, 3)];
    assert_eq!(short(&of_gala), expected);
    assert_eq!(pg.head(event("gala")).await, Ok((2, 3)));
    let all = pg.read_feed(2, 9).await.expect("read");
    assert_eq!(short(&all), [(5, "fair", 0, 1), (6, "gala", 2, 3)]);
    let lost = "SELECT number, seq FROM feed WHERE lost ORDER BY number";
    assert_eq!(books.sql(lost), "3|3\n4|4");
    append(pg, "gala", 2, rows(4..=4)).await;
    assert_eq!(pg.head(event("gala")).await, Ok((2, 4)));
}

#[tokio::test]
async fn other_nodes_hear_of_what_is_archived() {
    let Some(books) = Books::new().await else { return };
    let other = open(&books.url).await;
    let mut newest = other.newest();
    assert_eq!(*newest.borrow_and_update(), 0);
    append(books.pg(), "gala", 0, rows(1..=3)).await;
    timeout(Duration::from_secs(20), newest.wait_for(|newest| *newest == 3))
        .await
        .expect("in time")
        .expect("it is open");
    // Who comes later knows at once.
    let late = open(&books.url).await;
    assert_eq!(*late.newest().borrow(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_number_appears_below_one_that_was_seen() {
    const EACH: u64 = 40;
    let Some(books) = Books::new().await else { return };
    let nodes = [Arc::new(open(&books.url).await), Arc::new(open(&books.url).await)];
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..6 {
        let node = nodes[writer % 2].clone();
        writers.push(tokio::spawn(async move {
            for seq in 1..=EACH {
                append(&node, &format!("event-{writer}"), 0, rows(seq..=seq)).await;
            }
        }));
    }
    let (reader, is_done) = (books.pg(), done.clone());
    let reading = async {
        let mut seen = 0;
        loop {
            let last = is_done.load(Ordering::Acquire);
            for row in reader.read_feed(seen, 1_000).await.expect("read") {
                assert_eq!(row.number, seen + 1, "a number is missing");
                seen = row.number;
            }
            if last {
                return seen;
            }
        }
    };
    let writing = async {
        for writer in writers {
            writer.await.expect("no panic");
        }
        done.store(true, Ordering::Release);
    };
    let (seen, ()) = tokio::join!(reading, writing);
    assert_eq!(seen, 6 * EACH);
}
