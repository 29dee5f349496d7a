//! RabbitMQ stops, dies, hangs and cuts connections: nothing is lost, and nothing else waits for it.

use crate::observer::Observer;
use crate::stage::{
    Node, Stage, deadline, outlet, own_server, patiently, publish, settings, shared_server,
};
use lapin::options::QueueDeleteOptions;
use onrush_base::config::rabbit::{RabbitSettings, Tuning};
use onrush_bridge::cursors::{Cursors, MemoryCursors};
use onrush_bridge::rabbit::Wake;
use onrush_bridge::rabbit::error::RabbitError;
use onrush_bridge::rabbit::topology::Topology;
use onrush_core::change::{QueueChange, VisitorChange};
use onrush_core::settings::RoomSettings;
use onrush_core::{Change, Time};
use onrush_store::Engine;
use onrush_store::embedded::Clock;
use onrush_testkit::RabbitMq;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// What a busy machine may add to a deadline.
const LATE_MS: i64 = 30_000;
/// How long sessions last here.
const SESSION_MS: i64 = 50;

fn short_room() -> RoomSettings {
    let (session_ms, arrive_ms) = (SESSION_MS, SESSION_MS);
    RoomSettings { session_ms, arrive_ms, ..RoomSettings::default() }
}

fn is_free(change: &Change) -> bool {
    matches!(change, Change::Visitor(VisitorChange::SlotFreed { .. }))
}

/// Has visitors come and not show up. Their slots are freed in time, whatever RabbitMQ does; gives
/// the ids of the messages that tell of it.
async fn no_shows(stage: &Stage, numbers: std::ops::Range<u32>) -> BTreeSet<String> {
    let (after, count) = (stage.engine.committed(), numbers.len());
    for n in numbers {
        stage.join(n).await;
    }
    let entries = stage.feed_until(after, count, is_free).await;
    let (mut deadlines, mut ids) = (Vec::new(), BTreeSet::new());
    for entry in &entries {
        for change in &entry.changes {
            if let Change::Queue(QueueChange::Admitted { user, until, .. }) = change {
                deadlines.push((user, *until));
                ids.insert(format!("{}.0", entry.seq.0));
            }
            if let Change::Visitor(VisitorChange::SlotFreed { user, .. }) = change {
                let (_, until) =
                    deadlines.iter().find(|(whose, _)| *whose == user).expect("theirs");
                let late_ms = entry.at.since_ms(*until);
                assert!((0..LATE_MS).contains(&late_ms), "{user}: {late_ms} ms late");
                ids.insert(format!("{}.0", entry.seq.0));
            }
        }
    }
    assert_eq!(ids.len(), 2 * count, "each has an end and a slot");
    ids
}

async fn sees(observer: &mut Observer, mut ids: BTreeSet<String>) {
    while !ids.is_empty() {
        ids.remove(&observer.next().await.id);
    }
}

/// Sends deadlines, and waits until RabbitMQ has them.
async fn send(settings: &RabbitSettings, stage: &Stage, deadlines: &[(&str, Time)]) {
    let (_connection, outlet) = outlet(settings).await;
    for (event, due) in deadlines {
        publish(&outlet, &deadline(event, *due), stage.clock.now()).await;
    }
}

/// Servers start and end while others go on.
async fn beside(mut server: RabbitMq, act: fn(&mut RabbitMq)) -> RabbitMq {
    let acting = tokio::task::spawn_blocking(move || {
        act(&mut server);
        server
    });
    acting.await.expect("it does what it is told")
}

#[tokio::test]
async fn while_rabbitmq_is_away_deadlines_are_met_and_nothing_is_lost_afterwards() {
    let Some(server) = own_server() else { return };
    let settings = settings(&server, "away.");
    let stage = Stage::new(Clock::default());
    stage.open_sale(short_room()).await;
    let cursors = MemoryCursors::new(Clock::default());
    let book = cursors.another_node();
    let cursor = || book.cursor("away.rabbitmq".into());
    let mut observer = Observer::of(&settings).await;
    let node = Node::start(&stage, &settings, cursors);
    node.connected(true).await;
    let ids = no_shows(&stage, 0..10).await;
    sees(&mut observer, ids).await;
    node.counted(20, |counts| &counts.published).await;

    let server = beside(server, RabbitMq::stop).await;
    node.connected(false).await;
    let before = cursor().await.expect("it is there");
    let ids = no_shows(&stage, 10..60).await;
    node.counted(4, |counts| &counts.failures).await;
    assert!(!node.health.is_connected());
    assert_eq!(cursor().await, Ok(before), "what was not sent is not passed over");

    let server = beside(server, |server| server.restart().expect("it starts again")).await;
    node.connected(true).await;
    sees(&mut Observer::of(&settings).await, ids).await;
    let ids = no_shows(&stage, 60..70).await;
    sees(&mut Observer::of(&settings).await, ids).await;
    node.stop().await;
    drop(server);
}

#[tokio::test]
async fn deadlines_outlive_cut_connections_and_a_server_that_is_killed() {
    let Some(server) = own_server() else { return };
    let settings = settings(&server, "killed.");
    let stage = Stage::new(Clock::default());
    let cursors = MemoryCursors::new(Clock::default());
    let another = cursors.another_node();
    let mut node = Node::start(&stage, &settings, cursors);
    node.connected(true).await;
    let server = beside(server, |server| {
        server.ctl(&["close_all_connections", "a test"]).expect("it does");
    })
    .await;
    node.counted(2, |counts| &counts.failures).await;
    node.connected(true).await;
    let now = stage.clock.now();
    send(&settings, &stage, &[("e", now)]).await;
    assert_eq!(node.next_wake().await.0.as_str(), "e", "both are at work again");
    node.stop().await;

    // One in each of two rungs and one that has come; nobody reads yet.
    let now = stage.clock.now();
    let due = now.plus_ms(180);
    send(&settings, &stage, &[("a", due), ("b", now.plus_ms(45)), ("c", now)]).await;
    let server = beside(server, RabbitMq::kill).await;
    let server = beside(server, |server| server.restart().expect("it starts again")).await;
    let mut node = Node::start(&stage, &settings, another);
    let mut woken = BTreeSet::new();
    while woken.len() < 3 {
        let (event, at) = node.next_wake().await;
        assert!(event.as_str() != "a" || at >= due);
        woken.insert(event.to_string());
    }
    assert_eq!(woken.into_iter().collect::<String>(), "abc");
    node.stop().await;
    drop(server);
}

#[tokio::test]
async fn server_that_hangs_is_given_up_and_what_it_did_not_confirm_is_sent_again() {
    let Some(server) = own_server() else { return };
    let patient = settings(&server, "hangs.");
    let tuning = Tuning { patience: Duration::from_millis(1_500), ..patient.tuning.clone() };
    let impatient = RabbitSettings { tuning, ..patient.clone() };
    let stage = Stage::new(Clock::default());
    stage.open_sale(short_room()).await;
    // Its queue is there from now on.
    drop(Observer::of(&patient).await);
    let node = Node::start(&stage, &impatient, MemoryCursors::new(Clock::default()));
    node.stands("it publishes", |state| state.publishing).await;

    let server = beside(server, RabbitMq::pause).await;
    let ids = no_shows(&stage, 0..10).await;
    node.stands("it gives up", |state| !state.publisher_connected).await;
    // What had been sent by then was never read.
    let server = beside(server, RabbitMq::kill).await;
    let server = beside(server, |server| server.restart().expect("it starts again")).await;
    sees(&mut Observer::of(&patient).await, ids).await;
    node.connected(true).await;
    node.stop().await;
    drop(server);
}

/// A queue is full: each connection stands, and what is sent over it is refused.
#[tokio::test]
async fn refused_message_is_sent_again_less_and_less_often() {
    const FIRST_MS: u64 = 50;
    let Some(server) = shared_server() else { return };
    let plain = settings(&server, "refused.");
    let (first_pause, longest_pause) = (Duration::from_millis(FIRST_MS), Duration::from_secs(600));
    let tuning = Tuning { first_pause, longest_pause, ..plain.tuning.clone() };
    let settings = RabbitSettings { tuning, ..plain };
    let stage = Stage::new(Clock::default());
    let (session_ms, arrive_ms) = (3_600_000, 3_600_000);
    stage.open_sale(RoomSettings { session_ms, arrive_ms, ..RoomSettings::default() }).await;

    let (_connection, outlet) = outlet(&settings).await;
    let limited = server.clone();
    let limiting = tokio::task::spawn_blocking(move || {
        let (pattern, limit) = (r"^refused\.", r#"{"max-length":1}"#);
        limited.ctl(&["set_policy", "--apply-to", "queues", "refused", pattern, limit])
    });
    limiting.await.expect("it ends").expect("RabbitMQ has a limit");
    let filler = deadline("e", stage.clock.now().plus_ms(arrive_ms));
    let filling = async {
        loop {
            let sent = outlet.send(&filler, stage.clock.now()).await.expect("it is sent");
            if let Err(RabbitError::Rejected) = outlet.confirmed(sent).await {
                return;
            }
        }
    };
    patiently("the queue is full", filling).await;

    let node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    node.connected(true).await;
    stage.join(1).await;
    node.counted(1, |counts| &counts.failures).await;
    let begun = Instant::now();
    node.counted(7, |counts| &counts.failures).await;
    // Six pauses, each twice the one before and up to a quarter shorter.
    let least = Duration::from_millis(FIRST_MS * 63 * 3 / 4);
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
    assert_eq!(node.count(|counts| &counts.published), 0);
    node.stop().await;
}

#[tokio::test]
async fn queue_that_is_deleted_is_made_again_and_read() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "deleted.");
    let topology = Topology::new(&settings);
    let stage = Stage::new(Clock::default());
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    node.connected(true).await;
    for (nth, queue) in (1..).zip([topology.timeout_queue(), topology.slot_released_queue()]) {
        let (connection, _outlet) = outlet(&settings).await;
        let channel = connection.create_channel().await.expect("a channel");
        let options = QueueDeleteOptions::default();
        channel.queue_delete(queue.into(), options).await.expect("it is deleted");
        node.counted(nth, |counts| &counts.failures).await;
        node.connected(true).await;
        let event = format!("after-{nth}");
        send(&settings, &stage, &[(&event, Time(0))]).await;
        assert_eq!(node.next_wake().await.0.as_str(), event);
    }
    node.stop().await;
}

#[tokio::test]
async fn message_in_the_hands_of_a_node_that_dies_goes_to_another() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "hands.");
    let stage = Stage::new(Clock::default());
    let (_nobody, wakes) = mpsc::unbounded_channel();
    let dies: Wake = Arc::new(|_| panic!("this node dies here, as the test wants it"));
    let cursors = MemoryCursors::new(Clock::default());
    let other = cursors.another_node();
    let mut dying = Node::start_with(&stage, &settings, cursors, dies, wakes);
    send(&settings, &stage, &[("e", Time(0))]).await;
    dying.dies().await;
    let mut other = Node::start(&stage, &settings, other);
    assert_eq!(other.next_wake().await.0.as_str(), "e");
    dying.crash();
    other.stop().await;
}
