//! Ledgers of before that are brought up to date.

use super::books::{Books, open, until_wait_for};
use crate::rows::{booking_id, event, fact, held, known_confirmations, moved, page};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_ledger::Ledger;
use onrush_ledger::postgres::{Appended, PgLedger, RowToArchive};
use onrush_ledger::projection::Fact;
use onrush_testkit::Log;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};
use tracing::Level;

/// Takes the tables back to before bookings said when they were confirmed.
const WITHOUT_CONFIRMED_AT: &str = "ALTER TABLE bookings DROP COLUMN confirmed_at; \
                                    DELETE FROM onrush_migrations WHERE version >= 26";

/// What the log says where a step waits.
const WAITS: &str = "as long as others use them";

async fn until_said(log: &Log, said: &str) {
    let wait = async {
        while log.count(said) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), wait).await.expect("it says so");
}

/// A node that starts.
fn new_node(url: &str) -> JoinHandle<PgLedger> {
    let url = url.to_owned();
    tokio::spawn(async move { open(&url).await })
}

/// The ledger of a node, once it has started.
async fn opened(node: JoinHandle<PgLedger>) -> PgLedger {
    let opened = timeout(Duration::from_secs(60), node).await;
    opened.expect("in time").expect("no panic")
}

async fn connected(url: &str) -> Client {
    let (client, line) = tokio_postgres::connect(url, NoTls).await.expect("connected");
    tokio::spawn(line);
    client
}

/// As a dump does, which reads all tables in one transaction.
#[tokio::test]
async fn others_read_and_write_a_table_that_a_step_waits_for_while_it_is_read_for_long() {
    let Some(books) = Books::new().await else { return };
    books.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    books.sql(WITHOUT_CONFIRMED_AT);
    let (log, _guard) = Log::begin(Level::INFO);
    let (reader, seller) = (connected(&books.url).await, connected(&books.url).await);
    reader.batch_execute("BEGIN; SELECT count(*) FROM bookings").await.expect("read");
    // One of them takes the step; the other waits until it is taken, for as long as that may be.
    let nodes = [new_node(&books.url), new_node(&books.url)];
    until_wait_for(&reader, 1).await;
    let columns = "event_id, user_id, status, lines, amount_minor, fee_minor, currency, \
                   refund_minor, checked_in, created_at, updated_at";
    let sells = format!(
        "INSERT INTO bookings (booking_id, {columns}) \
         SELECT 'gala.2', {columns} FROM bookings WHERE booking_id = 'gala.1'"
    );
    let sold = timeout(Duration::from_secs(20), seller.execute(&sells, &[])).await;
    assert_eq!(sold.expect("in time").expect("written"), 1);

    until_said(&log, WAITS).await;
    let turn = "another node brings tables in PostgreSQL up to date";
    until_said(&log, turn).await;
    assert_eq!(log.count(turn), 1, "{}", log.text());
    let its_id = reader.query_one("SELECT pg_backend_pid()", &[]).await.expect("a row");
    let in_the_way = format!("{} onrush", its_id.get::<_, i32>(0));
    assert!(log.text().contains(&in_the_way), "{in_the_way}: {}", log.text());
    assert!(nodes.iter().all(|node| !node.is_finished()));

    reader.batch_execute("COMMIT").await.expect("it has read");
    for node in nodes {
        let node = opened(node).await;
        for id in ["gala.1", "gala.2"] {
            let row = node.booking(&booking_id(id)).await.expect("read").expect("there");
            assert_eq!(row.confirmed_at, None, "{id}");
        }
    }
    let steps = "SELECT count(*) > 0 AND count(*) = max(version) FROM onrush_migrations";
    assert_eq!(books.sql(steps), "t");
}

#[tokio::test]
async fn a_node_that_cannot_find_out_who_is_in_the_way_waits_all_the_same() {
    let Some(books) = Books::new().await else { return };
    books.sql(WITHOUT_CONFIRMED_AT);
    // The node finds this before what PostgreSQL itself knows of locks.
    books.sql("CREATE VIEW public.pg_locks AS SELECT 1 AS pid");
    let misled = format!("{}?options=-c%20search_path%3Dpublic,pg_catalog", books.url);
    let (log, _guard) = Log::begin(Level::WARN);
    let reader = connected(&books.url).await;
    reader.batch_execute("BEGIN; SELECT count(*) FROM bookings").await.expect("read");
    let node = new_node(&misled);
    until_said(&log, WAITS).await;
    assert_eq!(log.count("unknown: PostgreSQL says"), 1, "{}", log.text());
    reader.batch_execute("COMMIT").await.expect("it has read");
    opened(node).await;
}

/// Services give their users limits: what waits for longer than these is ended.
#[tokio::test]
async fn a_node_whose_user_may_not_wait_for_long_waits_for_the_steps_of_another_one() {
    let Some(books) = Books::new().await else { return };
    let limited = format!("{}?options=-c%20statement_timeout%3D200", books.url);
    let other = connected(&books.url).await;
    let lock = "SELECT pg_advisory_lock(x'6f6e72757368'::bigint)";
    other.execute(lock, &[]).await.expect("the other one's turn");
    let node = new_node(&limited);
    let for_longer = "SELECT count(*) FROM pg_stat_activity \
                      WHERE wait_event = 'advisory' AND clock_timestamp() - query_start > '400ms'";
    let wait = async {
        while !node.is_finished() {
            let row = other.query_one(for_longer, &[]).await.expect("a row");
            if row.get::<_, i64>(0) > 0 {
                break;
            }
        }
    };
    timeout(Duration::from_secs(60), wait).await.expect("it waits or has ended");
    assert!(!node.is_finished());
    other.execute("SELECT pg_advisory_unlock_all()", &[]).await.expect("it is done");
    opened(node).await;
}

#[tokio::test]
async fn a_step_that_and_another_wait_for_each_other_is_tried_again() {
    let Some(books) = Books::new().await else { return };
    books.sql(WITHOUT_CONFIRMED_AT);
    let (log, _guard) = Log::begin(Level::WARN);
    let other = connected(&books.url).await;
    // It is the step that PostgreSQL ends: this one does not ask whether somebody waits for it.
    let locks = "SET deadlock_timeout = '10min'; BEGIN; LOCK TABLE onrush_migrations IN SHARE MODE";
    other.batch_execute(locks).await.expect("locked");
    let node = new_node(&books.url);
    // For the table of steps, in which it writes itself down; it has the bookings to itself by then.
    until_wait_for(&other, 1).await;
    let read = other.query_one("SELECT count(*) FROM bookings", &[]);
    timeout(Duration::from_secs(20), read).await.expect("in time").expect("read");
    until_said(&log, WAITS).await;
    other.batch_execute("COMMIT").await.expect("it has read");
    opened(node).await;
}

/// The statement that brings `confirmed_at` from the archive, as operators read it.
fn statement() -> &'static str {
    let page = include_str!("../../../../../docs/operating.md");
    let blocks = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut said = blocks.filter(|sql| sql.starts_with("UPDATE bookings"));
    let statement = said.next().expect("a statement");
    assert_eq!(said.next(), None, "one is enough");
    statement
}

#[tokio::test]
async fn the_archive_of_a_cluster_tells_when_bookings_of_before_were_confirmed() {
    let Some(mut books) = Books::new().await else { return };
    let row = |seq: u64, at: i64, changes: &str| RowToArchive {
        seq,
        at: Time(at),
        changes: changes.into(),
        mark: None,
    };
    let append = |epoch, rows| books.pg().append(event("gala"), epoch, None, rows);
    let before = vec![
        row(1, 100, r#"["sale_paused"]"#),
        row(
            2,
            200,
            r#"[{"hold_confirmed":{"booking":"gala.1","payment":"till-7"}},{"slot_freed":{"place":"1"}}]"#,
        ),
        row(
            3,
            300,
            r#"[{"hold_expired":{"booking":"gala.2"}},{"hold_confirmed_late":{"booking":"gala.2"}}]"#,
        ),
        row(4, 400, r#"[{"hold_confirmed":{"booking":"gala.3"}}]"#),
        row(5, 500, r#"[{"hold_confirmed":{"booking":"gala.4"}}]"#),
    ];
    assert_eq!(append(0, before).await, Ok(Appended::Archived));
    // A failover lost the last one, which was done again later.
    let since = vec![
        row(5, 550, "[]"),
        row(6, 600, r#"[{"hold_confirmed":{"booking":"gala.4"}}]"#),
        row(7, 700, r#"[{"confirmed_cancelled":{"booking":"gala.3","refund_minor":5}}]"#),
        // Another hold with its id.
        row(8, 800, r#"[{"hold_confirmed":{"booking":"gala.3"}}]"#),
        row(9, 900, r#"[{"payment_failed":{"booking":"gala.5","why":"\"hold_confirmed\""}}]"#),
        // It has not come to the ledger yet.
        row(10, 1_000, r#"[{"hold_confirmed":{"booking":"gala.6"}}]"#),
        row(11, 1_100, r#"[{"hold_confirmed":{"booking":"gala.8"}}]"#),
    ];
    assert_eq!(append(1, since).await, Ok(Appended::Archived));

    let mut facts: Vec<Fact> = (1..=8).map(|n| held(&format!("gala.{n}"), 5)).collect();
    // By a node's own clock; the history of the seventh is in a file.
    let moves = [
        ("gala.1", HoldStatus::Confirmed),
        ("gala.2", HoldStatus::Confirmed),
        ("gala.3", HoldStatus::Confirmed),
        ("gala.3", HoldStatus::Cancelled),
        ("gala.4", HoldStatus::Confirmed),
        ("gala.6", HoldStatus::Paying),
        ("gala.7", HoldStatus::Confirmed),
        ("gala.8", HoldStatus::Confirmed),
    ];
    facts.extend(moves.map(|(id, status)| fact(moved(id, status, 9))));
    books.project(page(1, facts)).await.expect("written");
    books.sql(WITHOUT_CONFIRMED_AT);
    books.reopen().await;
    let known = known_confirmations(&*books).await;
    assert!(known.len() == 8 && known.iter().all(|(_, at)| at.is_none()), "{known:?}");
    // What a new node has written is not written again.
    books.sql("UPDATE bookings SET confirmed_at = 1099 WHERE booking_id = 'gala.8'");

    let operator = connected(&books.url).await;
    for updated in [4, 0] {
        assert_eq!(operator.execute(statement(), &[]).await.expect("it is SQL"), updated);
    }
    let expected = [
        ("gala.1", Some(200)),
        ("gala.2", Some(300)),
        ("gala.3", Some(400)),
        ("gala.4", Some(600)),
        ("gala.5", None),
        ("gala.6", None),
        ("gala.7", None),
        ("gala.8", Some(1_099)),
    ];
    let expected = expected.map(|(id, at)| (id.to_owned(), at.map(Time)));
    assert_eq!(known_confirmations(&*books).await, expected);
}
