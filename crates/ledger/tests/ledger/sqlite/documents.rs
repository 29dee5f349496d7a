//! The SQL of docs/design/ledger.md, run against a ledger with known rows.

use super::books::Books;
use crate::rows::{held, next, page, payment, payment_id, refund, saga, to};
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::RefundStatus;
use onrush_ledger::saga::Transition;
use rusqlite::{Connection, OpenFlags};

/// The blocks of SQL in a page.
fn queries(page: &str) -> Vec<String> {
    let blocks = page.split("```sql\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn the_query_of_the_ledgers_page_counts_each_booking_once() {
    let books = Books::new().await.expect("SQLite is always there");
    // One whose payment was begun and never written down, one that was paid at the second attempt, one whose
    // money went back.
    let facts = ["gala.1", "gala.2", "gala.3"].map(|id| held(id, 1_000));
    books.project(page(1, facts.to_vec())).await.expect("projected");
    for id in ["gala.1", "gala.2", "gala.3"] {
        books.advance(to(saga(id, 1_000))).await.expect("written");
    }
    let first = saga("gala.2", 1_000);
    let mut tried = next(&first);
    (tried.step, tried.payment) = (Step::PaymentSent, Some(payment_id("gala.2", 1)));
    let payments = vec![payment("gala.2", 1, Stage::Void, 1_001)];
    let transition = Transition { payments, ..to(tried.clone()) };
    books.advance(transition).await.expect("written");
    let mut paid = next(&tried);
    (paid.step, paid.payment) = (Step::Confirmed, Some(payment_id("gala.2", 2)));
    let payments = vec![payment("gala.2", 2, Stage::Captured, 1_002)];
    books.advance(Transition { payments, ..to(paid) }).await.expect("written");
    let mut returned = next(&saga("gala.3", 1_000));
    (returned.step, returned.payment) = (Step::Failed, Some(payment_id("gala.3", 1)));
    let mut there = payment("gala.3", 1, Stage::Refunded, 1_003);
    there.captured_minor = 1_050;
    let transition = Transition {
        payments: vec![there],
        refunds: vec![refund("gala.3", 1, RefundStatus::Done, 1_004)],
        ..to(returned)
    };
    books.advance(transition).await.expect("written");

    let page = include_str!("../../../../../docs/design/ledger.md");
    let queries = queries(page);
    let [query] = &queries[..] else { panic!("a query has no answer here: {queries:#?}") };
    let file = books.dir.path().join("ledger.db");
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("opened");
    let mut statement = db.prepare(query).expect("it is SQL");
    let found: Vec<(String, Option<String>, u32, Option<i64>)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .expect("it runs")
        .collect::<Result<_, _>>()
        .expect("rows");
    let row = |step: &str, stage: Option<&str>, count, minor| {
        (step.to_owned(), stage.map(str::to_owned), count, minor)
    };
    assert_eq!(
        found,
        [
            row("CONFIRMED", Some("captured"), 1, Some(1_050)),
            row("FAILED", Some("refunded"), 1, Some(1_050)),
            row("RESERVE_OK", None, 1, None),
        ]
    );
}
