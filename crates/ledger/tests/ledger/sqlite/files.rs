//! What the SQLite ledger does with its file.

use super::books::Books;
use crate::rows::{
    answered_by_mail_servers, answers_are_kept_without_addresses, booking_id,
    confirmations_that_are_told, event, fact, held, known_confirmations, moved, page, payment,
    refund, refunds_of_before, saga, sold_before, to, user,
};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::Stage;
use onrush_ledger::Ledger;
use onrush_ledger::booking::{BookingFilter, Buyer};
use onrush_ledger::money::{Capture, Payment, RefundStatus};
use onrush_ledger::projection::{Fact, FeedPosition, Projection};
use onrush_ledger::receipt::{ReceiptFilter, ReceiptRule};
use onrush_ledger::saga::{Saga, Transition};
use onrush_ledger::sqlite::{LedgerReader, OpenError, SqliteLedger};
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn dir() -> TempDir {
    TempDir::new().expect("a directory")
}

/// Everything in a directory.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            (path.display().to_string(), fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

fn sql(dir: &Path) -> Connection {
    Connection::open(dir.join("ledger.db")).expect("opened")
}

/// Why a directory is refused, once it is clear that nothing in it was changed.
fn refusal(dir: &Path) -> OpenError {
    let before = contents(dir);
    let error = SqliteLedger::open(dir).err().expect("refused");
    assert!(contents(dir) == before, "files were changed: {error}");
    error
}

/// The version of the tables: one for each step there is.
const NEWEST: u32 = 21;
/// What a later program would make of them.
const NEWER: u32 = NEWEST + 1;

#[test]
fn ledger_is_made_where_there_is_none() {
    let dir = dir();
    let deep = dir.path().join("a/b");
    SqliteLedger::open(&deep).expect("opened").close();
    let number = |pragma: &str| -> u32 {
        sql(&deep).query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).expect("read")
    };
    assert_eq!(number("application_id"), 0x4f6e_724c);
    assert_eq!(number("user_version"), NEWEST);
    assert!(!deep.join("ledger.db.new").exists());
    SqliteLedger::open(&deep).expect("opened again");
}

#[test]
fn empty_file_becomes_a_ledger() {
    let dir = dir();
    fs::write(dir.path().join("ledger.db"), "").expect("written");
    SqliteLedger::open(dir.path()).expect("opened");
    SqliteLedger::open(dir.path()).expect("opened again");
}

#[tokio::test]
async fn tables_that_are_missing_are_made() {
    let dir = dir();
    // As if the first step had not existed yet.
    let old = sql(dir.path());
    old.execute_batch("PRAGMA application_id = 1332638284; PRAGMA user_version = 0;")
        .expect("stamped");
    drop(old);
    assert!(matches!(LedgerReader::open(dir.path()), Err(OpenError::Older { version: 0, .. })));
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    ledger.advance(to(saga("gala.1", 5))).await.expect("written");
}

#[test]
fn file_of_a_newer_version_is_refused_and_left_alone() {
    let dir = dir();
    SqliteLedger::open(dir.path()).expect("opened").close();
    sql(dir.path()).execute_batch(&format!("PRAGMA user_version = {NEWER}")).expect("stamped");
    let error = refusal(dir.path());
    assert!(matches!(error, OpenError::Newer { version: NEWER, known: NEWEST, .. }), "{error}");
    assert!(error.to_string().contains("newer onrush"), "{error}");
    assert!(matches!(LedgerReader::open(dir.path()), Err(OpenError::Newer { .. })));
}

#[test]
fn newer_version_is_refused_also_while_it_is_only_in_the_log() {
    let dir = dir();
    SqliteLedger::open(dir.path()).expect("opened").close();
    let newer = sql(dir.path());
    newer.execute_batch(&format!("PRAGMA user_version = {NEWER}")).expect("stamped");
    // As long as that connection is open, the log is not moved into the file.
    let error = SqliteLedger::open(dir.path()).err().expect("refused");
    assert!(matches!(error, OpenError::Newer { version: NEWER, .. }), "{error}");
    drop(newer);
}

#[test]
fn file_that_is_not_ours_is_refused_and_left_alone() {
    let texts = ["hello", &"hello ".repeat(50)];
    for text in texts {
        let dir = dir();
        fs::write(dir.path().join("ledger.db"), text).expect("written");
        let error = refusal(dir.path());
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    }
    let dir = dir();
    sql(dir.path()).execute_batch("CREATE TABLE theirs (id INTEGER)").expect("made");
    let error = refusal(dir.path());
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("not an onrush ledger"), "{error}");
}

#[test]
fn second_process_is_refused() {
    let dir = dir();
    let first = SqliteLedger::open(dir.path()).expect("opened");
    assert!(matches!(SqliteLedger::open(dir.path()), Err(OpenError::Locked { .. })));
    first.close();
    SqliteLedger::open(dir.path()).expect("opened");
}

#[tokio::test]
async fn catalogue_follows_the_feed() {
    let books = Books::new().await.expect("a directory");
    let settings = |title: &str, at| Fact::Event {
        event: event("gala"),
        title: title.into(),
        currency: "EUR".into(),
        settings: "{}".into(),
        at: Time(at),
    };
    let price = |kind, name: &str, price_minor| Fact::Price {
        event: event("gala"),
        kind,
        name: name.into(),
        price_minor,
    };
    let facts = vec![
        settings("Gal", 5),
        price("pool", "ga", 1),
        price("category", "ga", 2),
        settings("Gala", 6),
        price("pool", "ga", 3),
    ];
    books.project(Projection { after: 0, ..page(5, facts) }).await.expect("written");
    let db = sql(books.dir.path());
    let title: (String, i64) = db
        .query_row("SELECT title, updated_at FROM catalogue_events", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("one row");
    assert_eq!(title, ("Gala".to_owned(), 6));
    let prices: Vec<(String, i64)> = db
        .prepare("SELECT kind, price_minor FROM catalogue_prices ORDER BY kind")
        .and_then(|mut rows| rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .expect("rows");
    assert_eq!(prices, [("category".to_owned(), 2), ("pool".to_owned(), 3)]);
}

#[tokio::test]
async fn reader_sees_the_ledger_as_it_was_when_it_was_opened() {
    let books = Books::new().await.expect("a directory");
    let both = vec![held("gala.2", 5), held("gala.1", 6)];
    books.project(Projection { after: 0, ..page(3, both) }).await.expect("written");
    for id in ["gala.2", "gala.1"] {
        books.advance(to(saga(id, 6))).await.expect("written");
    }
    let paid = Transition {
        payments: vec![payment("gala.0", 1, Stage::Captured, 7)],
        refunds: vec![refund("gala.0", 1, RefundStatus::Done, 8)],
        ..to(saga("gala.0", 7))
    };
    books.advance(paid).await.expect("written");

    let reader = LedgerReader::open(books.dir.path()).expect("opened");
    let paying = fact(moved("gala.3", HoldStatus::Paying, 9));
    books.project(page(4, vec![held("gala.3", 9), paying])).await.expect("written");
    assert_eq!(reader.cursor(), Ok(3));
    assert_eq!(reader.totals().map(|totals| totals.open_sagas), Ok(3));
    let mut sagas = Vec::new();
    let mut after = None;
    loop {
        let page = reader.sagas(after.as_deref(), 2).expect("read");
        sagas.extend(page.rows.into_iter().map(|saga| saga.booking));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(sagas, ["gala.0", "gala.1", "gala.2"].map(booking_id));
    let bookings = reader.bookings(None, 1).expect("read");
    assert_eq!(bookings.rows[0].booking, booking_id("gala.1"));
    let bookings = reader.bookings(bookings.next.as_deref(), 9).expect("read");
    assert_eq!(bookings.rows[0].booking, booking_id("gala.2"));
    assert_eq!((bookings.rows.len(), bookings.next), (1, None));
    let payments = reader.payments(None, 9).expect("read").rows;
    assert_eq!(payments, [payment("gala.0", 1, Stage::Captured, 7)]);
    let key = format!("gala.0/{}", payments[0].payment);
    assert_eq!(reader.payments(Some(&key), 9).expect("read").rows, []);
    let refunds = reader.refunds(None, 9).expect("read").rows;
    assert_eq!(refunds, [refund("gala.0", 1, RefundStatus::Done, 8)]);
    assert_eq!(reader.refunds(Some("gala.0/refund:gala.0:1"), 9).expect("read").rows, []);
    let record = reader.saga_record(&booking_id("gala.0")).expect("read").expect("there");
    assert_eq!((record.payments, record.refunds), (payments, refunds));
    assert_eq!(reader.saga_record(&booking_id("gala.3")), Ok(None));
    assert_eq!(reader.booking(&booking_id("gala.3")), Ok(None));
    assert_eq!(reader.history(&booking_id("gala.0")).expect("read").len(), 1);
    drop(reader);
    assert_eq!(LedgerReader::open(books.dir.path()).expect("opened").cursor(), Ok(4));
}

#[test]
fn directory_without_a_ledger_cannot_be_read() {
    let dir = dir();
    assert!(matches!(LedgerReader::open(dir.path()), Err(OpenError::Missing { .. })));
    assert!(contents(dir.path()).is_empty());
}

#[tokio::test]
async fn closed_ledger_is_one_file_and_can_be_read() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    ledger.advance(to(saga("gala.1", 5))).await.expect("written");
    ledger.close();
    assert!(!dir.path().join("ledger.db-wal").exists());
    let reader = LedgerReader::open(dir.path()).expect("opened");
    assert_eq!(reader.totals().map(|totals| totals.open_sagas), Ok(1));
}

#[tokio::test]
async fn who_was_erased_is_nowhere_in_the_file() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    // One event's buyers fill pages of their own, beside those of another.
    for event in ["ball", "gala"] {
        for n in 0..500 {
            let name = format!("Somebody of {event}");
            let email = format!("{n}@{event}.example.org");
            let buyer = Buyer { name, email, language: "en".into() };
            ledger
                .set_buyer(&booking_id(&format!("{event}.{n}")), &user("ann"), buyer)
                .await
                .expect("kept");
        }
    }
    while ledger.erase_buyers_of(&event("gala")).await.expect("erased") > 0 {}
    ledger.close();
    let file = fs::read(dir.path().join("ledger.db")).expect("a file");
    let times =
        |what: &str| file.windows(what.len()).filter(|part| *part == what.as_bytes()).count();
    assert!(times("Somebody of ball") >= 500);
    assert_eq!((times("Somebody of gala"), times("@gala.example.org")), (0, 0));
}

/// A ledger with so many bookings that its tables have inner pages, closed.
async fn full_ledger() -> TempDir {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let facts = (0..2_000).map(|n| held(&format!("gala.{n}"), 5)).collect();
    ledger.project(page(1, facts)).await.expect("written");
    ledger.close();
    dir
}

#[tokio::test]
async fn page_that_was_overwritten_is_noticed_when_the_ledger_is_opened() {
    let whole = full_ledger().await;
    let bytes = fs::read(whole.path().join("ledger.db")).expect("a file");
    let pages = bytes.len() / 4_096;
    assert!(pages > 100, "{pages} pages");
    let copy = dir();
    let path = copy.path().join("ledger.db");
    fs::File::create(copy.path().join("ledger.lock")).expect("made");
    for page in (1..pages).step_by(7) {
        for junk in [0, 0xa5] {
            let mut spoilt = bytes.clone();
            spoilt[page * 4_096..(page + 1) * 4_096].fill(junk);
            fs::write(&path, spoilt).expect("written");
            let error = refusal(copy.path());
            assert!(matches!(error, OpenError::Damaged { .. }), "page {page}: {error}");
        }
    }
    fs::write(&path, bytes).expect("written");
    SqliteLedger::open(copy.path()).expect("as it was, it is whole");
}

#[tokio::test]
async fn page_that_turns_out_to_be_overwritten_later_is_told_to_whoever_must_stop() {
    let dir = full_ledger().await;
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let path = dir.path().join("ledger.db");
    let mut bytes = fs::read(&path).expect("a file");
    bytes[4_096..].fill(0xa5);
    fs::write(&path, bytes).expect("written");
    let list = ledger.bookings(BookingFilter::default(), 10).await;
    assert!(list.is_err(), "{list:?}");
    let why = ledger.damaged().await;
    assert!(why.contains("the ledger is damaged"), "{why}");
    let noted = fs::read_to_string(dir.path().join("ledger.damaged")).expect("it is noted");
    assert_eq!(noted.trim_end(), why);
}

#[tokio::test]
async fn booking_whose_status_means_nothing_is_an_error_that_says_so() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    ledger.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    ledger.close();
    sql(dir.path())
        .execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE bookings SET status = 'sold'")
        .expect("spoilt");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let error = ledger.booking(&booking_id("gala.1")).await.expect_err("damaged");
    assert!(error.to_string().contains("\"sold\" means nothing here"), "{error}");
}

#[tokio::test]
async fn refunds_of_before_causes_were_kept_are_understood() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let before = refunds_of_before();
    ledger.advance(before.stored).await.expect("written");
    ledger.close();
    sql(dir.path())
        .execute_batch(
            "ALTER TABLE refunds DROP COLUMN cause; ALTER TABLE refunds DROP COLUMN decided_by; \
             ALTER TABLE bookings DROP COLUMN prices_minor; \
             ALTER TABLE bookings DROP COLUMN types; DROP TABLE receipts; \
             ALTER TABLE payments DROP COLUMN capture; DROP TABLE actions; \
             DROP TABLE browser_sessions; DROP TABLE events_over; DROP INDEX messages_by_booking; \
             DROP INDEX sagas_by_event; DROP INDEX buyers_by_owner; DROP INDEX requests_left_behind; \
             DROP INDEX sagas_by_time; ALTER TABLE buyers DROP COLUMN owner_id; \
             ALTER TABLE desk_entries DROP COLUMN paid_as; \
             ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 6",
        )
        .expect("as it was");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let record = ledger.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.refunds, before.understood);
}

#[tokio::test]
async fn how_far_a_ledger_has_followed_is_told_without_bringing_it_up_to_date() {
    let dir = dir();
    let followed = || SqliteLedger::followed(dir.path()).expect("it can be asked");
    assert_eq!(followed(), None);
    assert!(!dir.path().join("ledger.db").exists());
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let position = FeedPosition { seq: 7, at: Some(Time(8)), journal: Some("one".into()) };
    ledger.follow(position.clone()).await.expect("written");
    ledger.close();
    assert_eq!(followed(), Some(position));
    // Before journals had identities.
    sql(dir.path())
        .execute_batch(
            "ALTER TABLE feed_cursor DROP COLUMN journal; ALTER TABLE feed_cursor DROP COLUMN at; \
             PRAGMA user_version = 4",
        )
        .expect("as it was");
    assert_eq!(followed(), Some(FeedPosition { seq: 7, ..FeedPosition::default() }));
    let version = "SELECT user_version FROM pragma_user_version";
    let version: u32 = sql(dir.path()).query_row(version, [], |row| row.get(0)).expect("stamped");
    assert_eq!(version, 4);
}

#[tokio::test]
async fn a_ledger_of_before_receipts_has_none_and_issues_from_the_first_number() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    ledger.project(page(1, vec![held("gala.1", 5)])).await.expect("written");
    ledger.advance(to(saga("gala.1", 5))).await.expect("written");
    let paid = Transition {
        payments: vec![payment("gala.1", 1, Stage::Captured, 7)],
        ..to(Saga { version: 2, ..saga("gala.1", 5) })
    };
    ledger.advance(paid).await.expect("written");
    ledger.close();
    sql(dir.path())
        .execute_batch(
            "DROP TABLE receipts; ALTER TABLE payments DROP COLUMN capture; DROP TABLE actions; \
             DROP TABLE browser_sessions; DROP TABLE events_over; DROP INDEX messages_by_booking; \
             DROP INDEX sagas_by_event; DROP INDEX buyers_by_owner; DROP INDEX requests_left_behind; \
             DROP INDEX sagas_by_time; ALTER TABLE buyers DROP COLUMN owner_id; \
             ALTER TABLE desk_entries DROP COLUMN paid_as; \
             ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 9",
        )
        .expect("as it was");
    assert!(matches!(LedgerReader::open(dir.path()), Err(OpenError::Older { version: 9, .. })));
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    assert_eq!(ledger.receipts(ReceiptFilter::default(), 9).await.expect("read").rows, []);
    let takings = ledger.takings(ReceiptRule::EVERY, None, 9).await.expect("read").rows;
    assert_eq!(takings.len(), 1);
}

/// The table of payments as it was before some of them took their money later.
const PAYMENTS_OF_BEFORE: &str = "ALTER TABLE payments DROP COLUMN capture; \
    ALTER TABLE payments RENAME COLUMN stage TO newer; \
    ALTER TABLE payments ADD COLUMN stage TEXT NOT NULL DEFAULT 'open' CHECK (stage IN ('creating', \
    'open', 'closing', 'closed', 'void', 'captured', 'refunding', 'returned', 'refunded')); \
    UPDATE payments SET stage = newer; ALTER TABLE payments DROP COLUMN newer; DROP TABLE actions; \
    DROP TABLE browser_sessions; DROP TABLE events_over; DROP INDEX receipts_by_email; \
    DROP INDEX receipts_named; ALTER TABLE receipts DROP COLUMN buyer_email_lower; \
    DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; DROP INDEX buyers_by_owner; \
    DROP INDEX requests_left_behind; DROP INDEX sagas_by_time; \
    ALTER TABLE buyers DROP COLUMN owner_id; ALTER TABLE desk_entries DROP COLUMN paid_as; \
    ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 10";

#[tokio::test]
async fn payments_of_before_stay_at_their_stages_and_took_their_money_at_once() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let stages = [Stage::Void, Stage::Refunded, Stage::Open];
    let payments = (1_u32..).zip(stages).map(|(n, stage)| payment("gala.1", n, stage, 7));
    let payments: Vec<_> = payments.collect();
    let refunds = vec![refund("gala.1", 1, RefundStatus::Done, 8)];
    let paid = Transition { payments: payments.clone(), refunds, ..to(saga("gala.1", 5)) };
    ledger.advance(paid).await.expect("written");
    ledger.close();
    sql(dir.path()).execute_batch(PAYMENTS_OF_BEFORE).expect("as it was");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    let record = ledger.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.payments, payments);
    assert!(record.payments.iter().all(|payment| payment.capture == Capture::AtOnce));
    // And the stages that are new can be written.
    let later = Payment { capture: Capture::Later, ..payment("gala.1", 3, Stage::Authorised, 7) };
    let next = Saga { version: record.saga.version + 1, ..record.saga };
    let moved = Transition { payments: vec![later.clone()], ..to(next) };
    ledger.advance(moved).await.expect("written");
    let record = ledger.saga_record(&booking_id("gala.1")).await.expect("read").expect("there");
    assert_eq!(record.payments.last(), Some(&later));
}

#[tokio::test]
async fn answers_of_before_in_which_an_address_stands_are_not_kept() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    answered_by_mail_servers(&ledger).await;
    ledger.close();
    sql(dir.path())
        .execute_batch(
            "DROP INDEX messages_by_booking; DROP INDEX sagas_by_event; DROP INDEX receipts_named; \
             DROP INDEX buyers_by_owner; ALTER TABLE buyers DROP COLUMN owner_id; \
             DROP INDEX requests_left_behind; DROP INDEX sagas_by_time; \
             ALTER TABLE desk_entries DROP COLUMN paid_as; \
             ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 14",
        )
        .expect("as it was");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    answers_are_kept_without_addresses(&ledger).await;
}

#[tokio::test]
async fn bookings_of_before_say_when_they_were_confirmed_if_anything_tells_it() {
    let dir = dir();
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    sold_before(&ledger).await;
    ledger.close();
    sql(dir.path())
        .execute_batch("ALTER TABLE bookings DROP COLUMN confirmed_at; PRAGMA user_version = 20")
        .expect("as it was");
    let ledger = SqliteLedger::open(dir.path()).expect("opened");
    assert_eq!(known_confirmations(&ledger).await, confirmations_that_are_told());
}
