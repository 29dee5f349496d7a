//! The ledger run step by step.

use crate::rows::{booking_id, event, message, page, user};
use onrush_core::Time;
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::delivery::{Delivered, REPLAYED_AT_ONCE};
use onrush_ledger::projection::{FeedPosition, Projection};
use onrush_ledger::retention::ERASED_AT_ONCE;
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

/// Names one buyer more of an event than are erased at once.
async fn name_buyers(ledger: &SqliteLedger, steps: &mut SteppedLedger) {
    let buyer = Buyer { name: "Ann".into(), email: "ann@x.org".into(), language: "en".into() };
    for n in 0..=ERASED_AT_ONCE {
        let id = booking_id(&format!("gala.{n}"));
        run(steps, ledger.set_buyer(&id, &user("ann"), buyer.clone())).await.expect("kept");
    }
}

#[tokio::test]
async fn whoever_asks_while_an_event_is_erased_waits_for_some_bookings_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("it opens");
    let of_event = || ledger.erase_buyer(BuyerOf::Event(event("gala")));
    let left = || ledger.bookings_of(BuyerOf::User(user("ann")), None, 999);
    name_buyers(&ledger, &mut steps).await;
    let (erased, between) = (of_event(), left());
    steps.step();
    assert_eq!(between.await.expect("read").len(), 1);
    assert_eq!(run(&mut steps, erased).await, Ok(ERASED_AT_ONCE + 1));
    assert_eq!(run(&mut steps, left()).await, Ok(vec![]));

    // The rest go although nobody waits for it.
    name_buyers(&ledger, &mut steps).await;
    drop(of_event());
    let between = left();
    steps.step();
    assert_eq!(between.await.expect("read").len(), 1);
    assert_eq!(run(&mut steps, left()).await, Ok(vec![]));
}

#[tokio::test]
async fn whoever_asks_while_a_channel_is_replayed_waits_for_some_messages_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (ledger, mut steps) = SteppedLedger::open(dir.path()).expect("it opens");
    let ids: Vec<String> = (0..=REPLAYED_AT_ONCE).map(|n| format!("m{n}")).collect();
    let messages = ids.iter().map(|id| message(id, 5, &["mail"])).collect();
    let told = ledger.project(Projection { messages, ..page(1, vec![]) });
    run(&mut steps, told).await.expect("written");
    let dead = || Delivered::Dead { at: Time(9), error: "gone".into() };
    let given_up = ids.iter().map(|id| (id.clone(), dead())).collect();
    run(&mut steps, ledger.delivered("mail", given_up)).await.expect("written");
    let replayed = ledger.replay("mail", None, Time(50));
    let between = ledger.deliveries("mail", Time(50), usize::MAX);
    // One of them is given up again before the rest are replayed.
    let again = ledger.delivered(
        "mail",
        vec![("m0".into(), Delivered::Dead { at: Time(51), error: "gone".into() })],
    );
    steps.step();
    assert_eq!(between.await.expect("read").len() as u64, REPLAYED_AT_ONCE);
    again.await.expect("written");
    assert_eq!(run(&mut steps, replayed).await, Ok(REPLAYED_AT_ONCE + 1));
    let left = run(&mut steps, ledger.dead_letters(None, None, 9)).await.expect("read").rows;
    assert_eq!(left.iter().map(|dead| dead.died_at).collect::<Vec<_>>(), [Time(51)]);
}
