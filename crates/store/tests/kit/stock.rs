//! Seats of a zone.

use crate::{Kit, kit, race};
use redis::Value;

pub(crate) const ZONE: &str = "zone:availability:A";
pub(crate) const USER: &str = "user:reservations:ada:gala";
pub(crate) const INDEX: &str = "onrush:kit:expiries";

pub(crate) fn reservation(booking: &str) -> String {
    format!("reservation:{booking}")
}

impl Kit {
    pub(crate) fn zone(&mut self, free: u32) {
        self.redis(&["SET", ZONE, &free.to_string()]);
    }

    fn reserve(&mut self, booking: &str, quantity: &str) -> Vec<String> {
        let args = [quantity, "4", "ada", booking, "A", "gala", "evening", "15000", "600"];
        self.run("reserve_seats", &[ZONE, USER, &reservation(booking)], &args)
    }

    fn reserve_refused(&mut self, booking: &str, quantity: &str) -> String {
        let args = [quantity, "4", "ada", booking, "A", "gala", "evening", "15000", "600"];
        self.refused("reserve_seats", &[ZONE, USER, &reservation(booking)], &args)
    }

    fn release_refused(&mut self, booking: &str, args: &[&str]) -> String {
        self.refused("release_seats", &[ZONE, USER, &reservation(booking)], args)
    }

    /// Moves the deadline of a hold into the past: in the index, and in the hash if that is this hold's.
    pub(crate) fn pass_deadline(&mut self, index: &str, booking_key: &str) {
        let entry = self
            .redis(&["ZRANGE", index, "0", "-1"])
            .into_iter()
            .find(|entry| entry.starts_with(&format!("[\"{booking_key}\"")))
            .expect("the hold has an entry");
        let deadline = self.get(&["ZSCORE", index, &entry]).parse::<f64>();
        let of_hash = self.get(&["HGET", booking_key, "expires_at"]).parse::<f64>();
        self.redis(&["ZADD", index, "XX", "1000.500000", &entry]);
        if deadline == of_hash {
            self.redis(&["HSET", booking_key, "expires_at", "1000.500000"]);
        }
    }
}

#[test]
fn reserve_takes_seats_counts_them_and_writes_the_reservation() {
    let Some(mut kit) = kit() else { return };
    kit.zone(100);
    assert_eq!(kit.reserve("b1", "3"), ["1", "97", "3"]);
    assert_eq!(kit.reserve("b2", "1"), ["1", "96", "4"]);
    assert_eq!(kit.get(&["GET", ZONE]), "96");
    assert_eq!(kit.get(&["GET", USER]), "4");

    let mut fields = kit.redis(&["HKEYS", "reservation:b1"]);
    fields.sort();
    let s0_5 = [
        "booking_id",
        "created_at",
        "event_id",
        "expires_at",
        "quantity",
        "show_id",
        "status",
        "unit_price",
        "user_id",
        "zone_id",
    ];
    assert_eq!(fields, s0_5);
    let told = [
        "booking_id",
        "user_id",
        "zone_id",
        "event_id",
        "show_id",
        "quantity",
        "unit_price",
        "status",
    ];
    let values = kit.redis(&[&["HMGET", "reservation:b1"], &told[..]].concat());
    assert_eq!(values, ["b1", "ada", "A", "gala", "evening", "3", "15000", "reserved"]);
    let times: Vec<f64> = kit
        .redis(&["HMGET", "reservation:b1", "created_at", "expires_at"])
        .iter()
        .map(|time| time.parse().expect("seconds"))
        .collect();
    assert!((times[1] - times[0] - 600.0).abs() < 0.001);
}

#[test]
fn reserve_refuses_with_the_codes_of_s0() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.reserve_refused("b1", "1"), "ZONE_NOT_FOUND");
    kit.zone(5);
    for quantity in ["0", "-1", "1.5", "many", "", "9999999999999999"] {
        assert_eq!(kit.reserve_refused("b1", quantity), "INVALID_QUANTITY", "{quantity}");
    }
    assert_eq!(kit.reserve_refused("b1", "5"), "USER_LIMIT_EXCEEDED");
    assert_eq!(
        kit.reserve_refused("b1", "6"),
        "INSUFFICIENT_STOCK",
        "stock is looked at before the limit"
    );
    assert_eq!(kit.reserve("b1", "4"), ["1", "1", "4"]);
    assert_eq!(kit.reserve_refused("b2", "1"), "USER_LIMIT_EXCEEDED");
}

#[test]
fn refused_reserve_writes_nothing() {
    let Some(mut kit) = kit() else { return };
    kit.zone(1);
    let before = kit.everything();
    assert_eq!(kit.reserve_refused("b1", "2"), "INSUFFICIENT_STOCK");
    assert_eq!(kit.reserve_refused("b1", "0"), "INVALID_QUANTITY");
    assert_eq!(kit.everything(), before);
}

#[test]
fn refused_reserve_cannot_be_released_into_more_stock() {
    let Some(mut kit) = kit() else { return };
    kit.zone(1);
    assert_eq!(kit.reserve_refused("b1", "2"), "INSUFFICIENT_STOCK");
    assert_eq!(kit.release_refused("b1", &["b1", "ada"]), "RESERVATION_NOT_FOUND");
    assert_eq!(kit.get(&["GET", ZONE]), "1");
}

#[test]
fn nonsense_is_an_error_and_writes_nothing() {
    let Some(mut kit) = kit() else { return };
    kit.zone(5);
    kit.redis(&["SET", "reservation:text", "not a hash"]);
    kit.redis(&["SET", "user:many", "many"]);
    let before = kit.everything();
    let good = ["1", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    for (n, wrong) in
        [(1, "few"), (7, "12.50"), (7, "-1"), (8, "0"), (8, "forever"), (8, "99999999999")]
    {
        let mut args = good;
        args[n] = wrong;
        let error = kit.error("reserve_seats", &[ZONE, USER, "reservation:b1"], &args);
        assert!(error.contains("must be"), "{error}");
    }
    let error = kit.error("reserve_seats", &[ZONE, USER, "reservation:text"], &good);
    assert!(error.contains("WRONGTYPE"), "{error}");
    let many = [ZONE, "user:many", "reservation:b1"];
    assert_eq!(kit.refused("reserve_seats", &many, &good), "COUNT_BROKEN");
    let error = kit.error("reserve_seats", &[ZONE, USER], &good);
    assert!(error.contains("takes 3 or 4 keys"), "{error}");
    assert_eq!(kit.everything(), before);
}

#[test]
fn reserve_that_is_sent_again_holds_nothing_twice() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    assert_eq!(kit.reserve("b1", "2"), ["1", "8", "2"]);
    assert_eq!(kit.reserve("b1", "2"), ["1", "8", "2"]);
    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[0], "1");
    assert_eq!(kit.reserve("b1", "2"), ["1", "8", "2"], "also after it was confirmed");
    assert_eq!(kit.get(&["GET", ZONE]), "8");
}

#[test]
fn booking_id_means_one_thing_only() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    let before = kit.everything();
    assert_eq!(kit.reserve_refused("b1", "1"), "BOOKING_MISMATCH");
    let cheaper = ["2", "4", "ada", "b1", "A", "gala", "evening", "1", "600"];
    assert_eq!(
        kit.refused("reserve_seats", &[ZONE, USER, "reservation:b1"], &cheaper),
        "BOOKING_MISMATCH"
    );
    assert_eq!(kit.everything(), before);
    kit.pass_deadline(INDEX, "reservation:b1");
    assert_eq!(kit.reserve_refused("b1", "2"), "BOOKING_MISMATCH", "its hold has run out");
}

#[test]
fn booking_whose_hash_is_gone_but_whose_stock_is_not_back_is_not_held_again() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    kit.redis(&["DEL", "reservation:b1"]);
    let before = kit.everything();
    assert_eq!(kit.reserve_refused("b1", "2"), "BOOKING_MISMATCH");
    assert_eq!(kit.everything(), before);
}

#[test]
fn two_connections_never_both_get_the_last_seat() {
    let Some(mut kit) = kit() else { return };
    for round in 0..50 {
        kit.zone(1);
        let won: usize = race(&kit, 2, |n, own| {
            let (user, booking) = (format!("user:reservations:u{n}:gala"), format!("r{round}n{n}"));
            let args = ["1", "4", &user, &booking, "A", "gala", "evening", "15000", "600"];
            let reply = own.run("reserve_seats", &[ZONE, &user, &reservation(&booking)], &args);
            assert!(reply[0] == "1" || reply[1] == "INSUFFICIENT_STOCK", "{reply:?}");
            usize::from(reply[0] == "1")
        })
        .into_iter()
        .sum();
        assert_eq!((won, kit.get(&["GET", ZONE]).as_str()), (1, "0"));
        kit.redis(&["FLUSHDB"]);
    }
}

#[test]
fn release_gives_back_and_forgets() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "1");
    kit.reserve("b2", "2");
    assert_eq!(
        kit.run("release_seats", &[ZONE, USER, "reservation:b2"], &["b2", "ada"]),
        ["1", "9", "1"]
    );
    assert_eq!(
        kit.run("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"]),
        ["1", "10", "0"]
    );
    assert_eq!(
        kit.redis(&["KEYS", "*"]),
        [ZONE],
        "the count is deleted at 0, and nothing else stays"
    );
}

#[test]
fn release_refuses_with_the_codes_of_s0() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    assert_eq!(kit.release_refused("b2", &["b2", "ada"]), "RESERVATION_NOT_FOUND");
    assert_eq!(kit.release_refused("b1", &["b2", "ada"]), "INVALID_BOOKING_ID");
    assert_eq!(kit.release_refused("b1", &["b1", "bob"]), "INVALID_USER_ID");
    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[0], "1");
    assert_eq!(kit.release_refused("b1", &["b1", "ada"]), "ALREADY_RELEASED");
    assert_eq!(kit.get(&["GET", ZONE]), "8");
}

#[test]
fn release_with_keys_of_another_zone_moves_no_stock() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.redis(&["SET", "zone:availability:B", "0"]);
    kit.reserve("b1", "2");
    let before = kit.everything();
    let code = kit.refused(
        "release_seats",
        &["zone:availability:B", USER, "reservation:b1"],
        &["b1", "ada"],
    );
    assert_eq!(code, "RESERVATION_NOT_FOUND");
    let code = kit.refused(
        "release_seats",
        &[ZONE, USER, "reservation:b1", "another:index"],
        &["b1", "ada"],
    );
    assert_eq!(code, "RESERVATION_NOT_FOUND");
    assert_eq!(kit.everything(), before);
}

#[test]
fn release_of_a_zone_that_is_gone_does_not_make_it_anew() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    kit.redis(&["DEL", ZONE]);
    assert_eq!(
        kit.run("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"]),
        ["1", "0", "0"]
    );
    assert_eq!(kit.redis(&["KEYS", "*"]), [""; 0]);
}

#[test]
fn confirm_makes_a_hold_final() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    let reply = kit.value("confirm_booking", &["reservation:b1"], &["b1", "ada", "p1"]);
    let Value::Array(items) = &reply else { panic!("an array: {reply:?}") };
    assert!(matches!(items[0], Value::Int(1)), "{reply:?}");
    let [_, Value::BulkString(word), Value::BulkString(at)] = &items[..] else {
        panic!("texts: {reply:?}")
    };
    assert_eq!(word, b"CONFIRMED");
    let at = String::from_utf8(at.clone()).expect("a number");
    assert_eq!(at.split('.').nth(1).map(str::len), Some(6), "a time keeps its fraction: {at}");
    let values = kit.redis(&["HMGET", "reservation:b1", "status", "confirmed_at", "payment_id"]);
    assert_eq!(values, ["confirmed", &at, "p1"]);
    assert_eq!(kit.ttl("reservation:b1"), -1);
    assert_eq!(kit.get(&["ZCARD", INDEX]), "0");
}

#[test]
fn confirm_refuses_with_the_codes_of_s0() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.reserve("b1", "2");
    let mut refused = |booking: &str, args: &[&str]| {
        kit.refused("confirm_booking", &[&reservation(booking)], args)
    };
    assert_eq!(refused("b2", &["b2", "ada"]), "RESERVATION_NOT_FOUND");
    assert_eq!(refused("b1", &["b2", "ada"]), "INVALID_BOOKING_ID");
    assert_eq!(refused("b1", &["b1", "bob"]), "INVALID_USER_ID");
    kit.redis(&["HSET", "reservation:b1", "status", "lost"]);
    assert_eq!(
        kit.refused("confirm_booking", &["reservation:b1"], &["b1", "ada"]),
        "INVALID_STATUS"
    );
    kit.redis(&["HSET", "reservation:b1", "status", "reserved"]);
    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada", "p1"])[0], "1");
    let before = kit.everything();
    assert_eq!(
        kit.refused("confirm_booking", &["reservation:b1"], &["b1", "ada", "p2"]),
        "ALREADY_CONFIRMED"
    );
    assert_eq!(kit.everything(), before);
}

#[test]
fn four_keys_keep_the_index_where_they_say() {
    let Some(mut kit) = kit() else { return };
    let keys = ["zone:{gala}:A", "user:{gala}:ada", "reservation:{gala}:b1", "expiries:{gala}"];
    let args = ["2", "4", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    kit.redis(&["SET", keys[0], "10"]);
    assert_eq!(kit.run("reserve_seats", &keys, &args), ["1", "8", "2"]);
    assert_eq!(kit.get(&["ZCARD", keys[3]]), "1");
    assert_eq!(kit.get(&["EXISTS", INDEX]), "0");
    assert_eq!(kit.refused("confirm_booking", &[keys[2]], &["b1", "ada"]), "RESERVATION_NOT_FOUND");
    assert_eq!(kit.run("confirm_booking", &keys[2..], &["b1", "ada"])[..2], ["1", "CONFIRMED"]);
    assert_eq!(kit.get(&["ZCARD", keys[3]]), "0");
}
