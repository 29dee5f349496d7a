//! A Redis whose memory is full: what begins something is refused, what ends something is done.

use crate::room::{ACTIVE, lock, state};
use crate::stock::{INDEX, USER, ZONE, reservation};
use crate::{Kit, connect};
use onrush_store::redis::kit::{EXPIRY_INDEX, ExpiryWorker};
use onrush_testkit::{Redis, need};
use std::sync::Arc;

const STATUS: &str = "seat:status:gala";
const DEADLINES: &str = "onrush:kit:holds:seat:status:gala";

/// A server of its own: the limit is all databases'.
fn kit() -> Option<Kit> {
    let server = Arc::new(need(Redis::start())?);
    Some(Kit { connection: connect(&server, 0), server, database: 0 })
}

fn fill(kit: &mut Kit) {
    kit.redis(&["CONFIG", "SET", "maxmemory", "1"]);
}

fn reserve(kit: &mut Kit, booking: &str) {
    let args = ["2", "9", "ada", booking, "A", "gala", "evening", "15000", "600"];
    assert_eq!(kit.run("reserve_seats", &[ZONE, USER, &reservation(booking)], &args)[0], "1");
}

#[test]
fn full_redis_refuses_what_begins_something_and_changes_nothing() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.enter("ada");
    kit.redis(&["SET", "inventory:gala", "5"]);
    fill(&mut kit);
    let before = kit.everything();
    let (state, lock) = (state("ada"), lock("A1"));
    let seats = ["1", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    for (script, keys, args) in [
        ("reserve_seats", &[ZONE, USER, "reservation:b1"] as &[&str], &seats as &[&str]),
        ("lock_seat", &[state.as_str(), lock.as_str()], &["ada", "gala", "A1"]),
        ("atomic_hold", &[STATUS, "hold:seat:gala:A1", "inventory:gala"], &["A1", "ada", "600"]),
        ("claim", &["claimed", "r1"], &["1", "3"]),
    ] {
        let error = kit.error(script, keys, args);
        assert!(error.contains("OOM"), "{script}: {error}");
    }
    assert_eq!(kit.everything(), before);
}

// A trap: the sale is refused and its timeout is not, so that the seat that was paid for is free.
#[test]
fn full_redis_sells_what_was_paid_for() {
    let Some(mut kit) = kit() else { return };
    kit.enter("ada");
    kit.lock_seat("ada", "A1");
    kit.initiate("ada", "p1");
    kit.redis(&["SET", "inventory:gala", "5"]);
    let hold = "hold:seat:gala:B1";
    kit.run("atomic_hold", &[STATUS, hold, "inventory:gala"], &["B1", "bob", "600"]);
    kit.zone(10);
    reserve(&mut kit, "b1");
    fill(&mut kit);

    assert_eq!(kit.success("ada", "A1", "p1"), ["1", "completed", "A1"]);
    assert_eq!(kit.get(&["GET", &lock("A1")]), "sold:ada:p1");
    assert_eq!(kit.get(&["HGET", &state("ada"), "state"]), "completed");
    assert_eq!(kit.get(&["EXISTS", ACTIVE]), "0");

    assert_eq!(kit.run("confirm_hold", &[STATUS, hold], &["B1", "bob", "p2"]), ["HOLD_CONFIRMED"]);
    assert_eq!(kit.get(&["HGET", STATUS, "B1"]), "SOLD:bob:p2");
    assert_eq!(kit.redis(&["EXISTS", hold, DEADLINES]), ["0"]);

    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[1], "CONFIRMED");
    assert_eq!(kit.get(&["HGET", "reservation:b1", "status"]), "confirmed");
}

#[test]
fn full_redis_takes_back_units_that_were_claimed() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.run("claim", &["claimed"], &["3", "9"]), ["1"]);
    assert_eq!(kit.run("claim", &["for a while"], &["3", "9", "100"]), ["1"]);
    fill(&mut kit);
    for (request, left) in [("r1", "2"), ("r1", "2"), ("r2", "1")] {
        let keys = ["claimed", request, "history"];
        assert_eq!(kit.run("claim", &keys, &["-1", "9"]), ["1"]);
        assert_eq!(kit.get(&["GET", "claimed"]), left);
    }
    assert_eq!(kit.get(&["XLEN", "history"]), "2");
    assert_eq!(kit.ttl("claimed"), -1);
    assert_eq!(kit.run("claim", &["for a while"], &["-3", "9"]), ["1"]);
    assert_eq!(kit.get(&["GET", "for a while"]), "0");
    assert!((90..=100).contains(&kit.ttl("for a while")), "it ends when it would have");
    assert_eq!(kit.run("claim", &["for a while"], &["-1", "9"]), ["-1"]);
}

/// What is first in line is what cannot be ended, and is to be written elsewhere.
#[tokio::test]
async fn full_redis_gets_stock_back_behind_entries_that_are_broken_or_foreign() {
    for is_foreign in [false, true] {
        let Some(mut kit) = kit() else { return };
        kit.zone(10);
        if is_foreign {
            kit.redis(&["ZADD", INDEX, "1", "not one of ours"]);
        } else {
            let keys = ["zone:B", "user:bob", "reservation:b2"];
            kit.redis(&["SET", keys[0], "10"]);
            let args = ["1", "4", "bob", "b2", "B", "gala", "evening", "15000", "600"];
            assert_eq!(kit.run("reserve_seats", &keys, &args)[0], "1");
            kit.pass_deadline(INDEX, keys[2]);
            kit.redis(&["SET", keys[0], "nine"]);
        }
        fill(&mut kit);
        let client = redis::Client::open(kit.url()).expect("the URL is one");
        let connection = client.get_multiplexed_async_connection().await.expect("Redis runs");
        let mut worker = ExpiryWorker::new(connection, EXPIRY_INDEX);
        // Nothing but them is due in this round, so that nothing else is written before.
        let done = worker.run_once().await.expect("nothing is refused");
        assert_eq!((done.broken, done.foreign), if is_foreign { (0, 1) } else { (1, 0) });
        kit.redis(&["CONFIG", "SET", "maxmemory", "0"]);
        reserve(&mut kit, "b1");
        kit.pass_deadline(INDEX, "reservation:b1");
        fill(&mut kit);
        let done = worker.run_once().await.expect("nothing is refused");
        assert_eq!((done.reservations, done.seats), (1, 2));
        assert_eq!(kit.get(&["GET", ZONE]), "10");
    }
}
