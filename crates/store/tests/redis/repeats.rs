//! What is asked twice is done once, and scripts that a server has forgotten are given to it again.

use crate::stage::{MemoryArchive, flash_sale, hold, hold_command, id, lines, open};
use onrush_core::Command;
use onrush_core::hold::HoldState;
use onrush_core::spec::Reason;
use onrush_store::redis::Probe;
use onrush_testkit::{Redis, need};

#[tokio::test]
async fn a_server_that_forgot_its_scripts_is_given_them_again() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    redis.command(&["SCRIPT", "FLUSH"]).expect("Redis answers");
    hold(&engine, &event, "ada", "b2").await.expect("the script is loaded again");
    engine.close().await;
}

/// A request that a client sends again after its connection broke has the same id: it gets the
/// first answer, and nothing changes twice.
#[tokio::test]
async fn the_same_request_twice_changes_things_once() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    let mut probe = Probe::open(&[redis.url()], false).await.expect("Redis answers");
    probe.look_at(event.clone());
    hold(&engine, &event, "ada", "b1").await.expect("units are free");

    let reason = Reason { by: "ops".into(), why: "stage".into() };
    let mut request = 0_u32;
    for command in [
        Command::Block { lines: lines(2), reason: reason.clone() },
        Command::Unblock { lines: lines(1), reason },
        hold_command("ada", "b2"),
        Command::Release { booking: id("b2"), user: id("ada") },
        Command::Pause,
        Command::Resume,
    ] {
        request += 1;
        let request = format!("{request:032x}");
        let decided = probe.feed(onrush_store::Seq(0)).await.expect("the stream").len();
        let first = probe.run(&command, &request).await.expect("an answer");
        let again = probe.run(&command, &request).await.expect("an answer");
        let (_, reply) = first.clone().unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
        assert_eq!(again.map(|(_, reply)| reply), Ok(reply), "{command:?}");
        let after = probe.feed(onrush_store::Seq(0)).await.expect("the stream").len();
        assert_eq!(after, decided + 1, "{command:?} is decided once");
    }
    // Another request for the same is not the same request.
    let other = probe.run(&Command::Resume, &format!("{:032x}", 99)).await.expect("an answer");
    assert!(other.is_err(), "the sale is not paused any more");
    engine.close().await;
}

#[tokio::test]
async fn the_same_hold_twice_takes_its_units_once() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = flash_sale(&engine, 10).await;
    let first = hold(&engine, &event, "ada", "b1").await.expect("units are free");
    let again = hold(&engine, &event, "ada", "b1").await.expect("it is the same hold");
    assert_eq!(first, again);
    assert!(matches!(first.state, HoldState::Held { .. }));
    assert_eq!(crate::stage::free_units(&engine, &event).await, 9);
    engine.close().await;
}
