//! History that leaves the archive for files.

use super::books::{Books, open};
use crate::rows::{event, page};
use onrush_core::Time;
use onrush_core::settings::Digest;
use onrush_ledger::postgres::{
    Appended, ArchiveHead, FeedReader, HeldHistory, HistoryFile, Hold, PgLedger, RowToArchive,
};
use onrush_ledger::{Ledger, LedgerError};

/// Decisions whose marks are their numbers and what `of` makes of them.
fn rows(of: u64, seqs: std::ops::RangeInclusive<u64>) -> Vec<RowToArchive> {
    let row = |seq: u64| RowToArchive {
        seq,
        at: Time(1_000 + seq.cast_signed()),
        changes: format!(r#"[{{"n": {seq}}}]"#),
        mark: Some(of * 100 + seq),
    };
    seqs.map(row).collect()
}

async fn append(ledger: &PgLedger, of: &str, rows: Vec<RowToArchive>) {
    assert_eq!(ledger.append(event(of), 0, None, rows).await, Ok(Appended::Archived));
}

/// Two events, whose decisions lie between each other's: `gala` has the numbers 1, 2, 5, 6 and 7.
async fn two(ledger: &PgLedger) {
    append(ledger, "gala", rows(1, 1..=2)).await;
    append(ledger, "fair", rows(1, 1..=2)).await;
    append(ledger, "gala", rows(1, 3..=5)).await;
}

fn file(decisions: u64, first: u64, last: u64) -> HistoryFile {
    HistoryFile { event: event("gala"), decisions, first, last, sha256: Digest([7; 32]) }
}

async fn held(ledger: &PgLedger, why: Hold) -> Option<HeldHistory> {
    ledger.hold_history(why).await.expect("PostgreSQL answers")
}

const HEAD: ArchiveHead = ArchiveHead { epoch: 0, seq: 5, mark: Some(105) };

async fn numbers(ledger: &PgLedger) -> Vec<u64> {
    let rows = ledger.read_feed(0, 99).await.expect("read");
    rows.iter().map(|row| row.number).collect()
}

#[tokio::test]
async fn the_first_and_the_last_decision_of_an_event_stay() {
    let Some(mut books) = Books::new().await else { return };
    let pg = books.pg();
    two(pg).await;
    let mut history = held(pg, Hold::Moving).await.expect("nobody else has it");
    let last = history.last_decisions().await.expect("read");
    let short: Vec<_> = last.iter().map(|last| (last.row.number, last.head)).collect();
    let of_fair = ArchiveHead { epoch: 0, seq: 2, mark: Some(102) };
    assert_eq!(short, [(4, of_fair), (7, HEAD)]);
    let seqs: Vec<_> = history.page(&event("gala"), 1, 3).await.expect("read");
    assert_eq!(seqs.iter().map(|row| row.seq).collect::<Vec<_>>(), [2, 3, 4]);

    let mut uncommitted = Vec::new();
    let filed = file(5, 1, 7);
    let removed = history.remove(&filed, HEAD, || uncommitted.push("not yet")).await;
    assert_eq!((removed, uncommitted.len()), (Ok(()), 1));
    history.vacuum().await.expect("done");
    history.end().await;
    let identity = pg.identity().await.expect("one");
    assert_eq!(identity.len(), 32);
    books.reopen().await;
    let pg = books.pg();
    assert_eq!(pg.identity().await, Ok(identity), "it is the same after a start");
    assert_eq!(numbers(pg).await, [1, 3, 4, 7]);
    assert_eq!(pg.history_files().await, Ok(vec![filed]));
    assert_eq!(pg.head(event("gala")).await, Ok(HEAD));
    assert_eq!(pg.events().await, Ok(vec![event("gala"), event("fair")]));
    let history = held(pg, Hold::Moving).await.expect("nobody else has it");
    assert_eq!(history.last_decisions().await.expect("read").len(), 1, "that of the other event");
}

#[tokio::test]
async fn nothing_is_removed_that_is_not_as_the_file_has_it() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    two(pg).await;
    let mut history = held(pg, Hold::Moving).await.expect("nobody else has it");
    let on = |seq, epoch| ArchiveHead { seq, epoch, mark: None };
    for (why, file, head) in [
        ("a decision is not in the file", file(4, 1, 7), HEAD),
        ("one more is", file(6, 1, 7), HEAD),
        ("the first is another event's", file(4, 3, 7), HEAD),
        ("the last is not there", file(5, 1, 8), HEAD),
        ("the event has gone on", file(5, 1, 7), on(4, 0)),
        ("it was rebuilt", file(5, 1, 7), on(5, 1)),
    ] {
        let removed = history.remove(&file, head, || {}).await;
        assert_eq!(removed, Err(LedgerError::Conflict), "{why}");
        assert_eq!(numbers(pg).await, [1, 2, 3, 4, 5, 6, 7], "{why}");
        assert_eq!(pg.history_files().await, Ok(vec![]), "{why}");
    }
    assert_eq!(history.remove(&file(5, 1, 7), HEAD, || {}).await, Ok(()));
}

/// A Redis that was set back to an hour ago goes on, and a node that has not heard of the event since
/// brings what it decided.
#[tokio::test]
async fn another_history_is_refused_also_where_the_archive_has_no_rows_any_more() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    two(pg).await;
    let mut history = held(pg, Hold::Moving).await.expect("nobody else has it");
    history.remove(&file(5, 1, 7), HEAD, || {}).await.expect("removed");
    let append = |before, rows| pg.append(event("gala"), 0, before, rows);
    let diverged = Ok(Appended::Diverged);
    assert_eq!(append(Some(102), rows(2, 3..=3)).await, diverged);
    assert_eq!(append(Some(102), rows(2, 3..=5)).await, diverged);
    assert_eq!(append(None, rows(2, 1..=1)).await, diverged);
    assert_eq!(append(Some(104), rows(1, 5..=5)).await, Ok(Appended::Archived), "it is the last");
    assert_eq!(numbers(pg).await, [1, 3, 4, 7], "nothing was written");
}

#[tokio::test]
async fn rows_that_an_epoch_lost_stay_and_are_no_history() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    append(pg, "gala", rows(1, 1..=4)).await;
    let went_on = pg.append(event("gala"), 1, None, rows(2, 3..=5)).await;
    assert_eq!(went_on, Ok(Appended::Archived));
    let mut history = held(pg, Hold::Moving).await.expect("nobody else has it");
    let head = ArchiveHead { epoch: 1, seq: 5, mark: Some(205) };
    assert_eq!(history.remove(&file(5, 1, 7), head, || {}).await, Ok(()));
    assert_eq!(numbers(pg).await, [1, 7]);
    assert_eq!(books.sql("SELECT number FROM feed WHERE lost ORDER BY number"), "3\n4");
}

#[tokio::test]
async fn one_moves_history_and_nobody_reads_it_meanwhile() {
    let Some(books) = Books::new().await else { return };
    let (one, other) = (books.pg(), open(&books.url).await);
    let moving = held(one, Hold::Moving).await.expect("nobody else has it");
    assert!(held(&other, Hold::Moving).await.is_none());
    assert!(held(one, Hold::Reading).await.is_none());
    moving.end().await;
    let reading = held(one, Hold::Reading).await.expect("it ended");
    let too = held(&other, Hold::Reading).await.expect("any number may read");
    assert!(held(&other, Hold::Moving).await.is_none());
    reading.end().await;
    assert!(held(&other, Hold::Moving).await.is_none(), "one still reads");
    too.end().await;
    let moving = held(&other, Hold::Moving).await.expect("all have ended");
    assert!(moving.is_held());
    // Whoever dies holds nothing, as soon as PostgreSQL has seen it.
    drop(moving);
    while held(one, Hold::Moving).await.is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn all_who_read_the_feed_by_number_are_known() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    let fence = pg.lease("kafka", "one", 60_000).await.expect("asked").expect("it is free");
    pg.set_cursor("kafka", fence, 3).await.expect("written");
    pg.set_cursor("rabbitmq", 1, 9).await.expect("written");
    pg.project(page(1, vec![])).await.expect("written");
    let history = held(pg, Hold::Moving).await.expect("nobody else has it");
    let reader = |name: &str, reached| FeedReader { name: name.into(), reached };
    let all = [reader("ledger", 1), reader("kafka", 3), reader("rabbitmq", 9)];
    assert_eq!(history.readers().await.expect("read"), all);
}
