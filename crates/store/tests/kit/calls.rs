//! A call of every script that writes: with a key that holds something else than it should, and
//! with no other keys allowed.

use crate::files::names;
use crate::stock::{USER, ZONE};
use crate::{Kit, eval, kit};
use redis::Value;

/// A call that writes, and what makes it so.
struct Call {
    script: &'static str,
    prepare: fn(&mut Kit),
    keys: &'static [&'static str],
    args: &'static [&'static str],
}

// None is named as a script would name it by itself: the event is tagged here, and is not in the arguments.
const INDEX: &str = "expiries:{gala}";
const RESERVATION: &str = "reservation:b1";
const ENTRY: &str = r#"["reservation:b1","zone:availability:A","user:reservations:ada:gala","2"]"#;
const WAITING: &str = "waiting_list:{gala}";
const SEQUENCE: &str = "queue_sequence:{gala}";
const ACTIVE: &str = "active_users:{gala}";
const STATE: &str = "user_state:ada:{gala}";
const LOCK: &str = "lock:seat:{gala}:A1";

fn nothing(_: &mut Kit) {}

fn zone(kit: &mut Kit) {
    kit.zone(10);
}

fn held(kit: &mut Kit) {
    kit.zone(10);
    let args = ["2", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    kit.run("reserve_seats", &[ZONE, USER, RESERVATION, INDEX], &args);
}

fn overdue(kit: &mut Kit) {
    held(kit);
    kit.pass_deadline(INDEX, RESERVATION);
}

fn lapsed_place(kit: &mut Kit) {
    kit.run("join_queue", &["queue", "user", "places"], &["bob", "gala", "t", "1800", "0"]);
    kit.redis(&["ZADD", "places", "1000", "bob"]);
    kit.redis(&["DEL", "user"]);
}

fn lapsed_hold(kit: &mut Kit) {
    kit.redis(&["SET", "inventory:gala", "5"]);
    kit.redis(&["HSET", "status:gala", "A2", "HOLD:1000.5"]);
    kit.redis(&["ZADD", "holds", "1000.5", "A2"]);
}

fn held_seat(kit: &mut Kit) {
    kit.redis(&["HSET", "status:gala", "A1", "HOLD"]);
    kit.redis(&["SET", "hold:gala:A1", "ada"]);
    kit.redis(&["ZADD", "holds", "4000000000", "A1"]);
}

fn waiting(kit: &mut Kit) {
    kit.redis(&["ZADD", WAITING, "1", "ada"]);
    kit.redis(&["SET", SEQUENCE, "1"]);
    kit.redis(&["ZADD", ACTIVE, "4000000000", "bob"]);
}

fn active(kit: &mut Kit) {
    kit.redis(&["ZADD", WAITING, "1", "bob"]);
    kit.redis(&["ZADD", ACTIVE, "4000000000", "ada"]);
    kit.redis(&["HSET", STATE, "state", "active", "expire_time", "4000000000"]);
}

fn selected(kit: &mut Kit) {
    active(kit);
    kit.redis(&["HSET", STATE, "state", "seat_selected", "seat_id", "A1"]);
    kit.redis(&["SET", LOCK, "held:ada"]);
}

fn paying(kit: &mut Kit) {
    selected(kit);
    kit.redis(&["HSET", STATE, "state", "payment_pending", "payment_id", "p1"]);
}

fn over(kit: &mut Kit) {
    selected(kit);
    kit.redis(&["HSET", STATE, "expire_time", "1000"]);
}

const CALLS: &[Call] = &[
    Call {
        script: "reserve_seats",
        prepare: zone,
        keys: &[ZONE, USER, RESERVATION, INDEX],
        args: &["2", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"],
    },
    Call {
        script: "release_seats",
        prepare: held,
        keys: &[ZONE, USER, RESERVATION, INDEX],
        args: &["b1", "ada"],
    },
    Call {
        script: "confirm_booking",
        prepare: held,
        keys: &[RESERVATION, INDEX],
        args: &["b1", "ada"],
    },
    Call {
        script: "expire_reservations",
        prepare: overdue,
        keys: &[INDEX, ZONE, USER, RESERVATION],
        args: &[ENTRY],
    },
    Call {
        script: "join_queue",
        prepare: lapsed_place,
        keys: &["queue", "user", "places"],
        args: &["ada", "gala", "t", "1800", "0"],
    },
    Call { script: "lapse_places", prepare: lapsed_place, keys: &["queue", "places"], args: &[] },
    Call {
        script: "claim",
        prepare: nothing,
        keys: &["claimed", "request", "history"],
        args: &["1", "3", "60"],
    },
    Call {
        script: "enqueue",
        prepare: waiting,
        keys: &[WAITING, SEQUENCE, ACTIVE],
        args: &["gala", "kim"],
    },
    Call {
        script: "promote",
        prepare: waiting,
        keys: &[WAITING, ACTIVE, STATE],
        args: &["gala", "0", "", "", "1", "ada"],
    },
    Call {
        script: "lock_seat",
        prepare: active,
        keys: &[STATE, LOCK],
        args: &["ada", "gala", "A1"],
    },
    Call {
        script: "initiate_payment",
        prepare: selected,
        keys: &[STATE, ACTIVE, LOCK],
        args: &["ada", "gala", "p1"],
    },
    Call {
        script: "payment_success",
        prepare: paying,
        keys: &[STATE, ACTIVE, LOCK],
        args: &["gala", "ada", "A1", "p1"],
    },
    Call {
        script: "cleanup",
        prepare: paying,
        keys: &[STATE, ACTIVE, LOCK],
        args: &["gala", "ada", "p1"],
    },
    Call { script: "timeout", prepare: over, keys: &[STATE, ACTIVE, LOCK], args: &["gala", "ada"] },
    Call {
        script: "cancel",
        prepare: selected,
        keys: &[WAITING, ACTIVE, STATE, LOCK],
        args: &["gala", "ada"],
    },
    Call {
        script: "atomic_enqueue",
        prepare: nothing,
        keys: &["dedupe", "queue"],
        args: &["t1", "5"],
    },
    Call {
        script: "atomic_hold",
        prepare: lapsed_hold,
        keys: &["status:gala", "hold:gala:A1", "inventory:gala", "holds"],
        args: &["A1", "ada", "600"],
    },
    Call {
        script: "confirm_hold",
        prepare: held_seat,
        keys: &["status:gala", "hold:gala:A1", "holds"],
        args: &["A1", "ada", "p1"],
    },
];

/// Scripts that never write, except that one sets entries aside that are not its own.
const READERS: [&str; 2] = ["due_reservations", "position"];

#[test]
fn key_of_another_type_leaves_everything_as_it_is() {
    let Some(mut kit) = kit() else { return };
    for Call { script, prepare, keys, args } in CALLS {
        prepare(&mut kit);
        let before = kit.everything();
        kit.run(script, keys, args);
        assert_ne!(kit.everything(), before, "{script} writes when nothing is damaged");
        for damaged in *keys {
            kit.redis(&["FLUSHDB"]);
            prepare(&mut kit);
            kit.redis(&["DEL", damaged]);
            kit.redis(&["RPUSH", damaged, "a list"]);
            let before = kit.everything();
            let answer: Result<Value, _> = eval(script, keys, args).query(&mut kit.connection);
            if *script == "expire_reservations" && *damaged != keys[0] {
                // A hold that cannot be ended is tried again later; nothing else may change.
                let entry = kit.get(&["ZRANGE", keys[0], "0", "0"]);
                let again_at = kit.get(&["ZSCORE", keys[0], &entry]).parse::<f64>();
                assert!(again_at.is_ok_and(|at| at > 1_001.0), "{damaged}");
                kit.redis(&["ZADD", keys[0], "XX", "1000.500000", &entry]);
            }
            assert_eq!(kit.everything(), before, "{script} with a damaged {damaged}: {answer:?}");
        }
        kit.redis(&["FLUSHDB"]);
    }
}

// With all its keys given a script reaches no other: Redis's own access rules say so.
#[test]
fn keys_that_are_given_are_the_only_ones_reached() {
    let Some(mut kit) = kit() else { return };
    for Call { script, prepare, keys, args } in CALLS {
        prepare(&mut kit);
        let user = format!("{script}-{}", kit.database);
        let mut rules = vec!["ACL", "SETUSER", &user, "on", ">secret", "+@all", "resetkeys"];
        let patterns: Vec<_> = keys.iter().map(|key| format!("~{key}")).collect();
        rules.extend(patterns.iter().map(String::as_str));
        kit.redis(&rules);
        let mut limited = kit.another();
        redis::cmd("AUTH")
            .arg(&[&user, "secret"])
            .exec(&mut limited.connection)
            .expect("the user is known");
        let answer: Result<Value, _> = eval(script, keys, args).query(&mut limited.connection);
        assert!(answer.is_ok(), "{script}: {answer:?}");
        kit.redis(&["ACL", "DELUSER", &user]);
        kit.redis(&["FLUSHDB"]);
    }
}

#[test]
fn every_script_that_writes_is_tried() {
    let mut tried: Vec<_> = CALLS.iter().map(|call| call.script).chain(READERS).collect();
    tried.sort_unstable();
    assert_eq!(tried, names());
}
