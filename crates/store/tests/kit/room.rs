//! The line, the room, seats and payment.

use crate::{Kit, kit, race};
use redis::Value;

pub(crate) const WAITING: &str = "waiting_list:gala";
pub(crate) const ACTIVE: &str = "active_users:gala";
const SEQUENCE: &str = "queue_sequence:gala";

pub(crate) fn state(user: &str) -> String {
    format!("user_state:{user}:gala")
}

pub(crate) fn lock(seat: &str) -> String {
    format!("lock:seat:gala:{seat}")
}

impl Kit {
    pub(crate) fn enqueue(&mut self, user: &str) -> Vec<String> {
        self.run("enqueue", &[WAITING, SEQUENCE, ACTIVE], &["gala", user])
    }

    pub(crate) fn promote(&mut self, more: &[&str]) -> Vec<String> {
        self.run("promote", &[WAITING, ACTIVE], &[&["gala", "0"], more].concat())
    }

    /// Enqueues and promotes; the time the session ends.
    pub(crate) fn enter(&mut self, user: &str) -> u64 {
        assert_eq!(self.enqueue(user)[0], "1");
        let promoted = self.promote(&[]);
        assert_eq!(promoted[..2], ["1", user]);
        promoted[2].parse().expect("integer seconds")
    }

    pub(crate) fn lock_seat(&mut self, user: &str, seat: &str) -> Vec<String> {
        self.run("lock_seat", &[&state(user), &lock(seat)], &[user, "gala", seat])
    }

    pub(crate) fn initiate(&mut self, user: &str, payment: &str) -> Vec<String> {
        self.run("initiate_payment", &[&state(user), ACTIVE], &[user, "gala", payment])
    }

    pub(crate) fn success(&mut self, user: &str, seat: &str, payment: &str) -> Vec<String> {
        let keys = [&state(user), ACTIVE, &lock(seat)];
        self.run("payment_success", &keys, &["gala", user, seat, payment])
    }

    pub(crate) fn cancel(&mut self, user: &str) -> Vec<String> {
        self.run("cancel", &[WAITING, ACTIVE, &state(user)], &["gala", user])
    }

    fn position(&mut self, user: &str) -> Vec<String> {
        self.run("position", &[WAITING, &state(user)], &[user, "gala"])
    }

    fn cleanup(&mut self, user: &str, more: &[&str]) -> Vec<String> {
        self.run("cleanup", &[&state(user), ACTIVE], &[&["gala", user], more].concat())
    }
}

#[test]
fn enqueue_gives_one_place_a_user() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.enqueue("ada"), ["1", "1"]);
    assert_eq!(kit.enqueue("bob"), ["1", "2"]);
    let before = kit.everything();
    assert_eq!(kit.enqueue("ada"), ["0", "1"], "the place held");
    assert_eq!(kit.everything(), before);
    kit.promote(&[]);
    assert_eq!(kit.enqueue("ada"), ["0", "0"], "in the room");
}

#[test]
fn a_hundred_enqueues_of_one_user_give_one_place() {
    let Some(mut kit) = kit() else { return };
    let placed = race(&kit, 100, |_, own| own.enqueue("ada")[0] == "1");
    assert_eq!(placed.into_iter().filter(|placed| *placed).count(), 1);
    assert_eq!(kit.get(&["ZCARD", WAITING]), "1");
}

#[test]
fn position_is_exact_and_falls() {
    let Some(mut kit) = kit() else { return };
    for user in ["ada", "bob", "eve"] {
        kit.enqueue(user);
    }
    assert_eq!(kit.position("eve"), ["1", "queued", "3"]);
    assert_eq!(kit.cancel("bob"), ["1", "cancelled_from_queue"]);
    assert_eq!(kit.position("eve"), ["1", "queued", "2"]);
    let promoted = kit.promote(&[]);
    assert_eq!(kit.position("eve"), ["1", "queued", "1"]);
    assert_eq!(kit.position("ada"), ["1", "active", "active", "", &promoted[2]]);
    kit.lock_seat("ada", "A1");
    assert_eq!(kit.position("ada"), ["1", "active", "seat_selected", "A1", &promoted[2]]);
    assert_eq!(kit.position("bob"), ["0", "not_found"]);
}

#[test]
fn promote_lets_the_first_in_for_a_session() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.promote(&[]), ["0", "no_waiting"]);
    kit.enqueue("ada");
    kit.enqueue("bob");
    let now: i64 = kit.redis(&["TIME"])[0].parse().expect("seconds");
    let reply = kit.value("promote", &[WAITING, ACTIVE], &["gala", "0"]);
    let Value::Array(items) = &reply else { panic!("an array: {reply:?}") };
    let [Value::Int(1), Value::BulkString(user), Value::Int(expire_time)] = &items[..] else {
        panic!("{reply:?}")
    };
    assert_eq!(user, b"ada");
    assert!((now + 600..=now + 605).contains(expire_time));
    assert_eq!(kit.get(&["ZSCORE", ACTIVE, "ada"]), expire_time.to_string());
    let hash = kit.redis(&[
        "HMGET",
        "user_state:ada:gala",
        "state",
        "seat_id",
        "expire_time",
        "payment_id",
    ]);
    assert_eq!(hash, ["active", "", &expire_time.to_string(), ""]);
    assert!((695..=700).contains(&kit.ttl("user_state:ada:gala")));
    assert_eq!(kit.redis(&["ZRANGE", WAITING, "0", "-1"]), ["bob"]);
}

/// Whoever is late with the message of a session's end must not cost the visitor their next turn.
#[test]
fn session_that_is_over_and_not_ended_yet_lets_nobody_in() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    assert_eq!(kit.enqueue("ada"), ["0", "0"], "in the room");
    kit.redis(&["HSET", &state("ada"), "expire_time", "1000", "seat_id", "A1"]);
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    assert_eq!(kit.enqueue("ada")[0], "1", "in the room no more");
    let promoted = kit.promote(&[]);
    assert_eq!(promoted[..2], ["1", "ada"]);
    let now: u64 = kit.redis(&["TIME"])[0].parse().expect("seconds");
    assert!(promoted[2].parse::<u64>().is_ok_and(|until| until > now), "{promoted:?}");
    assert_eq!(kit.redis(&["HMGET", &state("ada"), "state", "seat_id"]), ["active", ""]);
    assert_eq!(kit.lock_seat("ada", "A1")[0], "1");
}

/// Nobody else could have it, and no session would give it back.
#[test]
fn seat_of_a_session_that_is_over_is_free_once_its_user_is_in_again() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    kit.enqueue("ada");
    assert_eq!(kit.promote(&[])[..2], ["1", "ada"]);
    kit.enter("bob");
    assert_eq!(kit.lock_seat("bob", "A1"), ["1", "success"]);
    // A lock that is somebody else's by now stays.
    kit.redis(&["HSET", &state("ada"), "seat_id", "A1"]);
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    kit.enqueue("ada");
    assert_eq!(kit.promote(&[])[..2], ["1", "ada"]);
    assert_eq!(kit.get(&["GET", "lock:seat:gala:A1"]), "held:bob");
}

#[test]
fn session_that_is_over_keeps_its_payment() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    kit.enqueue("ada");
    assert_eq!(kit.promote(&[]), ["0", "no_waiting"]);
    assert_eq!(kit.success("ada", "A1", "p1")[..2], ["1", "completed"]);
    assert_eq!(kit.position("ada"), ["1", "queued", "1"]);
    assert_eq!(kit.promote(&[])[..2], ["1", "ada"]);
}

/// Let in with that session, they would have nothing once it ends: neither seat nor place.
#[test]
fn whoever_waits_with_a_payment_that_ran_out_is_passed_over_until_it_has_ended() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.redis(&["HSET", &state("ada"), "expire_time", "1000"]);
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    kit.enqueue("ada");
    let before = kit.everything();
    assert_eq!(kit.promote(&[]), ["0", "no_waiting"]);
    let keys = [WAITING, ACTIVE, &state("ada"), &state("bob"), &state("eve")];
    let args = ["gala", "0", "1000", "600", "1", "ada", "bob", "eve"];
    assert_eq!(kit.run("promote", &keys[..3], &args[..6]), ["0", "no_waiting"]);
    assert_eq!(kit.run("promote", &keys[..4], &args[..7]), ["0", "no_waiting"]);
    assert_eq!(kit.everything(), before);
    for user in ["bob", "eve", "kim"] {
        kit.enqueue(user);
    }
    let alone = kit.run("promote", &keys[..3], &args[..6]);
    assert_eq!(alone, ["0", "no_waiting"], "of the users given");
    // Those behind her do not wait for that.
    let promoted = kit.run("promote", &keys, &args);
    assert_eq!((promoted.len(), &promoted[1][..]), (3, "bob"));
    let promoted = kit.promote(&["1000", "600", "2"]);
    assert_eq!([&promoted[1], &promoted[3]], ["eve", "kim"]);
    let ended = kit.run("timeout", &[&state("ada"), ACTIVE], &["gala", "ada"]);
    assert_eq!(ended, ["1", "timeout_processed", "A1"]);
    assert_eq!(kit.position("ada"), ["1", "queued", "1"]);
    assert_eq!(kit.promote(&[])[..2], ["1", "ada"]);
    assert_eq!(kit.lock_seat("ada", "A1"), ["1", "success"]);
}

#[test]
fn a_hundred_at_most_are_passed_over() {
    let Some(mut kit) = kit() else { return };
    for n in 0..101 {
        let user = format!("u{n}");
        kit.redis(&["HSET", &state(&user), "state", "payment_pending"]);
        kit.redis(&["ZADD", ACTIVE, "1000", &user]);
        kit.enqueue(&user);
    }
    kit.enqueue("ada");
    assert_eq!(kit.promote(&[]), ["0", "no_waiting"]);
    kit.cancel("u0");
    assert_eq!(kit.promote(&[])[..2], ["1", "ada"]);
}

#[test]
fn promote_keeps_to_the_limit() {
    let Some(mut kit) = kit() else { return };
    kit.enqueue("ada");
    kit.enqueue("bob");
    assert_eq!(kit.promote(&["1"])[..2], ["1", "ada"]);
    assert_eq!(kit.promote(&["1"]), ["0", "room_full"]);
    assert_eq!(kit.cancel("ada"), ["1", "cancelled_from_active", ""]);
    assert_eq!(kit.promote(&["1"])[..2], ["1", "bob"]);
}

#[test]
fn racing_promotions_never_overfill_the_room() {
    let Some(mut kit) = kit() else { return };
    for n in 0..60 {
        kit.enqueue(&format!("u{n}"));
    }
    let promoted =
        race(&kit, 20, |_, own| (0..5).filter(|_| own.promote(&["50"])[0] == "1").count());
    assert_eq!(promoted.into_iter().sum::<usize>(), 50);
    assert_eq!(
        (kit.get(&["ZCARD", ACTIVE]), kit.get(&["ZCARD", WAITING])),
        ("50".to_owned(), "10".to_owned())
    );
}

// A trap: one promotion per message and nothing starts the first.
#[test]
fn one_call_fills_the_room_from_an_empty_one() {
    let Some(mut kit) = kit() else { return };
    for user in ["ada", "bob", "eve", "kim"] {
        kit.enqueue(user);
    }
    let promoted = kit.promote(&["3", "600", "100"]);
    assert_eq!(promoted.len(), 7);
    assert_eq!([&promoted[1], &promoted[3], &promoted[5]], ["ada", "bob", "eve"]);
    assert_eq!(kit.promote(&["3", "600", "100"]), ["0", "room_full"]);
}

#[test]
fn promote_with_declared_keys_looks_who_is_first() {
    let Some(mut kit) = kit() else { return };
    kit.enqueue("ada");
    kit.enqueue("bob");
    let keys = [WAITING, ACTIVE, "user_state:ada:gala", "user_state:bob:gala"];
    let args = ["gala", "0", "1000", "600", "2"];
    let before = kit.everything();
    let wrong = kit.run("promote", &[WAITING, ACTIVE, keys[3]], &[&args[..], &["bob"]].concat());
    assert_eq!(wrong, ["0", "head_changed"]);
    assert_eq!(kit.everything(), before);
    let both = kit.run("promote", &keys, &[&args[..], &["ada", "bob"]].concat());
    assert_eq!([&both[1], &both[3]], ["ada", "bob"]);
}

#[test]
fn seat_goes_to_the_first_active_user() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.lock_seat("ada", "A1"), ["0", "invalid_state"]);
    kit.enqueue("ada");
    assert_eq!(kit.lock_seat("ada", "A1"), ["0", "invalid_state"], "waiting is not active");
    kit.promote(&[]);
    kit.enter("bob");
    assert_eq!(kit.lock_seat("ada", "A1"), ["1", "success"]);
    assert_eq!(kit.lock_seat("ada", "A1"), ["1", "success"], "sent again");
    assert_eq!(kit.lock_seat("bob", "A1"), ["0", "seat_unavailable"]);
    assert_eq!(kit.lock_seat("ada", "A2"), ["0", "invalid_state"], "they have chosen");
    assert_eq!(kit.get(&["GET", "lock:seat:gala:A1"]), "held:ada");
    assert!((595..=600).contains(&kit.ttl("lock:seat:gala:A1")));
    let hash = kit.redis(&["HMGET", "user_state:ada:gala", "state", "seat_id"]);
    assert_eq!(hash, ["seat_selected", "A1"]);
}

#[test]
fn of_fifty_active_users_one_gets_the_seat() {
    let Some(mut kit) = kit() else { return };
    for n in 0..50 {
        kit.enter(&format!("u{n}"));
    }
    let won = race(&kit, 50, |n, own| own.lock_seat(&format!("u{n}"), "A1") == ["1", "success"]);
    assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
}

#[test]
fn session_that_is_over_locks_no_seat() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.redis(&["HSET", "user_state:ada:gala", "expire_time", "1000"]);
    assert_eq!(kit.lock_seat("ada", "A1"), ["0", "invalid_state"]);
}

// A trap: the lock key has no event id.
#[test]
fn seats_of_two_events_do_not_share_a_lock() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.run("enqueue", &["waiting_list:opera", "queue_sequence:opera"], &["opera", "bob"]);
    kit.run("promote", &["waiting_list:opera", "active_users:opera"], &["opera", "0"]);
    let opera = ["user_state:bob:opera", "lock:seat:opera:A1"];
    assert_eq!(kit.run("lock_seat", &opera, &["bob", "opera", "A1"]), ["1", "success"]);
    for key in ["lock:seat:A1", "lock:seat:gala:A1", "lock:seat:opera:A2"] {
        let error = kit.error("lock_seat", &["user_state:bob:opera", key], &["bob", "opera", "A1"]);
        assert!(error.contains("must end with the event and the seat"), "{error}");
    }
}

// The same trap: a payment for a seat of one event must not sell the seat of that name in another.
#[test]
fn payment_sells_the_seat_of_its_own_event_only() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.redis(&["SET", "lock:seat:opera:A1", "held:ada"]);
    let opera = ["user_state:ada:gala", ACTIVE, "lock:seat:opera:A1"];
    assert_eq!(
        kit.run("initiate_payment", &opera, &["ada", "gala", "p1"]),
        ["0", "seat_changed", "A1"]
    );
    kit.initiate("ada", "p1");
    let before = kit.everything();
    let error = kit.error("payment_success", &opera, &["gala", "ada", "A1", "p1"]);
    assert!(error.contains("must end with the event and the seat"), "{error}");
    assert_eq!(kit.run("cleanup", &opera, &["gala", "ada", "p1"]), ["0", "seat_changed", "A1"]);
    assert_eq!(kit.everything(), before);
}

#[test]
fn payment_is_initiated_once() {
    let Some(mut kit) = kit() else { return };
    let expire_time = kit.enter("ada");
    assert_eq!(kit.initiate("ada", "p1"), ["0", "invalid_state"], "no seat yet");
    kit.lock_seat("ada", "A1");
    let reply = kit.initiate("ada", "p1");
    assert_eq!(reply[..2], ["1", "p1"]);
    assert!(reply[2].parse::<u64>().is_ok_and(|time| time >= expire_time));
    assert_eq!(kit.initiate("ada", "p2"), ["0", "payment_existed", "p1"]);
    let hash = kit.redis(&["HMGET", "user_state:ada:gala", "state", "payment_id", "expire_time"]);
    assert_eq!(hash, ["payment_pending", "p1", &reply[2]]);
    assert_eq!(kit.get(&["ZSCORE", ACTIVE, "ada"]), reply[2]);
}

#[test]
fn payment_needs_a_seat_that_is_still_his() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.redis(&["SET", "lock:seat:gala:A1", "held:bob"]);
    assert_eq!(kit.initiate("ada", "p1"), ["0", "seat_unavailable"]);
    let other = ["user_state:ada:gala", ACTIVE, "lock:seat:gala:A2"];
    assert_eq!(
        kit.run("initiate_payment", &other, &["ada", "gala", "p1"]),
        ["0", "seat_changed", "A1"]
    );
}

#[test]
fn success_completes_the_booking_and_frees_the_slot() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    assert_eq!(kit.success("ada", "A1", "p1"), ["0", "invalid_state"], "no payment yet");
    kit.initiate("ada", "p1");
    assert_eq!(kit.success("ada", "A1", "p1"), ["1", "completed", "A1"]);
    assert_eq!(kit.get(&["HGET", "user_state:ada:gala", "state"]), "completed");
    assert!((3_595..=3_600).contains(&kit.ttl("user_state:ada:gala")));
    assert_eq!(kit.get(&["ZCARD", ACTIVE]), "0");
    let before = kit.everything();
    assert_eq!(
        kit.success("ada", "A1", "p1"),
        ["0", "already_completed", "A1"],
        "the webhook came twice"
    );
    assert_eq!(kit.initiate("ada", "p2"), ["0", "payment_existed", "p1"]);
    assert_eq!(kit.cancel("ada"), ["0", "not_found"]);
    assert_eq!(kit.everything(), before);
    assert_eq!(kit.success("bob", "A2", "p9"), ["0", "not_found"]);
}

// A trap: payment success deletes the seat lock with no sold state: the seat can be sold again.
#[test]
fn sold_seat_cannot_be_locked_again() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.success("ada", "A1", "p1");
    assert_eq!(
        (kit.get(&["GET", "lock:seat:gala:A1"]).as_str(), kit.ttl("lock:seat:gala:A1")),
        ("sold:ada:p1", -1)
    );
    kit.enter("bob");
    assert_eq!(kit.lock_seat("bob", "A1"), ["0", "seat_unavailable"]);
    kit.enter("ada");
    assert_eq!(kit.lock_seat("ada", "A1"), ["0", "seat_unavailable"], "not even by its owner");
    assert_eq!(
        kit.success("ada", "A1", "p1"),
        ["0", "already_completed", "A1"],
        "also during a later session"
    );
}

// A trap: webhooks check no payment id.
#[test]
fn another_payment_completes_and_ends_nothing() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    let before = kit.everything();
    assert_eq!(kit.success("ada", "A1", "p2"), ["0", "invalid_payment"]);
    assert_eq!(kit.success("ada", "A2", "p1"), ["0", "invalid_seat"]);
    assert_eq!(kit.cleanup("ada", &["p2"]), ["0", "invalid_payment"]);
    assert_eq!(kit.everything(), before);
}

#[test]
fn cleanup_frees_seat_and_slot() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    assert_eq!(kit.cleanup("ada", &["p1"]), ["1", "A1"]);
    assert_eq!(kit.redis(&["KEYS", "*"]), [SEQUENCE]);
    assert_eq!(kit.cleanup("ada", &["p1"]), ["0", "not_found"]);
    kit.enter("bob");
    assert_eq!(kit.cleanup("bob", &[]), ["1", ""]);
}

#[test]
fn cleanup_never_frees_a_sold_seat() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.success("ada", "A1", "p1");
    let before = kit.everything();
    assert_eq!(kit.cleanup("ada", &["p1"]), ["0", "already_completed"]);
    assert_eq!(kit.everything(), before);
}

#[test]
fn cancel_gives_up_place_or_session_but_no_payment() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.cancel("ada"), ["0", "not_found"]);
    kit.enqueue("ada");
    assert_eq!(kit.cancel("ada"), ["1", "cancelled_from_queue"]);
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    let keys = [WAITING, ACTIVE, "user_state:ada:gala", "lock:seat:gala:A2"];
    assert_eq!(kit.run("cancel", &keys, &["gala", "ada"]), ["0", "seat_changed", "A1"]);
    assert_eq!(kit.cancel("ada"), ["1", "cancelled_from_active", "A1"]);
    assert_eq!(kit.redis(&["KEYS", "*"]), [SEQUENCE]);
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    let before = kit.everything();
    assert_eq!(kit.cancel("ada"), ["0", "cannot_cancel_during_payment"]);
    assert_eq!(kit.everything(), before);
}
