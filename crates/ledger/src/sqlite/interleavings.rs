//! The threads of the ledger in many orders: shuttle decides at each lock and wake-up who goes on.
//!
//! What runs here is the ledger itself, with a real file; only its locks and threads are shuttle's
//! (`sync.rs`). A failure prints the seed and the schedule; docs/reliability.md says how to run either
//! again.

use super::SqliteLedger;
use super::database;
use super::mailbox::{Lane, Mailbox, job};
use super::still::Still;
use crate::{LedgerError, Pending};
use onrush_testkit::interleavings::{exhaust, explore};
use rusqlite::Connection;
use shuttle::future::block_on;
use shuttle::thread;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

fn beside<T: Send + 'static>(
    mailbox: &Arc<Mailbox>,
    run: impl FnOnce(&Mailbox) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let mailbox = Arc::clone(mailbox);
    thread::spawn(move || run(&mailbox))
}

fn put(mailbox: &Mailbox) {
    let (job, _) = job(|_| Ok(()));
    assert!(mailbox.put(job, Lane::Bounded).is_ok(), "it is let in");
}

#[test]
fn what_is_put_in_is_taken_without_another_ring() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let askers = [beside(&mailbox, put), beside(&mailbox, put)];
        let mut taken = Vec::new();
        while taken.len() < 2 {
            mailbox.take(1, &mut taken);
        }
        askers.into_iter().for_each(|asker| asker.join().expect("no panic"));
    });
}

#[test]
fn each_of_two_that_serve_is_woken() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let take = |mailbox: &Mailbox| {
            let mut taken = Vec::new();
            mailbox.take(1, &mut taken);
            taken.len()
        };
        let serving = beside(&mailbox, take);
        let asker = beside(&mailbox, |mailbox| {
            put(mailbox);
            put(mailbox);
        });
        assert_eq!(take(&mailbox), 1);
        assert_eq!(serving.join().expect("no panic"), 1);
        asker.join().expect("no panic");
    });
}

#[test]
fn what_is_put_in_wakes_who_steps() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let askers = [beside(&mailbox, put), beside(&mailbox, put)];
        let mut taken = Vec::new();
        while taken.len() < 2 {
            block_on(mailbox.asked());
            mailbox.take_now(4, &mut taken);
        }
        askers.into_iter().for_each(|asker| asker.join().expect("no panic"));
    });
}

#[test]
fn who_steps_learns_that_the_mailbox_closes() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let closing = beside(&mailbox, Mailbox::close);
        block_on(mailbox.asked());
        closing.join().expect("no panic");
    });
}

#[test]
fn who_steps_learns_that_the_mailbox_is_abandoned() {
    exhaust(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let closing = beside(&mailbox, Mailbox::abandon);
        block_on(mailbox.asked());
        closing.join().expect("no panic");
    });
}

/// In memory where there is such a place: no disk is waited for, and no order depends on one.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// The ledger with its threads, but for the one that moves pages, and a table to write in.
fn opened() -> (TempDir, SqliteLedger) {
    let dir = directory();
    let still = Still::open(dir.path()).expect("it opens");
    still.connection.execute_batch("CREATE TABLE noted (n INTEGER)").expect("a table");
    (dir, still.run().expect("threads"))
}

fn note(ledger: &SqliteLedger, n: u32) -> Pending<()> {
    ledger.tell_writer(move |db| Ok(db.execute("INSERT INTO noted VALUES (?1)", [n]).map(drop)?))
}

fn reader(dir: &Path) -> Connection {
    database::open_reader(&database::path_in(dir)).expect("a ledger")
}

/// How often it was noted, durably.
fn noted(file: &Connection, n: u32) -> u32 {
    let sql = "SELECT count(*) FROM noted WHERE n = ?1";
    file.query_row(sql, [n], |row| row.get(0)).expect("a number")
}

#[test]
fn what_was_acknowledged_is_committed_and_closing_drains() {
    explore(|| {
        let (dir, ledger) = opened();
        let ledger = Arc::new(ledger);
        let path = Arc::new(dir.path().to_owned());
        let tellers: Vec<_> = (0..3)
            .map(|n| {
                let (ledger, path) = (Arc::clone(&ledger), Arc::clone(&path));
                thread::spawn(move || {
                    let told = note(&ledger, n);
                    // The last one closes it.
                    drop(ledger);
                    let told = block_on(told);
                    if told.is_ok() {
                        assert_eq!(
                            noted(&reader(&path), n),
                            1,
                            "it is durable once it is answered"
                        );
                    }
                    told
                })
            })
            .collect();
        let closing = thread::spawn(move || ledger.writing.close());
        let told: Vec<_> =
            tellers.into_iter().map(|teller| teller.join().expect("no panic")).collect();
        closing.join().expect("no panic");
        let file = reader(&path);
        for (n, told) in (0..).zip(told) {
            match told {
                Ok(()) => assert_eq!(noted(&file, n), 1),
                Err(LedgerError::Unavailable(why)) => {
                    assert_eq!(why, "it is closed", "what was let in is done");
                    assert_eq!(noted(&file, n), 0);
                }
                Err(other) => panic!("nobody is told {other:?}"),
            }
        }
    });
}

#[test]
fn every_report_is_answered_also_when_the_ledger_closes() {
    explore(|| {
        let (_dir, ledger) = opened();
        let ledger = Arc::new(ledger);
        let askers: Vec<_> = (0..3)
            .map(|_| {
                let ledger = Arc::clone(&ledger);
                thread::spawn(move || {
                    let sql = "SELECT count(*) FROM noted";
                    let report = ledger.report(move |db| {
                        db.connection().query_row(sql, [], |row| row.get::<_, u32>(0))
                    });
                    drop(ledger);
                    block_on(report)
                })
            })
            .collect();
        drop(ledger);
        for asker in askers {
            assert_eq!(asker.join().expect("no panic"), Ok(0));
        }
    });
}
