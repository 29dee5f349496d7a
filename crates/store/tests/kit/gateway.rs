//! Enqueue once, hold a seat.

use crate::{Kit, kit, race};
use redis::Value;

const QUEUE: &str = "queue:event:gala";
const STATUS: &str = "seat:status:gala";
const INVENTORY: &str = "inventory:gala";
const DEADLINES: &str = "onrush:kit:holds:seat:status:gala";

fn enqueue(kit: &mut Kit, key: &str, token: &str, score: &str) -> String {
    kit.run("atomic_enqueue", &[&format!("dedupe:{key}"), QUEUE], &[token, score, "300"]).concat()
}

fn hold(kit: &mut Kit, seat: &str, user: &str) -> Vec<String> {
    kit.run(
        "atomic_hold",
        &[STATUS, &format!("hold:seat:gala:{seat}"), INVENTORY],
        &[seat, user, "600"],
    )
}

fn confirm(kit: &mut Kit, seat: &str, user: &str, payment: &str) -> Vec<String> {
    let hold = format!("hold:seat:gala:{seat}");
    kit.run("confirm_hold", &[STATUS, &hold], &[seat, user, payment])
}

/// Moves the deadline of a seat's hold into the past, as time would: the hold's key is gone then.
fn pass_deadline(kit: &mut Kit, seat: &str) {
    kit.redis(&["DEL", &format!("hold:seat:gala:{seat}")]);
    kit.redis(&["ZADD", DEADLINES, "1000.500000", seat]);
}

#[test]
fn enqueue_replies_the_rank_from_zero() {
    let Some(mut kit) = kit() else { return };
    let first = kit.value("atomic_enqueue", &["dedupe:k1", QUEUE], &["t1", "8589934592000001"]);
    assert_eq!(first, Value::Int(0));
    assert_eq!(enqueue(&mut kit, "k2", "t2", "8589934592000002"), "1");
    assert_eq!(enqueue(&mut kit, "k3", "t3", "8589934592000000"), "0", "the score decides");
    assert_eq!(kit.redis(&["ZRANGE", QUEUE, "0", "-1"]), ["t3", "t1", "t2"]);
    assert!((295..=300).contains(&kit.ttl("dedupe:k1")));
}

#[test]
fn enqueue_with_a_key_that_was_seen_is_a_duplicate() {
    let Some(mut kit) = kit() else { return };
    enqueue(&mut kit, "k1", "t1", "1");
    let before = kit.everything();
    let again = kit.value("atomic_enqueue", &["dedupe:k1", QUEUE], &["t2", "2"]);
    assert_eq!(again, Value::BulkString(b"DUPLICATE".to_vec()));
    assert_eq!(kit.everything(), before);
    assert_eq!(kit.get(&["GET", "dedupe:k1"]), "t1", "the token that has the place");
}

#[test]
fn token_that_waits_keeps_its_place() {
    let Some(mut kit) = kit() else { return };
    enqueue(&mut kit, "k1", "t1", "1");
    enqueue(&mut kit, "k2", "t2", "2");
    assert_eq!(enqueue(&mut kit, "k3", "t1", "3"), "0");
    assert_eq!(kit.get(&["ZSCORE", QUEUE, "t1"]), "1");
}

#[test]
fn of_a_hundred_enqueues_with_one_key_one_is_accepted() {
    let Some(mut kit) = kit() else { return };
    let replies = race(&kit, 100, |n, own| enqueue(own, "k1", &format!("t{n}"), &n.to_string()));
    let duplicates = replies.iter().filter(|reply| *reply == "DUPLICATE").count();
    assert_eq!((duplicates, replies.iter().filter(|reply| *reply == "0").count()), (99, 1));
    assert_eq!(kit.get(&["ZCARD", QUEUE]), "1");
}

// A trap: `millis << 24` needs 65 bits, and a double cannot hold it.
#[test]
fn score_that_a_double_cannot_hold_is_an_error() {
    let Some(mut kit) = kit() else { return };
    for score in [
        "9007199254740993000",
        "9007199254740993",
        "9007199254740993.5",
        "nan",
        "inf",
        "",
        "-1",
        "1e3",
        "0x10",
    ] {
        let error = kit.error("atomic_enqueue", &["dedupe:k1", QUEUE], &["t1", score, "300"]);
        assert!(error.contains("score must be"), "{score}: {error}");
    }
    assert_eq!(kit.redis(&["KEYS", "*"]), [""; 0]);
    assert_eq!(enqueue(&mut kit, "k1", "t1", "9007199254740992"), "0", "the largest one");
}

#[test]
fn hold_takes_a_seat_and_says_how_many_are_left() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "2"]);
    kit.redis(&["HSET", STATUS, "A1", "AVAILABLE"]);
    assert_eq!(hold(&mut kit, "A1", "ada"), ["HOLD_SUCCESS", "1"]);
    assert_eq!(hold(&mut kit, "A2", "bob"), ["HOLD_SUCCESS", "0"], "absent is available");
    assert_eq!(kit.get(&["GET", "hold:seat:gala:A1"]), "ada");
    assert!((595..=600).contains(&kit.ttl("hold:seat:gala:A1")));
    assert_eq!(kit.get(&["HGET", STATUS, "A1"]), "HOLD");
}

#[test]
fn hold_refuses_with_the_words_of_s4() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "1"]);
    hold(&mut kit, "A1", "ada");
    kit.redis(&["HSET", STATUS, "A3", "SOLD"]);
    let before = kit.everything();
    assert_eq!(hold(&mut kit, "A1", "bob"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(hold(&mut kit, "A3", "bob"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(hold(&mut kit, "A2", "bob"), ["SOLD_OUT"]);
    assert_eq!(hold(&mut kit, "A1", "ada"), ["HOLD_SUCCESS", "0"], "sent again");
    assert_eq!(kit.everything(), before);
}

#[test]
fn one_of_fifty_gets_the_seat() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "10"]);
    let won = race(&kit, 50, |n, own| hold(own, "A1", &format!("u{n}")) == ["HOLD_SUCCESS", "9"]);
    assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(kit.get(&["GET", INVENTORY]), "9");
}

#[test]
fn two_connections_never_both_get_the_last_of_the_inventory() {
    let Some(mut kit) = kit() else { return };
    for _ in 0..50 {
        kit.redis(&["SET", INVENTORY, "1"]);
        let won = race(&kit, 2, |n, own| hold(own, &format!("A{n}"), &format!("u{n}")).len() == 2);
        assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
        assert_eq!(kit.get(&["GET", INVENTORY]), "0");
        kit.redis(&["FLUSHDB"]);
    }
}

// A trap: a hold TTL that removes the key but leaves the seat marked HOLD.
#[test]
fn seat_whose_hold_ran_out_can_be_held_again() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "1"]);
    hold(&mut kit, "A1", "ada");
    pass_deadline(&mut kit, "A1");
    assert_eq!(hold(&mut kit, "A1", "bob"), ["HOLD_SUCCESS", "0"]);
    assert_eq!(kit.get(&["GET", "hold:seat:gala:A1"]), "bob");
    assert_eq!(kit.get(&["ZCARD", DEADLINES]), "1");
}

#[test]
fn mark_without_its_deadline_holds_nothing_once_its_key_is_gone() {
    let Some(mut kit) = kit() else { return };
    for mark in ["HOLD", "HOLD:1000.500000"] {
        kit.redis(&["SET", INVENTORY, "1"]);
        hold(&mut kit, "A1", "ada");
        pass_deadline(&mut kit, "A1");
        kit.redis(&["DEL", DEADLINES]);
        kit.redis(&["HSET", STATUS, "A1", mark]);
        assert_eq!(hold(&mut kit, "A1", "bob"), ["HOLD_SUCCESS", "0"], "its unit went with it");
        kit.redis(&["FLUSHDB"]);
    }
}

// The same trap: its unit must come back too.
#[test]
fn hold_that_ran_out_gives_its_unit_back() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "2"]);
    hold(&mut kit, "A1", "ada");
    hold(&mut kit, "A2", "bob");
    pass_deadline(&mut kit, "A1");
    pass_deadline(&mut kit, "A2");
    assert_eq!(hold(&mut kit, "A3", "eve"), ["HOLD_SUCCESS", "1"]);
    assert_eq!(kit.redis(&["HMGET", STATUS, "A1", "A2"]), ["AVAILABLE", "AVAILABLE"]);
    assert_eq!(hold(&mut kit, "A4", "eve"), ["HOLD_SUCCESS", "0"]);
    assert_eq!(hold(&mut kit, "A5", "eve"), ["SOLD_OUT"], "and only once");
}

#[test]
fn seat_that_was_sold_does_not_come_back() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "2"]);
    hold(&mut kit, "A1", "ada");
    pass_deadline(&mut kit, "A1");
    kit.redis(&["HSET", STATUS, "A1", "SOLD"]);
    assert_eq!(hold(&mut kit, "A2", "eve"), ["HOLD_SUCCESS", "0"]);
    assert_eq!(hold(&mut kit, "A1", "eve"), ["SEAT_UNAVAILABLE"]);
}

#[test]
fn hold_is_sold_once_and_the_same_call_again_says_so() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "2"]);
    hold(&mut kit, "A1", "ada");
    assert_eq!(confirm(&mut kit, "A1", "bob", "p1"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(confirm(&mut kit, "A1", "ada", "p1"), ["HOLD_CONFIRMED"]);
    let before = kit.everything();
    assert_eq!(confirm(&mut kit, "A1", "ada", "p1"), ["HOLD_CONFIRMED"]);
    assert_eq!(confirm(&mut kit, "A1", "ada", "p2"), ["SEAT_UNAVAILABLE"], "paid for twice");
    assert_eq!(hold(&mut kit, "A1", "ada"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(kit.everything(), before);
    assert_eq!(kit.get(&["HGET", STATUS, "A1"]), "SOLD:ada:p1");
    assert_eq!(kit.get(&["GET", INVENTORY]), "1");
    assert_eq!(kit.redis(&["EXISTS", "hold:seat:gala:A1", DEADLINES]), ["0"]);
}

// A trap: money that comes late marks the seat as sold, which somebody else holds and pays for.
#[test]
fn late_money_does_not_sell_what_somebody_else_holds() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "1"]);
    hold(&mut kit, "A1", "ada");
    // Its key lives a moment longer than its deadline.
    kit.redis(&["ZADD", DEADLINES, "1000.500000", "A1"]);
    assert_eq!(confirm(&mut kit, "A1", "ada", "p1"), ["HOLD_EXPIRED"]);
    pass_deadline(&mut kit, "A1");
    assert_eq!(confirm(&mut kit, "A1", "ada", "p1"), ["HOLD_EXPIRED"]);
    assert_eq!(hold(&mut kit, "A1", "bob"), ["HOLD_SUCCESS", "0"]);
    assert_eq!(confirm(&mut kit, "A1", "ada", "p1"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(confirm(&mut kit, "A1", "bob", "p2"), ["HOLD_CONFIRMED"]);
    assert_eq!(confirm(&mut kit, "A2", "ada", "p3"), ["HOLD_EXPIRED"], "nobody has held it");
}

// A trap: a missing inventory key is left behind as 0.
#[test]
fn missing_inventory_stays_missing() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(hold(&mut kit, "A1", "ada"), ["SOLD_OUT"]);
    assert_eq!(kit.redis(&["KEYS", "*"]), [""; 0]);
}

// A trap: `{ok = …, remaining = …}` loses `remaining`, `{err = …}` becomes a server error.
#[test]
fn hold_replies_are_plain_arrays() {
    let Some(mut kit) = kit() else { return };
    let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
    let keys = [STATUS, "hold:seat:gala:A1", INVENTORY];
    assert_eq!(
        kit.value("atomic_hold", &keys, &["A1", "ada", "600"]),
        Value::Array(vec![text("SOLD_OUT")])
    );
    kit.redis(&["SET", INVENTORY, "7"]);
    let held = Value::Array(vec![text("HOLD_SUCCESS"), Value::Int(6)]);
    assert_eq!(kit.value("atomic_hold", &keys, &["A1", "ada", "600"]), held);
    assert_eq!(
        kit.value("atomic_hold", &keys, &["A1", "bob", "600"]),
        Value::Array(vec![text("SEAT_UNAVAILABLE")])
    );
}

// The shop gives a seat back by its key, and whoever reads the map sees it free.
#[test]
fn hold_whose_key_is_gone_is_free_before_its_deadline() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "5"]);
    assert_eq!(hold(&mut kit, "A1", "ada"), ["HOLD_SUCCESS", "4"]);
    kit.redis(&["DEL", "hold:seat:gala:A1"]);
    assert_eq!(hold(&mut kit, "A1", "bob"), ["HOLD_SUCCESS", "4"]);
    assert_eq!(hold(&mut kit, "A1", "ada"), ["SEAT_UNAVAILABLE"]);
    assert_eq!(hold(&mut kit, "A2", "ada"), ["HOLD_SUCCESS", "3"], "nothing came back twice");
}

#[test]
fn inventory_that_redis_adds_nothing_to_is_an_error_and_stays() {
    let Some(mut kit) = kit() else { return };
    for foreign in ["010", "-0", "many"] {
        kit.redis(&["SET", INVENTORY, foreign]);
        let before = kit.everything();
        let keys = [STATUS, "hold:seat:gala:A1", INVENTORY];
        let error = kit.error("atomic_hold", &keys, &["A1", "ada", "600"]);
        assert!(error.contains("not a whole number"), "{foreign}: {error}");
        assert_eq!(kit.everything(), before);
    }
}

// A trap: a key without the event is shared by two events.
#[test]
fn hold_key_must_name_event_and_seat() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", INVENTORY, "7"]);
    let before = kit.everything();
    for key in ["hold:seat:A1", "hold:seat:other:A1", "hold:seat:gala:A2"] {
        let error = kit.error("atomic_hold", &[STATUS, key, INVENTORY], &["A1", "ada", "600"]);
        assert!(error.contains("must end with the event"), "{error}");
    }
    assert_eq!(kit.everything(), before);
}
