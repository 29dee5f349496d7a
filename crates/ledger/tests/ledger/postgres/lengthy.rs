//! Reads that may take longer than anything else.

use super::books::{Books, open_with, until_wait_for};
use crate::rows::{booking_id, event, held, page, user};
use onrush_ledger::booking::{BookingFilter, BookingText, Buyer};
use onrush_ledger::money::OpenMoney;
use onrush_ledger::postgres::{PgLedger, PgOptions};
use onrush_ledger::receipt::ReceiptRule;
use onrush_ledger::{Ledger, LedgerError};
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

/// Whoever looks for a part of an id waits as long as somebody has this lock, and says how long their
/// statement may take.
const SLOW: &str = "CREATE SCHEMA slow; CREATE SEQUENCE slow.limit_ms; \
    CREATE FUNCTION slow.lower(text) RETURNS text LANGUAGE sql AS $$ \
    SELECT pg_advisory_xact_lock_shared(1); \
    SELECT setval('slow.limit_ms', setting::bigint) FROM pg_settings \
    WHERE name = 'statement_timeout'; \
    SELECT pg_catalog.lower($1) $$";
const LOCK_SEARCHES: &str = "SELECT pg_advisory_xact_lock(1)";
const LOCK_SAGAS: &str = "LOCK TABLE sagas IN ACCESS EXCLUSIVE MODE";

/// A ledger with a booking, on a database in which searches wait.
async fn slow(books: &Books, options: PgOptions) -> PgLedger {
    books.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    books.sql(SLOW);
    let path = "options=-c%20search_path%3Dpublic,slow,pg_catalog";
    open_with(&format!("{}?{path}", books.url), options).await
}

/// One of them is read at a time.
fn one_turn() -> PgOptions {
    PgOptions { pool_size: 4, ..PgOptions::default() }
}

/// A connection that has these locks.
async fn with_locks(books: &Books, locks: &[&str]) -> Client {
    let (client, line) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    tokio::spawn(line);
    client.batch_execute(&format!("BEGIN; {}", locks.join("; "))).await.expect("locked");
    client
}

async fn give_back(client: &Client) {
    client.batch_execute("ROLLBACK").await.expect("given back");
}

fn by_text(text: &str) -> BookingFilter {
    let text = Some(BookingText::OfAnything(text.into()));
    BookingFilter { text, ..BookingFilter::default() }
}

#[tokio::test]
async fn search_by_a_part_and_an_events_open_money_may_take_longer_than_anything_else() {
    let Some(books) = Books::new().await else { return };
    let options = PgOptions { patience_ms: 2_000, ..PgOptions::default() };
    let ledger = slow(&books, options).await;
    let client = with_locks(&books, &[LOCK_SAGAS, LOCK_SEARCHES]).await;
    let found = tokio::spawn(ledger.bookings(by_text("nobody"), 9));
    let money = tokio::spawn(ledger.open_money(&event("gala"), ReceiptRule::EVERY));
    until_wait_for(&client, 2).await;
    // What began later is given up already.
    let other = ledger.saga_record(&booking_id("gala.1")).await;
    assert!(matches!(other, Err(LedgerError::Unavailable(_))), "{other:?}");
    give_back(&client).await;
    assert_eq!(found.await.expect("no panic").expect("read").rows, []);
    assert_eq!(money.await.expect("no panic"), Ok(OpenMoney::default()));
}

#[tokio::test]
async fn a_whole_id_or_address_is_found_while_others_look_for_parts() {
    let Some(books) = Books::new().await else { return };
    let ledger = slow(&books, one_turn()).await;
    let buyer = Buyer { name: "Ann".into(), email: "ann@x.org".into(), language: "en".into() };
    books.set_buyer(&booking_id("gala.1"), &user("ann"), buyer).await.expect("kept");
    let client = with_locks(&books, &[LOCK_SEARCHES]).await;
    let part = tokio::spawn(ledger.bookings(by_text("nobody"), 9));
    until_wait_for(&client, 1).await;
    for text in ["gala.1", "ANN@x.org"] {
        let found = ledger.bookings(by_text(text), 9).await.expect("read");
        assert_eq!(found.rows.len(), 1, "{text}");
    }
    give_back(&client).await;
    assert_eq!(part.await.expect("no panic").expect("read").rows, []);
}

#[tokio::test]
async fn whoever_hangs_up_before_their_turn_takes_none() {
    let Some(books) = Books::new().await else { return };
    let ledger = slow(&books, one_turn()).await;
    let searches = with_locks(&books, &[LOCK_SEARCHES]).await;
    let _sagas = with_locks(&books, &[LOCK_SAGAS]).await;
    let first = tokio::spawn(ledger.bookings(by_text("nobody"), 9));
    until_wait_for(&searches, 1).await;
    // It would wait for the sagas, and everybody else for it.
    let hung_up =
        timeout(Duration::ZERO, ledger.open_money(&event("gala"), ReceiptRule::EVERY)).await;
    assert!(hung_up.is_err(), "{hung_up:?}");
    let second = tokio::spawn(ledger.bookings(by_text("nobody"), 9));
    give_back(&searches).await;
    for search in [first, second] {
        let found = timeout(Duration::from_secs(20), search).await.expect("in time");
        assert_eq!(found.expect("no panic").expect("read").rows, []);
    }
}

/// PostgreSQL would go on with the rest although nobody waits for it, beside the next one.
#[tokio::test]
async fn what_waited_for_its_turn_may_take_as_long_as_is_left() {
    let Some(books) = Books::new().await else { return };
    let ledger = slow(&books, PgOptions { patience_ms: 2_000, ..one_turn() }).await;
    let client = with_locks(&books, &[LOCK_SAGAS]).await;
    let money = tokio::spawn(ledger.open_money(&event("gala"), ReceiptRule::EVERY));
    until_wait_for(&client, 1).await;
    let found = tokio::spawn(ledger.bookings(by_text("nobody"), 9));
    // Two seconds pass.
    let other = ledger.saga_record(&booking_id("gala.1")).await;
    assert!(matches!(other, Err(LedgerError::Unavailable(_))), "{other:?}");
    give_back(&client).await;
    assert_eq!(money.await.expect("no panic"), Ok(OpenMoney::default()));
    assert_eq!(found.await.expect("no panic").expect("read").rows, []);
    let limit_ms: u64 =
        books.sql("SELECT last_value FROM slow.limit_ms").parse().expect("a number");
    assert!(limit_ms < 8 * 2_000 - 1_000, "{limit_ms}");
}
