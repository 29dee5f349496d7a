//! What a failover takes, and what the document says to do about it.

use crate::room::{ACTIVE, lock, state};
use crate::stock::{USER, ZONE};
use crate::{connect, eval, scripts, texts};
use onrush_testkit::{RedisOptions, RedisPair, need};
use redis::Connection;
use std::fs;

/// Calls a script; the items of its reply as text.
#[track_caller]
fn run(connection: &mut Connection, script: &str, keys: &[&str], args: &[&str]) -> Vec<String> {
    texts(&eval(script, keys, args).query(connection).expect("the script answers"))
}

/// Any command; the items of its answer as text.
#[track_caller]
fn say(connection: &mut Connection, parts: &[&str]) -> Vec<String> {
    let answer = redis::cmd(parts[0]).arg(&parts[1..]).query(connection);
    texts(&answer.expect("the command is right"))
}

/// A buyer of each kind who is about to pay.
fn hold_all(connection: &mut Connection) {
    say(connection, &["SET", ZONE, "10"]);
    let args = ["2", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    run(connection, "reserve_seats", &[ZONE, USER, "reservation:b1"], &args);
    say(connection, &["SET", "inventory:gala", "5"]);
    let keys = ["seat:status:gala", "hold:seat:gala:B1", "inventory:gala"];
    run(connection, "atomic_hold", &keys, &["B1", "ada", "600"]);
    let (state, lock) = (state("ada"), lock("A1"));
    let keys = ["waiting_list:gala", "queue_sequence:gala"];
    run(connection, "enqueue", &keys, &["gala", "ada"]);
    run(connection, "promote", &["waiting_list:gala", ACTIVE], &["gala", "0"]);
    run(connection, "lock_seat", &[&state, &lock], &["ada", "gala", "A1"]);
    run(connection, "initiate_payment", &[&state, ACTIVE, &lock], &["ada", "gala", "p2"]);
}

/// The four calls of the list of payments, in its order; the answers.
fn finish(connection: &mut Connection) -> [Vec<String>; 4] {
    let (state, lock) = (state("ada"), lock("A1"));
    let mut booking = run(connection, "confirm_booking", &["reservation:b1"], &["b1", "ada", "p0"]);
    booking.truncate(2);
    let keys = ["seat:status:gala", "hold:seat:gala:B1"];
    let seat = run(connection, "confirm_hold", &keys, &["B1", "ada", "p1"]);
    let keys = [state.as_str(), ACTIVE, &lock];
    let paid = run(connection, "payment_success", &keys, &["gala", "ada", "A1", "p2"]);
    let claimed = run(connection, "claim", &["claimed", "claim:r1", "history"], &["1", "1"]);
    [booking, seat, paid, claimed]
}

fn as_texts<const N: usize>(answers: [&[&str]; N]) -> [Vec<String>; N] {
    answers.map(|answer| answer.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn finished_sales_that_a_failover_took_are_finished_again_and_once() {
    let Some(pair) = need(RedisPair::start(&RedisOptions::default())) else { return };
    let mut primary = connect(&pair.primary, 0);
    hold_all(&mut primary);
    assert_eq!(say(&mut primary, &["WAIT", "1", "60000"]), ["1"], "its replica has the holds");
    // The replica takes over, and the primary does not know it yet: what it does now is lost.
    pair.promote().expect("the replica answers");
    let done =
        as_texts([&["1", "CONFIRMED"], &["HOLD_CONFIRMED"], &["1", "completed", "A1"], &["1"]]);
    assert_eq!(finish(&mut primary), done, "it is told as done");
    assert_eq!(say(&mut primary, &["WAIT", "1", "1"]), ["0"], "no replica has it");

    let mut replica = connect(&pair.replica, 0);
    assert_eq!(finish(&mut replica), done, "the holds are there, and nothing was sold");
    let again = finish(&mut replica);
    let stands = as_texts([
        &["0", "ALREADY_CONFIRMED"],
        &["HOLD_CONFIRMED"],
        &["0", "already_completed", "A1"],
        &["1"],
    ]);
    assert_eq!(again, stands, "what stands is told as before");
    assert_eq!(say(&mut replica, &["HGET", "reservation:b1", "payment_id"]), ["p0"]);
    assert_eq!(say(&mut replica, &["GET", "claimed"]), ["1"]);
    assert_eq!(say(&mut replica, &["XLEN", "history"]), ["1"]);
}

#[test]
fn money_for_what_others_have_after_a_failover_is_refused() {
    let Some(pair) = need(RedisPair::start(&RedisOptions::default())) else { return };
    // The holds are lost as well: the replica has nothing.
    pair.promote().expect("the replica answers");
    let mut replica = connect(&pair.replica, 0);
    say(&mut replica, &["SET", "claimed", "1"]);
    say(&mut replica, &["HSET", "seat:status:gala", "B1", "SOLD:bob:p9"]);
    let refused = as_texts([
        &["0", "RESERVATION_NOT_FOUND"],
        &["SEAT_UNAVAILABLE"],
        &["0", "not_found"],
        &["0"],
    ]);
    assert_eq!(finish(&mut replica), refused);
}

/// Why the document has it struck off the list before its money goes back.
#[test]
fn call_that_was_refused_is_done_after_a_failover_that_took_what_it_was_refused_for() {
    let Some(pair) = need(RedisPair::start(&RedisOptions::default())) else { return };
    let (mut primary, status) = (connect(&pair.primary, 0), "seat:status:gala");
    hold_all(&mut primary);
    assert_eq!(say(&mut primary, &["WAIT", "1", "60000"]), ["1"], "its replica has the holds");
    pair.promote().expect("the replica answers");
    // Somebody else has claimed the last one, and bought the seat; no replica hears of either.
    run(&mut primary, "claim", &["claimed", "claim:r9"], &["1", "1"]);
    say(&mut primary, &["HSET", status, "B1", "SOLD:bob:p9"]);
    let again = |connection: &mut Connection| {
        let seat = [status, "hold:seat:gala:B1"];
        let seat = run(connection, "confirm_hold", &seat, &["B1", "ada", "p1"]);
        [seat, run(connection, "claim", &["claimed", "claim:r1"], &["1", "1"])]
    };
    assert_eq!(again(&mut primary), as_texts([&["SEAT_UNAVAILABLE"], &["0"]]), "money goes back");
    let mut replica = connect(&pair.replica, 0);
    assert_eq!(again(&mut replica), as_texts([&["HOLD_CONFIRMED"], &["1"]]), "and it is sold");
}

#[test]
fn document_says_what_a_failover_takes() {
    let path = scripts().join("../../../../docs/script-kit.md");
    let document = fs::read_to_string(path).expect("the kit has its document");
    let section = document
        .split("\n## ")
        .find(|section| section.starts_with("What a failover takes"))
        .expect("a section about it");
    for told in [
        "`confirm_booking`",
        "`confirm_hold`",
        "`payment_success`",
        "`claim`",
        "`WAIT 1 <ms>`",
        "appendfsync always",
        "min-replicas-to-write 1",
        "master_replid",
        "struck off the list before its money goes back",
        "still on the list",
    ] {
        assert!(section.contains(told), "{told}");
    }
}
