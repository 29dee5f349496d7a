//! Deadlines of a node that is no more.

use crate::stage::{MemoryArchive, done, hold, id, new_event, open, options, settings, until};
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::{Command, Time};
use onrush_store::redis::{Options, RedisEngine};
use onrush_testkit::{Redis, need};

/// Decades from now.
const FAR: Time = Time(4_000_000_000_000);

/// A node that knows of nothing due for decades looks rarely, and nobody tells it what another one decided.
#[tokio::test]
async fn a_hold_whose_node_died_runs_out_although_the_others_know_of_a_far_deadline_only() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let survivor = open(&redis, archive.other_node()).await;
    let event = new_event();
    let settings = Settings { room: None, hold_ttl_ms: 1_000, closes_at: Some(FAR), ..settings() };
    done(&survivor, &event, Command::CreateEvent { settings: Box::new(settings) }).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 10, price_minor: 0 };
    done(&survivor, &event, Command::AddPool { spec }).await;
    done(&survivor, &event, Command::OpenSale { seed: None, public_value: None }).await;
    let key = |part: &str| format!("onrush:{{{event}}}:{part}");
    let tell = |part: &str, field: &str| {
        redis.command(&["HGET", &key(part), field]).expect("Redis answers")
    };
    until("a look of the survivor's", || async {
        (!tell("meta", "alive").trim().is_empty()).then_some(())
    })
    .await;

    // It decides, and dies before it looks at the deadline.
    let dying = Options { ticks: false, ..options(&redis, archive.other_node()) };
    let dying = RedisEngine::open(dying).await.expect("it begins");
    hold(&dying, &event, "ada", "b1").await.expect("units are free");
    drop(dying);
    // The survivor is asked nothing: whoever asks it would have it look.
    until("the end of the hold", || async {
        tell("holds", "b1").starts_with("expired").then_some(())
    })
    .await;
    survivor.close().await;
}
