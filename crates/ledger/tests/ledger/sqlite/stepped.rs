//! The ledger run step by step.

use onrush_ledger::projection::FeedPosition;
use onrush_ledger::sqlite::{SqliteLedger, SteppedLedger};
use onrush_ledger::{Ledger, LedgerError};
use std::future::Future;
use std::pin::pin;

/// Steps until an answer is there.
async fn run<T>(steps: &mut SteppedLedger, asked: impl Future<Output = T>) -> T {
    let mut asked = pin!(asked);
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return answer,
            () = steps.asked() => steps.step(),
        }
    }
}

fn position(seq: u64) -> FeedPosition {
    FeedPosition { seq, at: None, journal: None }
}

#[tokio::test]
async fn nothing_is_done_before_a_step_and_all_of_it_is_durable_after() {
    let dir = tempfile::tempdir().expect("a directory");
    let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("it opens");
    let mut asked = pin!(ledger.follow(position(7)));
    tokio::select! {
        biased;
        answer = &mut asked => panic!("nobody has done it: {answer:?}"),
        () = steps.asked() => {}
    }
    steps.step();
    asked.await.expect("done");
    let totals = run(&mut steps, ledger.totals()).await.expect("reports are answered as well");
    assert_eq!(totals.stuck_sagas, 0);
    drop((ledger, steps));
    let ledger = SqliteLedger::open(dir.path()).expect("it opens again");
    assert_eq!(ledger.cursor().await, Ok(7));
}

#[tokio::test]
async fn what_was_asked_and_not_done_is_lost_and_the_asker_learns_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("it opens");
    run(&mut steps, ledger.follow(position(7))).await.expect("done");
    let lost = ledger.follow(position(8));
    drop(steps);
    let is_gone = |answer| matches!(answer, Err(LedgerError::Unavailable(_)));
    assert!(is_gone(lost.await));
    assert!(is_gone(ledger.follow(position(9)).await));
    drop(ledger);
    let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("it opens again");
    assert_eq!(run(&mut steps, ledger.cursor()).await, Ok(7));
}
