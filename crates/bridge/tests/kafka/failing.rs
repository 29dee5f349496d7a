//! What arrives when something fails: everything, at least once, and repeats can be told.

use crate::listener::{Message, taken};
use crate::stage::{Broker, Stage};
use onrush_bridge::kafka::Topic;
use onrush_store::{Engine, Seq};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a receiver makes of the feed's topic, as the engine's own feed would have it.
fn numbers(heard: &[Message]) -> Vec<(String, u64, u64)> {
    let mut numbers: Vec<_> = taken(heard, Topic::Feed)
        .into_iter()
        .map(|Message { key, number: (sequence, index), .. }| (key, sequence, index))
        .collect();
    // Partitions come in any order; each event's messages are in the right one, or there would be fewer.
    numbers.sort_by_key(|(_, sequence, index)| (*sequence, *index));
    numbers
}

async fn decided(stage: &Stage) -> Vec<(String, u64, u64)> {
    let feed = stage.feed().await.into_iter();
    feed.map(|(event, sequence, index)| (event.as_str().to_owned(), sequence, index)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_after_sending_repeats_messages_with_their_numbers() {
    let broker = Broker::shared();
    let stage = Stage::new(&broker);
    let first = stage.node();
    // It sends, and dies before the cursor says so.
    first.gate.saves_hang.store(true, Ordering::SeqCst);
    stage.sale("one", true).await;
    stage.sale("two", true).await;
    let mut listener = stage.listener(&first).await;
    listener.until("something", |heard| !heard.is_empty());
    first.crash().await;
    assert_eq!(stage.cursor().await, Seq(0));
    let before = listener.heard.len();

    stage.lease_runs_out();
    stage.join("one", "ann").await;
    let second = stage.node();
    second.until_told(&stage).await;
    let decided = decided(&stage).await;
    listener.until("all of the feed", |heard| numbers(heard).len() >= decided.len());
    listener.until("what the second sent", |heard| {
        let of_second = heard.iter().filter(|message| message.fence == 2);
        of_second.filter(|message| message.topic == Topic::Feed).count() >= decided.len()
    });
    assert_eq!(numbers(&listener.heard), decided);
    assert!(listener.repeats() >= before, "what the first had sent came again");
    let Message { topic, key, number, body, .. } = listener.heard[0].clone();
    let again = listener
        .heard
        .iter()
        .find(|m| m.fence == 2 && m.topic == topic && m.key == key && m.number == number);
    assert_eq!(again.expect("it came again, under the next fence").body, body);
    second.stop().await;
    assert_eq!(stage.cursor().await, stage.engine.committed());
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_that_is_away_delays_publishing_and_nothing_else() {
    let mut broker = Broker::own();
    let mut stage = Stage::new(&broker);
    let first = stage.node();
    stage.sale("rush", true).await;
    let mut listener = stage.listener(&first).await;
    first.until_told(&stage).await;
    let before = stage.engine.committed();

    // Another waits for its turn, of which no more than so much may be under way.
    stage.settings.tuning.window = 16;
    let second = stage.node();
    second.until("the second has a connection", |state| state.connected).await;
    broker.stop();
    // Answered at once, all of them, while nobody hears of it.
    for user in 0..250 {
        stage.join("rush", &format!("u{user}")).await;
    }
    assert!(stage.engine.committed().0 >= before.0 + 250);
    assert_eq!(first.health.state().borrow().published, before);
    first.stop().await;
    assert_eq!(stage.cursor().await, before);

    // It finds a full page, and takes no more of it.
    second.until("it tries", |state| state.sent >= 16).await;
    for user in 250..500 {
        stage.join("rush", &format!("u{user}")).await;
    }
    let state = *second.health.state().borrow();
    assert_eq!((state.sent, state.acknowledged, state.published), (16, 0, Seq(0)));

    broker.come_back();
    second.until_told(&stage).await;
    let decided = decided(&stage).await;
    // The topics are read side by side.
    listener.until("all of the feed, and every request", |heard| {
        numbers(heard).len() >= decided.len() && taken(heard, Topic::BookingRequest).len() >= 500
    });
    assert_eq!(numbers(&listener.heard), decided);
    let requests = taken(&listener.heard, Topic::BookingRequest);
    let places = requests.iter().map(|message| message.body["sequence"].as_u64().unwrap());
    assert_eq!(places.collect::<Vec<_>>(), (1..=500).collect::<Vec<_>>());
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_that_stays_away_is_tried_again_and_again() {
    let mut broker = Broker::own();
    let mut stage = Stage::new(&broker);
    // Short enough for turns to end while the broker is away, and long enough for one that is there.
    stage.settings.tuning.patience = Duration::from_secs(5);
    stage.settings.tuning.making_topics = Duration::from_secs(2);
    let node = stage.node();
    stage.sale("rush", true).await;
    node.until_told(&stage).await;
    broker.stop();
    let before = stage.engine.committed();
    stage.join("rush", "ann").await;
    node.until("a turn and another attempt have ended", |state| state.failures >= 2).await;
    let state = *node.health.state().borrow();
    assert!(!state.publishing, "another node may try");
    assert_eq!(state.published, before);

    broker.come_back();
    node.until_told(&stage).await;
    let mut listener = stage.listener(&node).await;
    let decided = decided(&stage).await;
    listener.until("all of the feed", |heard| numbers(heard).len() >= decided.len());
    assert_eq!(numbers(&listener.heard), decided);
    node.stop().await;
}

/// Who makes no topics has to ask for something else to know that Kafka is there.
#[tokio::test(flavor = "multi_thread")]
async fn node_that_makes_no_topics_is_connected_once_a_broker_has_answered() {
    let mut broker = Broker::own();
    let mut stage = Stage::new(&broker);
    stage.make_topics(1_000_000).await;
    stage.settings.create_topics = false;
    stage.settings.tuning.making_topics = Duration::from_secs(1);
    broker.stop();
    let node = stage.node();
    let tried = "it is connected, or has tried twice";
    node.until(tried, |state| state.connected || state.failures >= 2).await;
    assert!(!node.health.state().borrow().connected, "nobody is there");

    broker.come_back();
    node.until("it is connected", |state| state.connected).await;
    stage.sale("rush", true).await;
    node.until_told(&stage).await;
    node.stop().await;
}

/// Whoever makes the topics is told which one is missing.
#[tokio::test(flavor = "multi_thread")]
async fn node_that_makes_no_topics_waits_until_all_are_there() {
    let Some(broker) = Broker::own_that_makes_no_topics() else { return };
    let mut stage = Stage::new(&broker);
    stage.settings.create_topics = false;
    let node = stage.node();
    let tried = "it is connected, or has tried twice";
    node.until(tried, |state| state.connected || state.failures >= 2).await;
    assert!(!node.health.state().borrow().connected, "it has nowhere to write to");
    stage.make_topics(1_000_000).await;
    node.until("it is connected", |state| state.connected).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn publisher_that_was_overtaken_is_refused_and_stops() {
    let broker = Broker::shared();
    let mut stage = Stage::new(&broker);
    // By its own clock the first one has all the time in the world.
    stage.settings.tuning.lease_ms = 600_000;
    let first = stage.node();
    stage.sale("rush", true).await;
    first.until_told(&stage).await;
    let mut listener = stage.listener(&first).await;
    let second = stage.node();
    second.until("the second has a connection", |state| state.connected).await;
    assert!(!second.health.state().borrow().publishing, "one publishes at a time");
    second.stop().await;

    // The first cannot renew its lease and does not notice: the second is sure to be the only one.
    first.gate.leases_hang.store(true, Ordering::SeqCst);
    stage.lease_runs_out();
    let second = stage.node();
    second.until("the second publishes", |state| state.publishing).await;
    stage.join("rush", "ann").await;
    second.until_told(&stage).await;
    // It has sent the same, and the cursor is refused to it.
    first.until("the first stops", |state| !state.publishing).await;
    stage.join("rush", "bob").await;
    second.until_told(&stage).await;

    let decided = decided(&stage).await;
    listener.until("all of the feed", |heard| numbers(heard).len() >= decided.len());
    assert_eq!(numbers(&listener.heard), decided);
    let last =
        listener.heard.iter().filter(|message| message.number.0 == stage.engine.committed().0);
    let fences: Vec<_> = last.map(|message| message.fence).collect();
    assert!(!fences.is_empty() && fences.iter().all(|fence| *fence == 2), "{fences:?}");
    assert!(!first.has_ended(), "it waits for another turn");
    first.crash().await;
    second.stop().await;
    assert_eq!(stage.cursor().await, stage.engine.committed(), "the second's cursor stands");
}
