//! Places in a queue.

use crate::{Kit, kit, race};
use redis::Value;

const QUEUE: &str = "queue:gala";
const PLACES: &str = "onrush:kit:places:queue:gala";

fn join(kit: &mut Kit, user: &str, max_queue_size: &str) -> Vec<String> {
    let token = format!("token-{user}");
    kit.run(
        "join_queue",
        &[QUEUE, &format!("queue:user:gala:{user}")],
        &[user, "gala", &token, "1800", max_queue_size],
    )
}

/// Lets a place lapse now.
fn lapse(kit: &mut Kit, user: &str) {
    assert_eq!(kit.get(&["ZADD", PLACES, "XX", "CH", "1000.5", user]), "1");
    kit.redis(&["DEL", &format!("queue:user:gala:{user}")]);
}

#[test]
fn join_gives_the_last_place() {
    let Some(mut kit) = kit() else { return };
    let first = join(&mut kit, "ada", "0");
    assert_eq!(first[..3], ["1", "1", "1"]);
    let second = join(&mut kit, "bob", "0");
    assert_eq!(second[..3], ["1", "2", "2"]);
    assert_eq!(kit.redis(&["ZRANGE", QUEUE, "0", "-1"]), ["ada", "bob"]);
    let hash = kit.redis(&["HMGET", "queue:user:gala:bob", "token", "position", "expires_at"]);
    assert_eq!(hash[..2], ["token-bob", "2"]);
    let seconds = |text: &str| text.parse::<f64>().expect("seconds");
    assert!((seconds(&hash[2]) - seconds(&second[3]) - 1800.0).abs() < 0.001);
    assert!((1790..=1800).contains(&kit.ttl("queue:user:gala:bob")));
    assert!((seconds(&kit.get(&["ZSCORE", QUEUE, "bob"])) - seconds(&second[3])).abs() < 0.000_001);
}

#[test]
fn joined_at_keeps_its_fraction() {
    let Some(mut kit) = kit() else { return };
    let reply = kit.value(
        "join_queue",
        &[QUEUE, "queue:user:gala:ada"],
        &["ada", "gala", "t", "1800", "0"],
    );
    let Value::Array(items) = reply else { panic!("an array: {reply:?}") };
    let [Value::Int(1), Value::Int(1), Value::Int(1), Value::BulkString(joined_at)] = &items[..]
    else {
        panic!("three numbers and a text: {items:?}")
    };
    let text = String::from_utf8(joined_at.clone()).expect("a number");
    assert_eq!(text.split('.').nth(1).map(str::len), Some(6), "{text}");
}

#[test]
fn join_refuses_with_the_codes_of_s0() {
    let Some(mut kit) = kit() else { return };
    join(&mut kit, "ada", "2");
    join(&mut kit, "bob", "2");
    let before = kit.everything();
    assert_eq!(join(&mut kit, "ada", "2")[1], "ALREADY_IN_QUEUE");
    assert_eq!(join(&mut kit, "eve", "2")[1], "QUEUE_FULL");
    assert_eq!(kit.everything(), before);
    assert_eq!(join(&mut kit, "eve", "3")[..3], ["1", "3", "3"]);
}

#[test]
fn later_is_behind_also_when_the_clock_was_set_back() {
    let Some(mut kit) = kit() else { return };
    join(&mut kit, "ada", "0");
    let ahead = "4000000000.000001";
    kit.redis(&["ZADD", QUEUE, ahead, "ada"]);
    assert_eq!(join(&mut kit, "bob", "0"), ["1", "2", "2", "4000000000.000002"]);
    assert_eq!(join(&mut kit, "aaa", "0"), ["1", "3", "3", "4000000000.000003"]);
}

#[test]
fn a_hundred_joins_of_one_user_give_one_place() {
    let Some(kit) = kit() else { return };
    let joined: usize =
        race(&kit, 100, |_, own| usize::from(join(own, "ada", "0")[0] == "1")).into_iter().sum();
    assert_eq!(joined, 1);
}

// A trap: ghosts at the head of the queue stall it.
#[test]
fn lapsed_places_leave_the_queue() {
    let Some(mut kit) = kit() else { return };
    for user in ["ada", "bob", "eve"] {
        join(&mut kit, user, "0");
    }
    lapse(&mut kit, "ada");
    lapse(&mut kit, "bob");
    assert_eq!(kit.run("lapse_places", &[QUEUE, PLACES], &["1"]), ["1", "1"]);
    assert_eq!(kit.run("lapse_places", &[QUEUE, PLACES], &[]), ["1", "1"]);
    assert_eq!(kit.run("lapse_places", &[QUEUE, PLACES], &[]), ["1", "0"]);
    assert_eq!(kit.redis(&["ZRANGE", QUEUE, "0", "-1"]), ["eve"]);
}

// The same trap: ghosts must not fill the queue either, and may come back.
#[test]
fn lapsed_places_do_not_count() {
    let Some(mut kit) = kit() else { return };
    join(&mut kit, "ada", "2");
    join(&mut kit, "bob", "2");
    lapse(&mut kit, "ada");
    assert_eq!(join(&mut kit, "eve", "2")[..3], ["1", "2", "2"]);
    lapse(&mut kit, "bob");
    assert_eq!(join(&mut kit, "bob", "2")[..3], ["1", "2", "2"], "at the end");
    assert_eq!(kit.redis(&["ZRANGE", QUEUE, "0", "-1"]), ["eve", "bob"]);
}
