//! Whatever is called in whatever order: stock is conserved, and a seat has one owner.

use crate::{Kit, kit};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

const CAPACITY: i64 = 12;
const INDEX: &str = "onrush:kit:expiries";
const LIMIT: usize = 3;

/// Bookings belong to users: `b0`, `b2`, … to `u0`, the others to `u1`.
#[derive(Clone, Debug)]
enum OfStock {
    Reserve {
        booking: usize,
        quantity: u32,
        zone: usize,
    },
    Release {
        booking: usize,
        zone: usize,
    },
    Confirm {
        booking: usize,
    },
    /// The deadline passes, and the worker comes or is late.
    Overdue {
        booking: usize,
        worker_comes: bool,
    },
    /// A hash that died by its TTL, or was deleted by somebody.
    LoseHash {
        booking: usize,
    },
}

fn of_stock() -> impl Strategy<Value = OfStock> {
    let (booking, zone) = (0..6_usize, 0..2_usize);
    prop_oneof![
        4 => (booking.clone(), 0..4_u32, zone.clone())
            .prop_map(|(booking, quantity, zone)| OfStock::Reserve { booking, quantity, zone }),
        2 => (booking.clone(), zone).prop_map(|(booking, zone)| OfStock::Release { booking, zone }),
        2 => booking.clone().prop_map(|booking| OfStock::Confirm { booking }),
        2 => (booking.clone(), any::<bool>())
            .prop_map(|(booking, worker_comes)| OfStock::Overdue { booking, worker_comes }),
        1 => booking.prop_map(|booking| OfStock::LoseHash { booking }),
    ]
}

fn zone_key(zone: usize) -> String {
    format!("zone:availability:{zone}")
}

fn user_key(booking: usize) -> String {
    format!("user:reservations:u{}:gala", booking % 2)
}

fn act_on_stock(kit: &mut Kit, act: &OfStock) {
    let reservation = |booking: usize| format!("reservation:b{booking}");
    let id = |booking: usize| format!("b{booking}");
    let user = |booking: usize| format!("u{}", booking % 2);
    match *act {
        OfStock::Reserve { booking, quantity, zone } => {
            let (quantity, zone_id) = (quantity.to_string(), zone.to_string());
            let args = [
                &quantity,
                "8",
                &user(booking),
                &id(booking),
                &zone_id,
                "gala",
                "evening",
                "100",
                "600",
            ];
            kit.run(
                "reserve_seats",
                &[&zone_key(zone), &user_key(booking), &reservation(booking)],
                &args,
            );
        }
        OfStock::Release { booking, zone } => {
            let keys = [&*zone_key(zone), &user_key(booking), &reservation(booking)];
            kit.run("release_seats", &keys, &[&id(booking), &user(booking)]);
        }
        OfStock::Confirm { booking } => {
            kit.run("confirm_booking", &[&reservation(booking)], &[&id(booking), &user(booking)]);
        }
        OfStock::Overdue { booking, worker_comes } => {
            let entries = kit.redis(&["ZRANGE", INDEX, "0", "-1"]);
            if entries
                .iter()
                .any(|entry| entry.starts_with(&format!("[\"{}\"", reservation(booking))))
            {
                kit.pass_deadline(INDEX, &reservation(booking));
            }
            if worker_comes {
                let due = kit.value("due_reservations", &[INDEX], &[]);
                let rows: Vec<redis::Value> = redis::from_redis_value(due).expect("an array");
                for row in rows.into_iter().skip(2) {
                    let [entry, zone, user, reservation]: [String; 4] =
                        redis::from_redis_value(row).expect("a row");
                    kit.run("expire_reservations", &[INDEX, &zone, &user, &reservation], &[&entry]);
                }
            }
        }
        OfStock::LoseHash { booking } => {
            // Not of a sold one: nothing but the hash knows of it, so nobody may delete it.
            if kit.get(&["HGET", &reservation(booking), "status"]) == "reserved" {
                kit.redis(&["DEL", &reservation(booking)]);
            }
        }
    }
}

/// Adds up holds and sales, and compares with the counts.
fn check_stock(kit: &mut Kit) {
    let mut taken = BTreeMap::<String, i64>::new();
    for entry in kit.redis(&["ZRANGE", INDEX, "0", "-1"]) {
        let [_, zone, user, quantity]: [String; 4] =
            serde_json::from_str(&entry).expect("an entry");
        let quantity: i64 = quantity.parse().expect("a quantity");
        *taken.entry(zone).or_default() += quantity;
        *taken.entry(user).or_default() += quantity;
    }
    for booking in 0..6 {
        let fields = kit.redis(&[
            "HMGET",
            &format!("reservation:b{booking}"),
            "status",
            "zone_id",
            "quantity",
        ]);
        if fields[0] == "confirmed" {
            let quantity: i64 = fields[2].parse().expect("a quantity");
            *taken.entry(format!("zone:availability:{}", fields[1])).or_default() += quantity;
            *taken.entry(user_key(booking)).or_default() += quantity;
        }
    }
    for zone in 0..2 {
        let free: i64 = kit.get(&["GET", &zone_key(zone)]).parse().expect("a count");
        assert!(free >= 0);
        assert_eq!(
            free + taken.get(&zone_key(zone)).copied().unwrap_or(0),
            CAPACITY,
            "stock of zone {zone}"
        );
    }
    for user in 0..2 {
        let counted: i64 = kit.get(&["GET", &user_key(user)]).parse().unwrap_or(0);
        assert_eq!(
            counted,
            taken.get(&user_key(user)).copied().unwrap_or(0),
            "count of user {user}"
        );
        assert!(counted <= 8);
    }
}

#[derive(Clone, Debug)]
enum OfRoom {
    Enqueue(usize),
    Promote(usize),
    Lock(usize, usize),
    Initiate(usize, usize),
    Success(usize, usize, usize),
    Fail(usize, usize),
    /// A message comes, in time or late.
    Timeout(usize, bool),
    Cancel(usize),
}

fn of_room() -> impl Strategy<Value = OfRoom> {
    let (user, seat, payment) = (0..5_usize, 0..3_usize, 0..3_usize);
    prop_oneof![
        3 => user.clone().prop_map(OfRoom::Enqueue),
        3 => (1..4_usize).prop_map(OfRoom::Promote),
        4 => (user.clone(), seat.clone()).prop_map(|(user, seat)| OfRoom::Lock(user, seat)),
        3 => (user.clone(), payment.clone()).prop_map(|(user, payment)| OfRoom::Initiate(user, payment)),
        3 => (user.clone(), seat, payment.clone())
            .prop_map(|(user, seat, payment)| OfRoom::Success(user, seat, payment)),
        1 => (user.clone(), payment).prop_map(|(user, payment)| OfRoom::Fail(user, payment)),
        2 => (user.clone(), any::<bool>()).prop_map(|(user, due)| OfRoom::Timeout(user, due)),
        1 => user.prop_map(OfRoom::Cancel),
    ]
}

const WAITING: &str = "waiting_list:gala";
const ACTIVE: &str = "active_users:gala";

fn state(user: &str) -> String {
    format!("user_state:{user}:gala")
}

/// `sold` is who has bought what so far.
fn act_in_room(kit: &mut Kit, act: &OfRoom, sold: &mut BTreeMap<String, String>) {
    let name = |user: usize| format!("u{user}");
    let lock = |seat: usize| format!("lock:seat:gala:s{seat}");
    match *act {
        OfRoom::Enqueue(user) => {
            kit.run("enqueue", &[WAITING, "queue_sequence:gala", ACTIVE], &["gala", &name(user)]);
        }
        OfRoom::Promote(count) => {
            kit.run(
                "promote",
                &[WAITING, ACTIVE],
                &["gala", "0", &LIMIT.to_string(), "600", &count.to_string()],
            );
        }
        OfRoom::Lock(user, seat) => {
            let args = [&*name(user), "gala", &format!("s{seat}")];
            kit.run("lock_seat", &[&state(&name(user)), &lock(seat)], &args);
        }
        OfRoom::Initiate(user, payment) => {
            let args = [&*name(user), "gala", &format!("p{payment}")];
            kit.run("initiate_payment", &[&state(&name(user)), ACTIVE], &args);
        }
        OfRoom::Success(user, seat, payment) => {
            let (user, seat, payment) = (name(user), format!("s{seat}"), format!("p{payment}"));
            let keys = [&*state(&user), ACTIVE, &format!("lock:seat:gala:{seat}")];
            if kit.run("payment_success", &keys, &["gala", &user, &seat, &payment])[0] == "1" {
                let before = sold.insert(seat, format!("sold:{user}:{payment}"));
                assert_eq!(before, None, "sold once");
            }
        }
        OfRoom::Fail(user, payment) => {
            let args = ["gala", &name(user), &format!("p{payment}")];
            kit.run("cleanup", &[&state(&name(user)), ACTIVE], &args);
        }
        OfRoom::Timeout(user, due) => {
            let here = !kit.get(&["ZSCORE", ACTIVE, &name(user)]).is_empty();
            if due && here {
                kit.redis(&["HSET", &state(&name(user)), "expire_time", "1000"]);
                kit.redis(&["ZADD", ACTIVE, "XX", "1000", &name(user)]);
            }
            kit.run("timeout", &[&state(&name(user)), ACTIVE], &["gala", &name(user)]);
        }
        OfRoom::Cancel(user) => {
            kit.run("cancel", &[WAITING, ACTIVE, &state(&name(user))], &["gala", &name(user)]);
        }
    }
}

/// Compares line, room, states and locks.
fn check_room(kit: &mut Kit, sold: &BTreeMap<String, String>) {
    let waiting = kit.redis(&["ZRANGE", WAITING, "0", "-1"]);
    let active = kit.redis(&["ZRANGE", ACTIVE, "0", "-1"]);
    assert!(active.len() <= LIMIT);
    let mut owners = BTreeMap::new();
    for user in (0..5).map(|user| format!("u{user}")) {
        assert!(!(waiting.contains(&user) && active.contains(&user)), "{user} waits and is in");
        let fields = kit.redis(&["HMGET", &state(&user), "state", "seat_id"]);
        let in_session =
            matches!(fields[0].as_str(), "active" | "seat_selected" | "payment_pending");
        assert_eq!(in_session, active.contains(&user), "{user} is {}", fields[0]);
        if matches!(fields[0].as_str(), "seat_selected" | "payment_pending") {
            let before = owners.insert(fields[1].clone(), user.clone());
            assert_eq!(before, None, "one owner a seat");
        }
    }
    for seat in (0..3).map(|seat| format!("s{seat}")) {
        let lock = kit.get(&["GET", &format!("lock:seat:gala:{seat}")]);
        if let Some(who) = sold.get(&seat) {
            assert_eq!(&lock, who, "{seat} is sold for good");
            assert!(!owners.contains_key(&seat));
        } else {
            let held_by = owners.get(&seat).map(|user| format!("held:{user}")).unwrap_or_default();
            assert_eq!(lock, held_by, "lock of {seat}");
        }
    }
}

/// Runs so many cases on one database; what fails is shrunk before it is told.
fn check<A: std::fmt::Debug>(kit: Kit, acts: impl Strategy<Value = A>, case: impl Fn(&mut Kit, A)) {
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let kit = RefCell::new(kit);
    let done = TestRunner::new(config).run(&acts, |acts| {
        let mut kit = kit.borrow_mut();
        kit.redis(&["FLUSHDB"]);
        case(&mut kit, acts);
        Ok(())
    });
    if let Err(error) = done {
        panic!("{error}");
    }
}

#[test]
fn stock_is_conserved_in_whatever_order_scripts_are_called() {
    let Some(kit) = kit() else { return };
    check(kit, vec(of_stock(), 1..60), |kit, acts| {
        for zone in 0..2 {
            kit.redis(&["SET", &zone_key(zone), &CAPACITY.to_string()]);
        }
        for act in &acts {
            act_on_stock(kit, act);
            check_stock(kit);
        }
    });
}

#[test]
fn seat_has_one_owner_in_whatever_order_scripts_are_called() {
    let Some(kit) = kit() else { return };
    check(kit, vec(of_room(), 1..80), |kit, acts| {
        let mut sold = BTreeMap::new();
        for act in &acts {
            act_in_room(kit, act, &mut sold);
            check_room(kit, &sold);
        }
    });
}
