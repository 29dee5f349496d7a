//! What arrives when nothing fails.

use crate::listener::Message;
use crate::stage::{Broker, Stage};
use onrush_bridge::kafka::Topic;
use onrush_core::Command;
use onrush_core::hold::OnDecline;
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::question::BookingOf;
use onrush_store::{Ask, Engine, Seq};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn count(heard: &[Message], topic: Topic) -> usize {
    heard.iter().filter(|message| message.topic == topic).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_tell_what_s3_says() {
    let broker = Broker::shared();
    let stage = Stage::new(&broker);
    let node = stage.node();
    stage.sale("queue", true).await;
    stage.sale("shop", false).await;
    stage.join("queue", "ann").await;
    stage.hold("shop", "bob", "shop.1", Some("A-1")).await;
    let (booking, user) = ("shop.1".parse().unwrap(), "bob".parse().unwrap());
    let begin = |n: u8| Command::BeginPayment {
        booking: "shop.1".parse().unwrap(),
        user: "bob".parse().unwrap(),
        payment: format!("shop.1.{n}").parse().unwrap(),
    };
    stage.ask("shop", begin(1)).await;
    let fail = Command::FailPayment {
        booking: "shop.1".parse().unwrap(),
        payment: "shop.1.1".parse().unwrap(),
        why: "insufficient_funds".into(),
        then: OnDecline::Keep,
    };
    stage.ask("shop", fail).await;
    node.until_told(&stage).await;
    // Another publisher does not remember the hold, and asks the engine.
    node.stop().await;
    let node = stage.node();
    stage.ask("shop", begin(2)).await;
    let payment = Some("shop.1.2".parse().unwrap());
    stage.ask("shop", Command::Confirm { booking, user, payment }).await;
    node.until_told(&stage).await;

    let mut listener = stage.listener(&node).await;
    let decided = stage.feed().await.len();
    listener.until("all of the feed", |heard| count(heard, Topic::Feed) >= decided);
    listener.until("the booking's end", |heard| count(heard, Topic::BookingCompleted) >= 1);
    listener.until("both payments", |heard| count(heard, Topic::PaymentInitiated) >= 2);
    listener.until("the failure", |heard| count(heard, Topic::PaymentFailed) >= 1);
    listener.until("the place", |heard| count(heard, Topic::BookingRequest) >= 1);
    assert_eq!(listener.repeats(), 0, "a publisher that ends in order repeats nothing");

    let bodies = |topic| -> Vec<(String, Value)> {
        let taken = listener.taken(topic).into_iter();
        taken.map(|message| (message.key, message.body)).collect()
    };
    let at = 1_764_000_000;
    let request = json!({"user_id": "ann", "event_id": "queue", "sequence": 1, "timestamp": at});
    assert_eq!(bodies(Topic::BookingRequest), [("queue".to_owned(), request)]);
    let paid = |payment: &str| {
        let body = json!({"user_id": "bob", "event_id": "shop", "seat_id": "A-1",
            "payment_id": payment, "timestamp": at});
        ("shop".to_owned(), body)
    };
    assert_eq!(bodies(Topic::PaymentInitiated), [paid("shop.1.1"), paid("shop.1.2")]);
    assert_eq!(bodies(Topic::BookingCompleted), [paid("shop.1.2")]);
    let failed = json!({"user_id": "bob", "event_id": "shop", "payment_id": "shop.1.1",
        "reason": "insufficient_funds", "why": "insufficient_funds", "timestamp": at});
    assert_eq!(bodies(Topic::PaymentFailed), [("shop".to_owned(), failed)]);

    // The inherited message and the feed's are about the same change.
    let completed = &listener.taken(Topic::BookingCompleted)[0];
    let feed = listener.taken(Topic::Feed);
    let same =
        feed.iter().find(|m| m.number == completed.number && m.key == completed.key).unwrap();
    let change = json!({"hold_confirmed": {"booking": "shop.1", "payment": "shop.1.2"}});
    assert_eq!(same.body["change"], change);
    assert_eq!((same.fence, completed.fence), (2, 2), "the second publisher's lease");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_a_booking_was_is_known_after_the_engine_forgot_it() {
    let broker = Broker::shared();
    let stage = Stage::new(&broker);
    let node = stage.node();
    stage.sale("shop", false).await;
    let bookings = ["shop.1", "shop.2"];
    for booking in bookings {
        stage.hold("shop", "bob", booking, None).await;
    }
    node.until_told(&stage).await;
    node.stop().await;

    // While nobody publishes, payments begin and fail, and a day goes by.
    for booking in bookings {
        let (user, payment) = ("bob".parse().unwrap(), format!("{booking}.1").parse().unwrap());
        let begin = Command::BeginPayment { booking: booking.parse().unwrap(), user, payment };
        stage.ask("shop", begin).await;
        let payment = format!("{booking}.1").parse().unwrap();
        let (why, then) = ("timeout".into(), OnDecline::Release);
        let fail = Command::FailPayment { booking: booking.parse().unwrap(), payment, why, then };
        stage.ask("shop", fail).await;
    }
    stage.clock.advance_ms(2 * ENDED_KNOWN_MS);
    let forgetting = async {
        for booking in bookings {
            let anyones = || BookingOf { booking: booking.parse().unwrap(), user: None };
            while stage.engine.ask("shop".parse().unwrap(), anyones()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), forgetting).await.expect("both are forgotten");
    stage.ledger_knows("shop", "shop.1", "bob").await;

    let node = stage.node();
    node.until_told(&stage).await;
    let mut listener = stage.listener(&node).await;
    listener.until("both payments", |heard| count(heard, Topic::PaymentInitiated) >= 2);
    listener.until("both failures", |heard| count(heard, Topic::PaymentFailed) >= 2);
    for topic in [Topic::PaymentInitiated, Topic::PaymentFailed] {
        let told = listener.taken(topic);
        let users: Vec<_> = told
            .iter()
            .map(|message| (message.body["payment_id"].clone(), message.body["user_id"].clone()))
            .collect();
        // The second one is in no ledger either: its message says what is known.
        assert_eq!(users, [(json!("shop.1.1"), json!("bob")), (json!("shop.2.1"), Value::Null)]);
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_arrives_and_those_of_one_event_in_order() {
    let broker = Broker::shared();
    let stage = Stage::new(&broker);
    let events: Vec<_> = (0..8).map(|n| format!("event-{n}")).collect();
    for event in &events {
        stage.sale(event, true).await;
    }
    let node = stage.node();
    // Some of it is there before the publisher comes, and some while it publishes.
    for user in 0..60 {
        let user = format!("u{user}");
        let joins = events.iter().map(|event| stage.join(event, &user));
        futures_util::future::join_all(joins).await;
    }
    node.until_told(&stage).await;
    let mut listener = stage.listener(&node).await;
    let decided = stage.feed().await;
    listener.until("all of it", |heard| {
        count(heard, Topic::Feed) >= decided.len() && count(heard, Topic::BookingRequest) >= 8 * 60
    });

    let mut by_event: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (event, sequence, index) in &decided {
        by_event.entry(event.as_str()).or_default().push((*sequence, *index));
    }
    let mut partitions = BTreeMap::<&str, BTreeSet<i32>>::new();
    for (event, numbers) in by_event {
        let messages = listener.heard.iter();
        let messages = messages.filter(|m| m.topic == Topic::Feed && m.key == event);
        let mut heard = Vec::new();
        for message in messages {
            partitions.entry(event).or_default().insert(message.partition);
            heard.push(message.number);
        }
        assert_eq!(heard, numbers, "{event}: everything, once, in order");
        let places = listener.heard.iter().filter(|m| m.topic == Topic::BookingRequest);
        let places: Vec<_> =
            places.filter(|m| m.key == event).map(|m| m.body["sequence"].clone()).collect();
        assert_eq!(places, (1..=60).map(Value::from).collect::<Vec<_>>());
    }
    assert!(partitions.values().all(|partitions| partitions.len() == 1), "{partitions:?}");
    let used: BTreeSet<_> = partitions.into_values().flatten().collect();
    assert!(used.len() > 1, "order is kept per event, not by having one partition");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn change_too_long_for_a_message_is_named_and_holds_nothing_up() {
    let broker = Broker::shared();
    let mut stage = Stage::new(&broker);
    stage.settings.max_message_bytes = 10_000;
    stage.sale("arena", false).await;
    let before = stage.engine.committed();
    stage.add_seats("arena", "B", 500).await;
    stage.hold("arena", "ann", "arena.1", Some("B-500")).await;
    let node = stage.node();
    node.until_told(&stage).await;
    let mut listener = stage.listener(&node).await;
    let decided = stage.feed().await.len();
    listener.until("all of the feed", |heard| count(heard, Topic::Feed) >= decided);
    let feed = listener.taken(Topic::Feed);
    let Seq(before) = before;
    let long = feed.iter().find(|message| message.number == (before + 1, 0)).unwrap();
    assert_eq!(long.body["omitted"]["kind"], "seats_added");
    assert!(long.body["omitted"]["bytes"].as_u64().unwrap() > 10_000);
    assert_eq!(long.body["change"], Value::Null);
    assert_eq!(feed.last().unwrap().body["change"]["hold_placed"]["terms"]["booking"], "arena.1");
    node.stop().await;
}

/// What brokers measure is a batch, not a message.
#[tokio::test(flavor = "multi_thread")]
async fn rush_of_messages_fits_into_what_brokers_take() {
    let broker = Broker::shared();
    let mut stage = Stage::new(&broker);
    stage.settings.max_message_bytes = 10_000;
    stage.settings.options.insert("compression.type".into(), "none".to_owned().into());
    stage.make_topics(10_000).await;
    stage.sale("rush", true).await;
    for user in 0..250 {
        stage.join("rush", &format!("u{user}")).await;
    }
    let node = stage.node();
    node.until_told(&stage).await;
    let mut listener = stage.listener(&node).await;
    listener.until("all places", |heard| count(heard, Topic::BookingRequest) >= 250);
    assert_eq!(node.health.state().borrow().failures, 0);
    node.stop().await;
}
