//! Deadlines that a node was not told of: another one that is no more had set them, or an answer was lost.

use crate::stage::{MemoryArchive, done, hold, id, new_event, open, options, settings, until};
use onrush_core::ids::EventId;
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::{Command, Time};
use onrush_store::Failure;
use onrush_store::redis::{Options, RedisEngine};
use onrush_testkit::{Redis, need};

/// Decades from now.
const FAR: Time = Time(4_000_000_000_000);

/// A sale that anybody may hold in, for a second.
async fn sale(engine: &RedisEngine, closes_at: Option<Time>) -> EventId {
    let event = new_event();
    let settings = Settings { room: None, hold_ttl_ms: 1_000, closes_at, ..settings() };
    done(engine, &event, Command::CreateEvent { settings: Box::new(settings) }).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 10, price_minor: 0 };
    done(engine, &event, Command::AddPool { spec }).await;
    done(engine, &event, Command::OpenSale { seed: None, public_value: None }).await;
    event
}

/// A field of a hash of the event's; empty if it is not there.
fn field(redis: &Redis, event: &EventId, hash: &str, field: &str) -> String {
    let key = format!("onrush:{{{event}}}:{hash}");
    redis.command(&["HGET", &key, field]).expect("Redis answers")
}

/// Waits until the hold `b1` has run out. The node is asked nothing: whoever asks it has it look.
async fn end_of_hold(redis: &Redis, event: &EventId) {
    until("the end of the hold", || async {
        field(redis, event, "holds", "b1").starts_with("expired").then_some(())
    })
    .await;
}

/// A node that knows of nothing due for decades looks rarely, and nobody tells it what another one decided.
#[tokio::test]
async fn a_hold_whose_node_died_runs_out_although_the_others_know_of_a_far_deadline_only() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let survivor = open(&redis, archive.other_node()).await;
    let event = sale(&survivor, Some(FAR)).await;
    until("a look of the survivor's", || async {
        (!field(&redis, &event, "meta", "alive").is_empty()).then_some(())
    })
    .await;

    // It decides, and dies before it looks at the deadline.
    let dying = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let dying = RedisEngine::open(dying).await.expect("it begins");
    hold(&dying, &event, "ada", "b1").await.expect("units are free");
    drop(dying);
    end_of_hold(&redis, &event).await;
    survivor.close().await;
}

/// What nobody answered may be decided, and who asked for it has found before that nothing is due.
#[tokio::test]
async fn a_hold_whose_answer_is_lost_runs_out_before_its_event_would_be_looked_at_again() {
    let Some(mut redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let patient = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let patient = RedisEngine::open(patient).await.expect("it begins");
    // In a sweep the turn of the one beside comes first.
    let beside = sale(&patient, None).await;
    let event = sale(&patient, None).await;
    for of in [&beside, &event] {
        let meta = format!("onrush:{{{of}}}:meta");
        redis.command(&["HDEL", &meta, "alive"]).expect("Redis answers");
    }
    let usual = options(&redis, archive.other_node());
    let hasty = Options { sweep_ms: 1_000, timeout_ms: 500, ..usual };
    let hasty = RedisEngine::open(hasty).await.expect("it begins");
    until("a look at both", || async {
        let looked_at = |of| !field(&redis, of, "meta", "alive").is_empty();
        (looked_at(&beside) && looked_at(&event)).then_some(())
    })
    .await;
    let before = field(&redis, &beside, "meta", "alive");

    redis.pause();
    assert_eq!(hold(&hasty, &event, "ada", "b1").await, Err(Failure::Unreachable));
    redis.resume();
    end_of_hold(&redis, &event).await;
    let now = field(&redis, &beside, "meta", "alive");
    assert_eq!(now, before, "ten seconds are over: the event had its turn as all others have");
    hasty.close().await;
}
