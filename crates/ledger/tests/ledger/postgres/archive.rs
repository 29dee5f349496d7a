//! The archive of the feed.

use super::books::{Books, open};
use crate::rows::event;
use onrush_core::Time;
use onrush_ledger::LedgerError;
use onrush_ledger::postgres::{Appended, ArchiveHead, ArchivedRow, PgLedger, RowToArchive};
use onrush_testkit::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;
use tracing::Level;

fn row(seq: u64, changes: &str) -> RowToArchive {
    let at = Time(1_000 + seq.cast_signed());
    RowToArchive { seq, at, changes: changes.into(), mark: None }
}

fn rows(seqs: std::ops::RangeInclusive<u64>) -> Vec<RowToArchive> {
    seqs.map(|seq| row(seq, &format!(r#"[{{"n": {seq}}}]"#))).collect()
}

fn head(epoch: u64, seq: u64) -> ArchiveHead {
    ArchiveHead { epoch, seq, mark: None }
}

/// Decisions whose marks are their numbers and what `of` makes of them.
fn marked(of: u64, seqs: std::ops::RangeInclusive<u64>) -> Vec<RowToArchive> {
    let marked = |row: RowToArchive| RowToArchive { mark: Some(of * 100 + row.seq), ..row };
    rows(seqs).into_iter().map(marked).collect()
}

fn short(rows: &[ArchivedRow]) -> Vec<(u64, &str, u64, u64)> {
    rows.iter().map(|row| (row.number, row.event.as_str(), row.epoch, row.seq)).collect()
}

async fn append(ledger: &PgLedger, of: &str, epoch: u64, rows: Vec<RowToArchive>) {
    let appended = ledger.append(event(of), epoch, None, rows).await;
    assert_eq!(appended, Ok(Appended::Archived));
}

#[tokio::test]
async fn decisions_are_numbered_over_all_events_and_read_back() {
    let Some(mut books) = Books::new().await else { return };
    let pg = books.pg();
    assert_eq!(pg.read_feed(0, 9).await, Ok(vec![]));
    assert_eq!(pg.events().await, Ok(vec![]));
    assert_eq!(pg.head(event("gala")).await, Ok(head(0, 0)));
    append(pg, "gala", 0, rows(1..=2)).await;
    append(pg, "fair", 0, vec![row(1, r#"[{"b":1,  "a":"\u0000ü"}]"#)]).await;
    append(pg, "gala", 0, rows(3..=3)).await;
    books.reopen().await;
    let pg = books.pg();
    let all = pg.read_feed(0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (3, "fair", 0, 1), (4, "gala", 0, 3)];
    assert_eq!(short(&all), expected);
    // As it was told, to the letter.
    assert_eq!(all[2].changes, r#"[{"b":1,  "a":"\u0000ü"}]"#);
    assert_eq!(all[2].at, Time(1_001));
    assert_eq!(short(&pg.read_feed(1, 2).await.expect("read")), expected[1..3]);
    let of_gala = pg.read_event(event("gala"), 1, 9).await.expect("read");
    assert_eq!(short(&of_gala), [(2, "gala", 0, 2), (4, "gala", 0, 3)]);
    assert_eq!(pg.read_event(event("gala"), 0, 1).await.expect("read").len(), 1);
    assert_eq!(pg.head(event("gala")).await, Ok(head(0, 3)));
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

/// Two histories have the first three decisions in common: marks 1xx, and 2xx after the third.
#[tokio::test]
async fn decisions_of_another_history_are_refused() {
    let Some(mut books) = Books::new().await else { return };
    let pg = books.pg();
    let append = |before, rows| pg.append(event("gala"), 0, before, rows);
    assert_eq!(append(None, marked(1, 1..=5)).await, Ok(Appended::Archived));
    let before = pg.read_feed(0, 9).await.expect("read");
    let other: Vec<_> = marked(1, 2..=3).into_iter().chain(marked(2, 4..=6)).collect();
    let (up_to_four, all_there) = (other[..3].to_vec(), other[..4].to_vec());
    for (why, before, rows) in [
        ("the highest number of both", Some(101), up_to_four),
        ("the last archived one", Some(101), all_there),
        ("some are new", Some(101), other),
        ("they only meet", Some(205), marked(2, 6..=7)),
    ] {
        assert_eq!(append(before, rows).await, Ok(Appended::Diverged), "{why}");
    }
    assert_eq!(pg.read_feed(0, 9).await, Ok(before), "nothing was written");
    // What is the same up to there, and what goes on from it, is taken.
    assert_eq!(append(Some(101), marked(1, 2..=3)).await, Ok(Appended::Archived));
    assert_eq!(append(Some(105), marked(1, 6..=6)).await, Ok(Appended::Archived));
    assert_eq!(append(Some(104), marked(1, 5..=7)).await, Ok(Appended::Archived));
    // What has no mark fits any.
    assert_eq!(append(Some(107), rows(8..=8)).await, Ok(Appended::Archived));
    assert_eq!(append(Some(999), marked(1, 9..=9)).await, Ok(Appended::Archived));
    books.reopen().await;
    let pg = books.pg();
    let head = ArchiveHead { epoch: 0, seq: 9, mark: Some(109) };
    assert_eq!(pg.head(event("gala")).await, Ok(head));
    assert_eq!(pg.begin_epoch(event("gala"), 0).await, Ok(ArchiveHead { epoch: 1, ..head }));
    let marks: Vec<_> = pg.read_event(event("gala"), 6, 9).await.expect("read");
    let marks: Vec<_> = marks.iter().map(|row| row.mark).collect();
    assert_eq!(marks, [Some(107), None, Some(109)]);
}

/// Several nodes archive in one transaction.
#[tokio::test]
async fn decisions_are_compared_with_those_of_the_same_batch() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    let append = |before, rows| pg.append(event("gala"), 0, before, rows);
    let answers = tokio::join!(
        append(None, marked(1, 1..=4)),
        append(None, marked(2, 1..=2)),
        append(Some(102), marked(1, 3..=5)),
        append(Some(205), marked(2, 6..=6)),
    );
    let (archived, diverged) = (Ok(Appended::Archived), Ok(Appended::Diverged));
    assert_eq!(answers, (archived.clone(), diverged.clone(), archived, diverged));
}

#[tokio::test]
async fn epoch_that_is_over_is_refused() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=3)).await;
    assert_eq!(pg.begin_epoch(event("gala"), 0).await, Ok(head(1, 3)));
    assert_eq!(pg.begin_epoch(event("gala"), 0).await, Err(LedgerError::Conflict));
    assert_eq!(pg.begin_epoch(event("gala"), 2).await, Err(LedgerError::Conflict));
    assert_eq!(pg.append(event("gala"), 0, None, rows(4..=5)).await, Err(LedgerError::Conflict));
    assert_eq!(pg.head(event("gala")).await, Ok(head(1, 3)));
    append(pg, "gala", 1, rows(4..=4)).await;
    let of_gala = pg.read_event(event("gala"), 0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (3, "gala", 0, 3), (4, "gala", 1, 4)];
    assert_eq!(short(&of_gala), expected);
    // Another event has its own epochs, also one of which nothing is archived.
    append(pg, "fair", 0, rows(1..=1)).await;
    assert_eq!(pg.begin_epoch(event("new"), 1).await, Err(LedgerError::Conflict));
    assert_eq!(pg.begin_epoch(event("new"), 0).await, Ok(head(1, 0)));
    assert_eq!(pg.events().await, Ok(vec![event("gala"), event("fair")]));
}

/// What was before was lost in a failover to a standby that lagged behind: the end of an event, or all of it.
#[tokio::test]
async fn decisions_that_leave_some_out_are_refused() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=3)).await;
    for (of, before, rows) in [
        ("gala", None, rows(5..=6)),
        ("gala", None, marked(1, 5..=5)),
        ("fair", Some(104), marked(1, 5..=5)),
        ("fair", None, rows(2..=3)),
    ] {
        let appended = pg.append(event(of), 0, before, rows).await;
        assert_eq!(appended, Ok(Appended::Diverged), "{of} {before:?}");
    }
    assert_eq!(pg.read_feed(3, 9).await, Ok(vec![]));
    assert_eq!(pg.head(event("fair")).await, Ok(head(0, 0)));
    assert_eq!(pg.events().await, Ok(vec![event("gala")]));
    append(pg, "fair", 0, marked(1, 1..=5)).await;
    append(pg, "gala", 0, rows(3..=6)).await;
    assert_eq!(pg.head(event("gala")).await, Ok(head(0, 6)));
}

/// The epoch, and what it began with, were lost in a failover to a standby that lagged behind.
#[tokio::test]
async fn epoch_that_goes_on_from_more_than_is_archived_is_refused() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", 0, rows(1..=3)).await;
    for (of, before, rows) in [
        ("gala", Some(104), marked(1, 5..=6)),
        ("gala", None, rows(6..=6)),
        ("fair", Some(101), marked(1, 2..=3)),
    ] {
        let appended = pg.append(event(of), 1, before, rows).await;
        assert_eq!(appended, Ok(Appended::Diverged), "{of} {before:?}");
    }
    assert_eq!(pg.head(event("gala")).await, Ok(head(0, 3)));
    assert_eq!(pg.head(event("fair")).await, Ok(head(0, 0)));
    append(pg, "gala", 1, rows(4..=4)).await;
    assert_eq!(pg.head(event("gala")).await, Ok(head(1, 4)));
    let all = pg.read_feed(0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (3, "gala", 0, 3), (4, "gala", 1, 4)];
    assert_eq!(short(&all), expected);
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
    assert_eq!(pg.head(event("gala")).await, Ok(head(2, 3)));
    let all = pg.read_feed(2, 9).await.expect("read");
    assert_eq!(short(&all), [(5, "fair", 0, 1), (6, "gala", 2, 3)]);
    let lost = "SELECT number, seq FROM feed WHERE lost ORDER BY number";
    assert_eq!(books.sql(lost), "3|3\n4|4");
    append(pg, "gala", 2, rows(4..=4)).await;
    assert_eq!(pg.head(event("gala")).await, Ok(head(2, 4)));
}

/// A standby that had not received the last decision becomes the primary: who read that one reads on
/// after its number.
#[tokio::test]
async fn no_number_that_this_node_has_seen_is_given_again_where_the_archive_has_lost_its_end() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    let loses_the_third = "DELETE FROM feed WHERE number = 3; UPDATE feed_events SET last_seq = 2; \
                           UPDATE feed_head SET number = 2";
    append(pg, "gala", 0, rows(1..=3)).await;
    let (log, _guard) = Log::begin(Level::ERROR);
    books.sql(loses_the_third);
    let said = async {
        while log.count("PostgreSQL has less than before") == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), said).await.expect("it is noticed");
    append(pg, "gala", 0, rows(3..=4)).await;
    let all = pg.read_feed(0, 9).await.expect("read");
    let expected = [(1, "gala", 0, 1), (2, "gala", 0, 2), (4, "gala", 0, 3), (5, "gala", 0, 4)];
    assert_eq!(short(&all), expected);
    assert_eq!(*pg.newest().borrow(), 5);

    // So it is where another node had archived what is lost, and this one had heard of it.
    let other = open(&books.url).await;
    append(&other, "gala", 0, rows(5..=5)).await;
    let mut newest = pg.newest();
    timeout(Duration::from_secs(20), newest.wait_for(|newest| *newest == 6))
        .await
        .expect("in time")
        .expect("it is open");
    books.sql(
        "DELETE FROM feed WHERE number = 6; UPDATE feed_events SET last_seq = 4; \
         UPDATE feed_head SET number = 5",
    );
    append(pg, "gala", 0, rows(5..=5)).await;
    let all = pg.read_feed(5, 9).await.expect("read");
    assert_eq!(short(&all), [(7, "gala", 0, 5)]);
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
