//! Sessions at their deadline.

use crate::room::{ACTIVE, WAITING, lock, state};
use crate::{Kit, kit};

impl Kit {
    fn timeout(&mut self, user: &str, more: &[&str]) -> Vec<String> {
        self.run("timeout", &[&state(user), ACTIVE], &[&["gala", user], more].concat())
    }

    /// Moves the end of a session into the past.
    fn pass_session(&mut self, user: &str) {
        self.redis(&["HSET", &state(user), "expire_time", "1000"]);
        self.redis(&["ZADD", ACTIVE, "XX", "1000", user]);
    }
}

#[test]
fn timeout_frees_seat_and_slot() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.pass_session("ada");
    assert_eq!(kit.timeout("ada", &["1000"]), ["1", "timeout_processed", "A1"]);
    assert_eq!(kit.get(&["EXISTS", &state("ada"), &lock("A1"), ACTIVE, WAITING]), "0");
    assert_eq!(kit.timeout("ada", &["1000"]), ["0", "not_found"], "the message came twice");
}

#[test]
fn timeout_of_a_session_without_a_seat_frees_the_slot() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.pass_session("ada");
    assert_eq!(kit.timeout("ada", &[]), ["1", "timeout_processed", ""]);
    assert_eq!(kit.get(&["EXISTS", ACTIVE]), "0");
}

#[test]
fn slot_is_freed_although_the_state_died_by_its_ttl() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.pass_session("ada");
    kit.redis(&["DEL", &state("ada")]);
    assert_eq!(kit.timeout("ada", &[]), ["1", "timeout_processed", ""]);
    assert_eq!(kit.get(&["EXISTS", ACTIVE]), "0");
}

#[test]
fn completed_booking_only_leaves_the_room() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.success("ada", "A1", "p1");
    kit.redis(&["ZADD", ACTIVE, "1000", "ada"]);
    assert_eq!(kit.timeout("ada", &[]), ["0", "already_completed"]);
    assert_eq!(kit.get(&["EXISTS", ACTIVE]), "0");
    assert_eq!(kit.get(&["GET", &lock("A1")]), "sold:ada:p1");
    assert_eq!(kit.get(&["HGET", &state("ada"), "state"]), "completed");
}

// A trap: a stale timeout message kills a later session of the same user.
#[test]
fn stale_timeout_leaves_a_later_session_alone() {
    let Some(mut kit) = kit() else { return };
    let first = kit.enter("ada") - 300; // It began earlier than this test can.
    kit.cancel("ada");
    let second = kit.enter("ada").to_string();
    kit.lock_seat("ada", "A1");
    let before = kit.everything();
    assert_eq!(kit.timeout("ada", &[&first.to_string()]), ["0", "stale", &second]);
    assert_eq!(kit.timeout("ada", &[&second]), ["0", "not_due", &second], "its own, but early");
    assert_eq!(kit.timeout("ada", &[]), ["0", "not_due", &second], "without its time");
    assert_eq!(kit.everything(), before);
}

#[test]
fn deadline_in_the_state_decides_whichever_message_comes() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.pass_session("ada");
    assert_eq!(kit.timeout("ada", &["900"]), ["1", "timeout_processed", ""]);
}

// A trap: the timeout fires during payment_pending.
#[test]
fn timeout_leaves_a_pending_payment_alone() {
    let Some(mut kit) = kit() else { return };
    let session_end = kit.enter("ada");
    kit.lock_seat("ada", "A1");
    // The session is about to end when Ada goes to pay.
    let now: u64 = kit.redis(&["TIME"])[0].parse().expect("seconds");
    let soon = (now + 5).to_string();
    kit.redis(&["HSET", &state("ada"), "expire_time", &soon]);
    kit.redis(&["ZADD", ACTIVE, &soon, "ada"]);
    kit.redis(&["EXPIRE", &lock("A1"), "6"]);
    kit.redis(&["EXPIRE", &state("ada"), "6"]);
    let paying_until = kit.initiate("ada", "p1")[2].clone();
    assert!(paying_until.parse::<u64>().is_ok_and(|time| time >= session_end));
    assert!(
        kit.ttl(&lock("A1")) >= 600 && kit.ttl(&state("ada")) >= 600,
        "seat and state wait with them"
    );
    let before = kit.everything();
    assert_eq!(kit.timeout("ada", &[&soon]), ["0", "payment_pending", &paying_until]);
    assert_eq!(kit.timeout("ada", &[]), ["0", "payment_pending", &paying_until]);
    assert_eq!(kit.everything(), before);
    assert_eq!(kit.success("ada", "A1", "p1"), ["1", "completed", "A1"]);
}

#[test]
fn payment_that_never_comes_ends_at_its_own_deadline() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.pass_session("ada");
    assert_eq!(kit.timeout("ada", &[]), ["1", "timeout_processed", "A1"]);
    assert_eq!(kit.success("ada", "A1", "p1"), ["0", "not_found"], "late money goes back");
    kit.enter("bob");
    assert_eq!(kit.lock_seat("bob", "A1"), ["1", "success"]);
}

#[test]
fn money_after_the_deadline_still_buys_what_nobody_has_taken() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.pass_session("ada");
    kit.redis(&["DEL", &lock("A1")]);
    kit.redis(&["SET", &lock("A1"), "held:bob"]);
    assert_eq!(kit.success("ada", "A1", "p1"), ["0", "seat_unavailable"]);
    kit.redis(&["DEL", &lock("A1")]);
    assert_eq!(kit.success("ada", "A1", "p1"), ["1", "completed", "A1"]);
}

#[test]
fn timeout_never_takes_a_seat_from_somebody_else() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.pass_session("ada");
    kit.redis(&["SET", &lock("A1"), "held:bob"]); // Its lock ran out first, and somebody came.
    assert_eq!(kit.timeout("ada", &[]), ["1", "timeout_processed", "A1"]);
    assert_eq!(kit.get(&["GET", &lock("A1")]), "held:bob");
}

#[test]
fn declared_lock_must_be_that_of_the_seat() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.pass_session("ada");
    let before = kit.everything();
    let wrong = kit.run("timeout", &[&state("ada"), ACTIVE, &lock("A2")], &["gala", "ada"]);
    assert_eq!(wrong, ["0", "seat_changed", "A1"]);
    let wrong = kit.run("cleanup", &[&state("ada"), ACTIVE, &lock("A2")], &["gala", "ada"]);
    assert_eq!(wrong, ["0", "seat_changed", "A1"]);
    assert_eq!(kit.everything(), before);
    let right = kit.run("timeout", &[&state("ada"), ACTIVE, &lock("A1")], &["gala", "ada"]);
    assert_eq!(right, ["1", "timeout_processed", "A1"]);
}

#[test]
fn state_without_a_number_is_over_and_breaks_nothing() {
    let Some(mut kit) = kit() else { return };
    for expire_time in ["soon", ""] {
        let state = ["HSET", "user_state:ada:gala", "state", "active", "expire_time", expire_time];
        kit.redis(&state);
        let invalid = ["0", "invalid_state"];
        assert_eq!(kit.lock_seat("ada", "A1"), invalid);
        kit.redis(&["HSET", "user_state:ada:gala", "state", "seat_selected", "seat_id", "A1"]);
        let keys = ["user_state:ada:gala", "active_users:gala"];
        assert_eq!(kit.run("initiate_payment", &keys, &["ada", "gala", "p1"]), invalid);
        let ended = kit.run("timeout", &keys, &["gala", "ada"]);
        assert_eq!(ended, ["1", "timeout_processed", "A1"]);
        assert_eq!(kit.redis(&["KEYS", "*"]), [""; 0]);
    }
}
