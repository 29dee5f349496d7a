//! Erasing beside others.

use super::books::{Books, open_with, until_wait_for};
use crate::rows::{booking_id, event, held, page, user};
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::postgres::PgOptions;
use onrush_ledger::retention::ERASED_AT_ONCE;
use onrush_ledger::{Ledger, LedgerError};
use tokio_postgres::NoTls;

/// However many bought there, nobody waits for all of them, nor has all of it time for one statement.
#[tokio::test]
async fn an_event_is_erased_some_bookings_at_a_time() {
    let Some(books) = Books::new().await else { return };
    let options = PgOptions { pool_size: 4, patience_ms: 2_000, ..PgOptions::default() };
    let ledger = open_with(&books.url, options).await;
    let ids: Vec<_> = (0..ERASED_AT_ONCE + 50).map(|n| format!("gala.{n:03}")).collect();
    let others = ["gala.2026.1".to_owned(), "galas.1".to_owned()];
    let facts = ids.iter().map(|id| held(id, 5)).collect();
    books.project(page(1, facts)).await.expect("written");
    let buyer = Buyer { name: "Ann".into(), email: "ann@x.org".into(), language: "en".into() };
    for id in ids.iter().chain(&others) {
        books.set_buyer(&booking_id(id), &user("ann"), buyer.clone()).await.expect("kept");
    }
    // Somebody is at one of the last.
    let (client, line) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let last = ids.last().expect("some");
    let lock = format!("BEGIN; SELECT 1 FROM buyers WHERE booking_id = '{last}' FOR UPDATE");
    client.batch_execute(&lock).await.expect("locked");
    let erase = async || ledger.erase_buyer(BuyerOf::Event(event("gala"))).await;
    let erased = erase().await;
    assert!(matches!(erased, Err(LedgerError::Unavailable(_))), "{erased:?}");
    let known = async |id: &str| books.buyer(&booking_id(id)).await.expect("read").is_some();
    assert!(!known(&ids[0]).await, "the first of them are erased");
    assert!(known(last).await, "those of the transaction that waited are not");
    // PostgreSQL may give the statement up a moment after the ledger did.
    until_wait_for(&client, 0).await;
    client.batch_execute("ROLLBACK").await.expect("given back");
    line.abort();
    assert_eq!(erase().await, Ok(50), "it goes on where it ended");
    assert_eq!(erase().await, Ok(0));
    assert_eq!(books.sql("SELECT booking_id FROM buyers ORDER BY 1"), "gala.2026.1\ngalas.1");
}

/// A row that is waited for may be another buyer's once it is free.
#[tokio::test]
async fn a_buyer_put_in_the_place_of_one_who_is_being_erased_stays() {
    let Some(books) = Books::new().await else { return };
    let (changing, theirs) = (booking_id("gala.1"), booking_id("gala.2"));
    let ann = Buyer { name: "Ann".into(), email: "ann@x.org".into(), language: "en".into() };
    for id in [&changing, &theirs] {
        books.set_buyer(id, &user("ann"), ann.clone()).await.expect("kept");
    }
    let (client, line) = tokio_postgres::connect(&books.url, NoTls).await.expect("connected");
    let line = tokio::spawn(line);
    let correct = "BEGIN; UPDATE buyers SET name = 'Bo', email = 'bo@x.org', \
                   email_lower = 'bo@x.org' WHERE booking_id = 'gala.1'";
    client.batch_execute(correct).await.expect("corrected");
    let erasing = books.erase_buyer(BuyerOf::Email("ann@x.org".into()));
    let committing = async {
        until_wait_for(&client, 1).await;
        client.batch_execute("COMMIT").await.expect("committed");
    };
    let (erased, ()) = tokio::join!(erasing, committing);
    line.abort();
    assert_eq!(erased, Ok(1), "one booking is still Ann's");
    assert_eq!(books.buyer(&theirs).await, Ok(None));
    let bo = Buyer { name: "Bo".into(), email: "bo@x.org".into(), ..ann };
    assert_eq!(books.buyer(&changing).await, Ok(Some(bo)));
    assert_eq!(books.link_generation(&changing).await, Ok(0), "the link goes on");
}
