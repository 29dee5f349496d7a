//! Deadlines arrive not before their time and not much after it; what cannot be read stops nobody.

use crate::stage::{Node, Stage, deadline, outlet, publish, settings, shared_server};
use lapin::BasicProperties;
use lapin::options::BasicPublishOptions;
use onrush_bridge::cursors::MemoryCursors;
use onrush_bridge::rabbit::bodies::{Content, FreedBy, Message, SlotReleased};
use onrush_bridge::rabbit::topology::{SLOT_RELEASED_KEY, TIMEOUT_KEY, Topology};
use onrush_core::Time;
use onrush_store::embedded::{Clock, ManualClock};
use std::collections::BTreeMap;

/// What a busy machine may add to a delay; the ladder's own share is 20 ms.
const LATE_MS: i64 = 5_000;

#[tokio::test]
async fn deadlines_of_all_lengths_arrive_in_time() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "delays.");
    let stage = Stage::new(Clock::default());
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    node.connected(true).await;
    let (_connection, outlet) = outlet(&settings).await;

    let start = stage.clock.now();
    // When each is due, and when RabbitMQ had it, which may be later.
    let mut sent: BTreeMap<String, (Time, Time)> = BTreeMap::new();
    // Long ones first, so that short ones would be in their way if they shared a queue.
    for delay_ms in [1_500, 900, 431, 430, 270, 220, 200, 190, 75, 50, 33, 20, 5, 1, 0, -1_000] {
        let (event, at) = (format!("in{delay_ms}"), start.plus_ms(delay_ms));
        publish(&outlet, &deadline(&event, at), stage.clock.now()).await;
        sent.insert(event, (at, stage.clock.now()));
    }
    while !sent.is_empty() {
        let (event, at) = node.next_wake().await;
        let sent = sent.remove(event.as_str());
        let (due, published_at) = sent.unwrap_or_else(|| panic!("{event} came twice"));
        assert!(at >= due, "{event} came {} ms early", due.since_ms(at));
        let late_ms = at.since_ms(due.max(published_at));
        assert!(late_ms < LATE_MS, "{event} came {late_ms} ms late");
    }
    node.stop().await;
}

/// The longest rung is 200 ms; time stands still until it was waited in seven times.
#[tokio::test]
async fn deadline_beyond_the_longest_rung_waits_in_it_over_and_over() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "far.");
    let time = ManualClock::new(Time(1_796_119_200_000));
    let stage = Stage::new(Clock::Manual(time.clone()));
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(stage.clock.clone()));
    let (_connection, outlet) = outlet(&settings).await;
    let due = stage.clock.now().plus_ms(1_500);
    publish(&outlet, &deadline("e", due), stage.clock.now()).await;
    node.counted(7, |counts| &counts.hopped).await;
    assert_eq!(node.count(|counts| &counts.woken), 0, "before its time");
    time.set(due);
    let (event, at) = node.next_wake().await;
    assert_eq!((event.as_str(), at), ("e", due));
    node.stop().await;
}

#[tokio::test]
async fn deadline_that_comes_early_waits_on() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "early.");
    let stage = Stage::new(Clock::default());
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    let (_connection, outlet) = outlet(&settings).await;
    // A slow machine may find nothing left to wait for, and tries with more.
    for wait_ms in [300, 1_200, 4_800, 19_200] {
        let due = stage.clock.now().plus_ms(wait_ms);
        // The sender's clock is ahead: they think that it is due.
        publish(&outlet, &deadline("e", due), due).await;
        let (event, at) = node.next_wake().await;
        assert_eq!(event.as_str(), "e");
        assert!((0..LATE_MS).contains(&at.since_ms(due)), "{at} instead of {due}");
        if node.count(|counts| &counts.hopped) >= 1 {
            return node.stop().await;
        }
    }
    panic!("it was never sent on to wait for the rest");
}

#[tokio::test]
async fn freed_slot_wakes_at_once() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "slot.");
    let stage = Stage::new(Clock::default());
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    let (_connection, outlet) = outlet(&settings).await;
    let event_id = "e".parse().expect("an id");
    let body = SlotReleased { event_id, reason: FreedBy::Cancellation, timestamp: 1 };
    let message = Message { id: None, content: Content::SlotReleased(body) };
    publish(&outlet, &message, stage.clock.now()).await;
    assert_eq!(node.next_wake().await.0.as_str(), "e");
    node.stop().await;
}

#[tokio::test]
async fn messages_of_others_are_understood_and_unreadable_ones_stop_nobody() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "others.");
    let topology = Topology::new(&settings);
    let stage = Stage::new(Clock::default());
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    let (connection, _outlet) = outlet(&settings).await;
    let channel = connection.create_channel().await.expect("a channel");
    let timeouts = (topology.timeout_exchange(), TIMEOUT_KEY);
    let slots = (topology.slot_released_exchange(), SLOT_RELEASED_KEY);
    for ((exchange, key), body) in [
        (&timeouts, "not JSON"),
        (&timeouts, r#"{"user_id": "v", "event_id": "{e}", "expire_time": 1, "scheduled_at": 1}"#),
        (&slots, r#"{"event_id": "e", "reason": "boredom", "timestamp": 1}"#),
        (&slots, ""),
        (&timeouts, r#"{"user_id": "v", "event_id": "e1", "expire_time": 1, "scheduled_at": 1}"#),
        (&slots, r#"{"event_id": "e2", "reason": "timeout", "timestamp": 1}"#),
    ] {
        let (exchange, key) = (exchange.as_str().into(), (*key).into());
        let (options, plain) = (BasicPublishOptions::default(), BasicProperties::default());
        let sent = channel.basic_publish(exchange, key, options, body.as_bytes(), plain);
        sent.await.expect("sent");
    }
    let mut woken = [node.next_wake().await.0.to_string(), node.next_wake().await.0.to_string()];
    woken.sort();
    assert_eq!(woken, ["e1", "e2"]);
    node.counted(4, |counts| &counts.unreadable).await;
    node.stop().await;
}
