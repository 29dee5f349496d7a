//! The engine run step by step.

use crate::sale::{HOLD_MS, START, Sale, assert_audit_is_clean, booking, hold, units};
use onrush_core::hold::HoldState;
use onrush_core::{Refusal, Time};
use onrush_store::embedded::{Embedded, Stepped};
use onrush_store::{Engine, Failure, Seq};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use tokio::task::yield_now;

/// Steps until an answer is there.
async fn run<T>(steps: &mut Stepped, asked: impl Future<Output = T>) -> T {
    let mut asked = pin!(asked);
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return answer,
            () = steps.asked() => {
                assert!(steps.decide() && steps.commit(), "the engine goes on");
            }
        }
    }
}

/// An engine with an open sale that nobody runs yet.
async fn opened(sale: &Sale) -> (Arc<Embedded>, Stepped) {
    sale.opened().await.close();
    Stepped::open(sale.path(), sale.options()).expect("it opens")
}

#[tokio::test]
async fn nobody_is_answered_before_the_commit() {
    let sale = Sale::new();
    let (engine, mut steps) = opened(&sale).await;
    let mut asked = pin!(hold(&engine, "b", units(2)));
    tokio::select! {
        biased;
        answer = &mut asked => panic!("nobody has decided: {answer:?}"),
        () = steps.asked() => {}
    }
    let before = engine.committed();
    assert!(steps.decide());
    for _ in 0..100 {
        tokio::select! {
            biased;
            answer = &mut asked => panic!("nothing is durable: {answer:?}"),
            () = yield_now() => {}
        }
    }
    assert_eq!(engine.committed(), before);
    assert!(steps.commit());
    asked.await.expect("held");
    assert_eq!(engine.committed(), Seq(before.0 + 1));
}

#[tokio::test]
async fn what_was_decided_and_not_committed_is_lost_and_nobody_was_told() {
    let sale = Sale::new();
    let (engine, mut steps) = opened(&sale).await;
    run(&mut steps, hold(&engine, "kept", units(1))).await.expect("held");
    let asker = engine.clone();
    let lost = tokio::spawn(async move { hold(&asker, "lost", units(1)).await });
    steps.asked().await;
    assert!(steps.decide());
    drop(steps);
    assert_eq!(lost.await.expect("it ends"), Err(Failure::Stopped));
    assert_eq!(hold(&engine, "late", units(1)).await, Err(Failure::Stopped));
    drop(engine);
    assert_audit_is_clean(sale.path());
    let (engine, mut steps) = Stepped::open(sale.path(), sale.options()).expect("it recovers");
    let kept = run(&mut steps, booking(&engine, "kept")).await;
    assert!(matches!(kept, Ok(HoldState::Held { .. })), "{kept:?}");
    let lost = run(&mut steps, booking(&engine, "lost")).await;
    assert_eq!(lost, Err(Failure::Refused(Refusal::ReservationNotFound)));
}

#[tokio::test]
async fn deadline_is_decided_by_the_step_after_it() {
    let sale = Sale::new();
    let (engine, mut steps) = opened(&sale).await;
    run(&mut steps, hold(&engine, "b", units(1))).await.expect("held");
    assert_eq!(steps.next_deadline(), Some(Time(START.0 + HOLD_MS)));
    sale.clock.advance_ms(HOLD_MS);
    steps.asked().await;
    let before = engine.committed();
    assert!(steps.decide() && steps.commit());
    assert_eq!(engine.committed(), Seq(before.0 + 1));
}

#[tokio::test]
async fn snapshot_of_a_journal_that_has_lost_rows_stops_the_engine() {
    let sale = Sale::new();
    let (engine, mut steps) = opened(&sale).await;
    run(&mut steps, hold(&engine, "b", units(1))).await.expect("held");
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute_batch("DELETE FROM journal WHERE seq > 2").expect("deleted");
    drop(db);
    let why = steps.snapshot().expect_err("there is nothing to make it of");
    assert!(why.contains("decision 3: missing"), "{why}");
    assert!(engine.damage().is_some());
    assert_eq!(hold(&engine, "late", units(1)).await, Err(Failure::Stopped));
}

#[tokio::test]
async fn snapshot_and_good_end_leave_an_engine_that_starts_from_both() {
    let sale = Sale::new();
    let (engine, mut steps) = opened(&sale).await;
    run(&mut steps, hold(&engine, "early", units(1))).await.expect("held");
    steps.snapshot().expect("it can be written");
    run(&mut steps, hold(&engine, "late", units(1))).await.expect("held");
    steps.close();
    drop(engine);
    assert_audit_is_clean(sale.path());
    let engine = sale.open();
    for name in ["early", "late"] {
        let found = booking(&engine, name).await;
        assert!(matches!(found, Ok(HoldState::Held { .. })), "{name}: {found:?}");
    }
}
