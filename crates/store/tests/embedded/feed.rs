//! The feed: everything committed, in order, from any cursor.

use crate::sale::{Sale, feed_to, hold, release, units};
use onrush_core::Change;
use onrush_core::change::HoldChange;
use onrush_store::embedded::{Embedded, Options};
use onrush_store::{Engine, Seq};

async fn busy_sale(sale: &Sale, options: Options) -> Embedded {
    let engine = Embedded::open(sale.path(), options).expect("opened");
    if engine.committed() == Seq(0) {
        crate::sale::open_flash_sale(&engine).await;
    }
    for n in 0..40 {
        let booking = format!("b{}-{n}", engine.committed().0);
        hold(&engine, &booking, units(1)).await.expect("held");
        release(&engine, &booking).await.expect("released");
    }
    engine
}

#[tokio::test]
async fn feed_resumes_from_any_cursor_without_loss() {
    let sale = Sale::new();
    // A short tail: most of it has to come from the file.
    let short = || Options { tail_capacity: 7, ..sale.options() };
    busy_sale(&sale, short()).await.close();
    let engine = busy_sale(&sale, short()).await;
    let last = engine.committed();
    let all = feed_to(&engine, Seq(0), last).await;
    let numbers: Vec<u64> = all.iter().map(|entry| entry.seq.0).collect();
    assert_eq!(numbers, (1..=last.0).collect::<Vec<_>>());
    for cursor in 0..last.0 {
        let rest = feed_to(&engine, Seq(cursor), last).await;
        assert_eq!(rest.as_slice(), &all[usize::try_from(cursor).expect("small")..]);
    }
    engine.close();

    let engine = Embedded::open(sale.path(), Options { ..sale.options() }).expect("opened");
    assert_eq!(feed_to(&engine, Seq(0), last).await, all, "also after a restart");
}

#[tokio::test]
async fn feed_waits_for_what_comes_and_ends_with_the_engine() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let mut feed = engine.subscribe(engine.committed());
    let reader = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(page) = feed.next().await.expect("the feed can be read") {
            seen.extend(page.iter().map(|entry| entry.changes.len()));
        }
        seen
    });
    for n in 0..100 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
    }
    engine.close();
    assert_eq!(reader.await.expect("read"), vec![1; 100]);
}

#[tokio::test]
async fn lagging_reader_loses_nothing() {
    let sale = Sale::new();
    let options = Options { tail_capacity: 3, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    let mut feed = engine.subscribe(Seq(0));
    let mut cursor = 0;
    for round in 0..20 {
        for n in 0..5 {
            hold(&engine, &format!("b{round}-{n}"), units(1)).await.expect("held");
        }
        // One page each round: now from memory, now from the file.
        for entry in feed.next().await.expect("readable").expect("running") {
            cursor += 1;
            assert_eq!(entry.seq, Seq(cursor));
        }
    }
}

#[tokio::test]
async fn cursor_of_another_journal_is_an_error() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let error = engine.subscribe(Seq(1_000)).next().await.expect_err("refused");
    assert!(error.contains("1000"), "{error}");
}

#[tokio::test]
async fn feed_has_an_entry_for_each_decision_with_its_changes() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let before = engine.committed();
    hold(&engine, "b1", units(2)).await.expect("held");
    hold(&engine, "b1", units(2)).await.expect("a replay");
    hold(&engine, "b2", units(1_000)).await.expect_err("too many");
    release(&engine, "b1").await.expect("released");
    let entries = feed_to(&engine, before, Seq(before.0 + 2)).await;
    assert_eq!(engine.committed(), Seq(before.0 + 2), "replays and refusals change nothing");
    assert!(matches!(entries[0].changes[..], [Change::Hold(HoldChange::HoldPlaced { .. })]));
    assert!(matches!(entries[1].changes[..], [Change::Hold(HoldChange::HoldReleased { .. })]));
    assert_eq!(entries[0].at, crate::sale::START);
}
