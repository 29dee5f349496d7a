//! Holds that run out, and the worker that returns their stock.

use crate::stock::{INDEX, USER, ZONE, reservation};
use crate::{Kit, eval, kit, race, texts};
use onrush_store::redis::kit::{EXPIRY_INDEX, Expired, ExpiryWorker, Script, load};
use onrush_testkit::{Redis, need};
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};

fn hold(kit: &mut Kit, booking: &str, quantity: &str) {
    let args = [quantity, "1000", "ada", booking, "A", "gala", "evening", "15000", "600"];
    assert_eq!(kit.run("reserve_seats", &[ZONE, USER, &reservation(booking)], &args)[0], "1");
}

async fn connection(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).expect("the URL is one");
    client.get_multiplexed_async_connection().await.expect("Redis runs")
}

async fn worker(kit: &Kit) -> ExpiryWorker<MultiplexedConnection> {
    ExpiryWorker::new(connection(&kit.url()).await, EXPIRY_INDEX)
}

#[tokio::test]
async fn expiry_worker_returns_the_stock_of_holds_that_have_run_out() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    hold(&mut kit, "b2", "2");
    let mut worker = worker(&kit).await;
    let early = worker.run_once().await.expect("Redis runs");
    assert_eq!((early.reservations, early.seats), (0, 0));
    assert!(early.next_ms.is_some_and(|ms| ms > 500_000 && ms <= 600_000), "{early:?}");

    kit.pass_deadline(INDEX, "reservation:b1");
    let done = worker.run_once().await.expect("Redis runs");
    assert_eq!((done.reservations, done.seats), (1, 3));
    assert_eq!(kit.redis(&["MGET", ZONE, USER]), ["8", "2"]);
    assert_eq!(kit.get(&["HGET", "reservation:b1", "status"]), "expired");
    assert!((86_000..=86_400).contains(&kit.ttl("reservation:b1")), "known for a day");

    kit.pass_deadline(INDEX, "reservation:b2");
    let done = worker.run_once().await.expect("Redis runs");
    assert_eq!(done, Expired { reservations: 1, seats: 2, ..Expired::default() });
    kit.redis(&["DEL", "reservation:b1", "reservation:b2"]);
    assert_eq!(kit.redis(&["KEYS", "*"]), [ZONE]);
    assert_eq!(kit.get(&["GET", ZONE]), "10");
}

#[tokio::test]
async fn running_worker_returns_stock_at_the_deadline_by_itself() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(worker(&kit).await.run(async {
        let _ = stopped.await;
    }));
    let args = ["4", "4", "ada", "b1", "A", "gala", "evening", "15000", "1"];
    assert_eq!(kit.run("reserve_seats", &[ZONE, USER, "reservation:b1"], &args), ["1", "6", "4"]);
    let began = Instant::now();
    while kit.get(&["GET", ZONE]) != "10" {
        assert!(began.elapsed() < Duration::from_secs(30), "the worker comes");
        tokio::task::yield_now().await;
    }
    stop.send(()).expect("the worker runs");
    running.await.expect("the worker ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_racing_workers_return_stock_exactly_once() {
    let Some(mut kit) = kit() else { return };
    kit.zone(1_000);
    for n in 0..250 {
        hold(&mut kit, &format!("b{n}"), "1");
    }
    for entry in kit.redis(&["ZRANGE", INDEX, "0", "-1"]) {
        kit.redis(&["ZADD", INDEX, "1000.500000", &entry]);
    }
    let tasks: Vec<_> = [worker(&kit).await, worker(&kit).await]
        .into_iter()
        .map(|mut worker| tokio::spawn(async move { worker.run_once().await.expect("Redis runs") }))
        .collect();
    let mut seats = 0;
    for task in tasks {
        seats += task.await.expect("no worker panics").seats;
    }
    assert_eq!(seats, 250);
    assert_eq!(kit.get(&["GET", ZONE]), "1000");
    assert_eq!(kit.get(&["EXISTS", USER]), "0");
    assert_eq!(kit.get(&["ZCARD", INDEX]), "0");
}

#[test]
fn release_and_confirm_race_and_one_wins() {
    let Some(mut kit) = kit() else { return };
    for _ in 0..50 {
        kit.zone(10);
        hold(&mut kit, "b1", "2");
        let entry = kit.get(&["ZRANGE", INDEX, "0", "0"]);
        let won = race(&kit, 2, |n, own| match n {
            0 => {
                own.run("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"])[0] == "1"
            }
            _ => own.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[0] == "1",
        });
        assert!(won[0] != won[1], "{won:?}");
        assert_eq!(kit.get(&["GET", ZONE]), if won[1] { "8" } else { "10" });
        // Whoever won, nothing is left to be returned at the deadline.
        kit.redis(&["ZADD", INDEX, "XX", "1000.500000", &entry]);
        let keys = [INDEX, ZONE, USER, "reservation:b1"];
        assert_eq!(kit.run("expire_reservations", &keys, &[&entry]), ["1", "0", "0", "0"]);
        kit.redis(&["FLUSHDB"]);
    }
}

#[test]
fn release_and_expiry_race_and_one_returns_the_stock() {
    let Some(mut kit) = kit() else { return };
    for _ in 0..50 {
        kit.zone(10);
        hold(&mut kit, "b1", "2");
        kit.pass_deadline(INDEX, "reservation:b1");
        let entry = kit.get(&["ZRANGE", INDEX, "0", "0"]);
        let won = race(&kit, 3, |n, own| match n {
            0 => {
                own.run("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"])[0] == "1"
            }
            _ => {
                own.run("expire_reservations", &[INDEX, ZONE, USER, "reservation:b1"], &[&entry])[2]
                    == "2"
            }
        });
        assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
        kit.redis(&["DEL", "reservation:b1"]); // Known as expired, unless it was released.
        assert_eq!(kit.redis(&["KEYS", "*"]), [ZONE]);
        assert_eq!(kit.get(&["GET", ZONE]), "10");
        kit.redis(&["FLUSHDB"]);
    }
}

// A trap: the hash with the quantity dies by TTL before anyone returned the stock, so stock leaks.
#[tokio::test]
async fn stock_comes_back_although_the_reservation_hash_is_gone() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.redis(&["DEL", "reservation:b1"]);
    kit.pass_deadline(INDEX, "reservation:b1");
    let done = worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!((done.reservations, done.seats), (1, 3));
    assert_eq!(kit.get(&["GET", ZONE]), "10");
    assert_eq!(kit.get(&["EXISTS", USER]), "0");
}

// The same trap, from its other side.
#[test]
fn reservation_hash_outlives_its_hold() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    assert!(kit.ttl("reservation:b1") > 600 + 3_600);
    assert_eq!(kit.ttl(INDEX), -1);
}

// A trap: the user counter expires although confirmed seats still count.
#[test]
fn user_count_lives_as_long_as_what_it_counts() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    assert_eq!(kit.ttl(USER), -1);
    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[0], "1");
    assert_eq!((kit.ttl(USER), kit.get(&["GET", USER]).as_str()), (-1, "3"));
    kit.redis(&["EXPIRE", USER, "660"]); // As the earlier script left it.
    hold(&mut kit, "b2", "1");
    assert_eq!(kit.ttl(USER), -1);
}

// A trap: a release after the release at the deadline must not add stock again.
#[tokio::test]
async fn release_after_expiry_adds_no_stock() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    worker(&kit).await.run_once().await.expect("Redis runs");
    let code = kit.refused("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"]);
    assert_eq!(code, "RESERVATION_NOT_FOUND");
    assert_eq!(kit.get(&["GET", ZONE]), "10");
}

// The other way round: who releases what is overdue leaves nothing for the worker.
#[tokio::test]
async fn expiry_after_release_adds_no_stock() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    assert_eq!(
        kit.run("release_seats", &[ZONE, USER, "reservation:b1"], &["b1", "ada"]),
        ["1", "10", "0"]
    );
    let done = worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!(done, Expired::default());
    assert_eq!(kit.get(&["GET", ZONE]), "10");
}

// A trap: a confirm with no hold left must not succeed.
#[tokio::test]
async fn expired_hold_cannot_be_confirmed() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    let confirm =
        |kit: &mut Kit| kit.refused("confirm_booking", &["reservation:b1"], &["b1", "ada"]);
    assert_eq!(confirm(&mut kit), "RESERVATION_NOT_FOUND", "before the worker comes");
    worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!(confirm(&mut kit), "RESERVATION_NOT_FOUND", "and after");
}

#[test]
fn due_reservations_says_what_expire_reservations_needs() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.run("due_reservations", &[INDEX], &[]), ["1", "-1"]);
    kit.zone(10);
    for booking in ["b1", "b2", "b3"] {
        hold(&mut kit, booking, "1");
    }
    kit.pass_deadline(INDEX, "reservation:b1");
    kit.pass_deadline(INDEX, "reservation:b2");
    let before = kit.everything();
    let due = kit.run("due_reservations", &[INDEX], &[]);
    assert!(due[1].parse::<i64>().is_ok_and(|ms| ms > 500_000), "{due:?}");
    let row = |booking: &str| {
        let reservation = reservation(booking);
        format!(r#"[["{reservation}","{ZONE}","{USER}","1"] {ZONE} {USER} {reservation}]"#)
    };
    assert_eq!(due[2..], [row("b1"), row("b2")]);
    let first = kit.run("due_reservations", &[INDEX], &["2"]);
    assert_eq!(first[..2], ["1", "0"], "there may be more");
    assert_eq!(kit.everything(), before);
}

#[test]
fn expire_reservations_passes_over_what_it_must_not_end() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.redis(&["SET", "zone:availability:B", "0"]);
    hold(&mut kit, "b1", "3");
    let entry = kit.get(&["ZRANGE", INDEX, "0", "0"]);
    let keys = [INDEX, ZONE, USER, "reservation:b1"];
    assert_eq!(kit.run("expire_reservations", &keys, &[&entry]), ["1", "0", "0", "0"], "not due");
    kit.pass_deadline(INDEX, "reservation:b1");
    let before = kit.everything();
    let elsewhere = [INDEX, "zone:availability:B", USER, "reservation:b1"];
    assert_eq!(
        kit.run("expire_reservations", &elsewhere, &[&entry]),
        ["1", "0", "0", "0"],
        "other keys"
    );
    assert_eq!(
        kit.run("expire_reservations", &keys, &["unknown"]),
        ["1", "0", "0", "0"],
        "not in the index"
    );
    assert_eq!(kit.everything(), before);
    let twice = [INDEX, ZONE, USER, "reservation:b1", ZONE, USER, "reservation:b1"];
    assert_eq!(kit.run("expire_reservations", &twice, &[&entry, &entry]), ["1", "1", "3", "0"]);
    assert_eq!(kit.get(&["GET", ZONE]), "10");
}

#[tokio::test]
async fn damaged_count_stops_no_other_hold() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    kit.redis(&["SET", "zone:availability:B", "10"]);
    let args = ["1", "4", "bob", "b2", "B", "gala", "evening", "15000", "600"];
    let other = ["zone:availability:B", "user:reservations:bob:gala", "reservation:b2"];
    assert_eq!(kit.run("reserve_seats", &other, &args), ["1", "9", "1"]);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    kit.pass_deadline(INDEX, "reservation:b2");
    for damage in [["SET", "zone:availability:B", "nine"], ["LPUSH", "zone:availability:B", "9"]] {
        kit.redis(&["DEL", "zone:availability:B"]);
        kit.redis(&damage);
        let done = worker(&kit).await.run_once().await.expect("Redis runs");
        assert_eq!(kit.get(&["GET", ZONE]), "10");
        assert_eq!((done.broken, kit.get(&["ZCARD", INDEX]).as_str()), (1, "1"), "it is kept");
        let wait_ms = done.next_ms.expect("it is tried again");
        assert!((50_000..=60_000).contains(&wait_ms), "{wait_ms}");
        kit.pass_deadline(INDEX, "reservation:b2");
    }
    kit.redis(&["DEL", "zone:availability:B"]);
    kit.redis(&["SET", "zone:availability:B", "9"]);
    worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!(kit.get(&["GET", "zone:availability:B"]), "10");
}

#[tokio::test]
async fn holds_of_a_broken_zone_keep_no_other_stock_back() {
    let Some(mut kit) = kit() else { return };
    kit.zone(50);
    let zone = "zone:availability:B";
    kit.redis(&["SET", zone, "200"]);
    for n in 0..150 {
        let (user, booking) = (format!("bob{n}"), format!("broken{n}"));
        let args = ["1", "4", &user, &booking, "B", "gala", "evening", "15000", "600"];
        let keys = [zone, &format!("user:reservations:{user}:gala"), &reservation(&booking)];
        assert_eq!(kit.run("reserve_seats", &keys, &args)[0], "1");
    }
    for n in 0..50 {
        hold(&mut kit, &format!("b{n}"), "1");
    }
    // The broken ones ran out first: they fill more than a batch.
    for (score, entry) in (1_000..).zip(kit.redis(&["ZRANGE", INDEX, "0", "-1"])) {
        kit.redis(&["ZADD", INDEX, &format!("{score}.500000"), &entry]);
    }
    kit.redis(&["SET", zone, "-5"]);
    let mut worker = worker(&kit).await;
    let done = worker.run_once().await.expect("Redis runs");
    assert_eq!((done.reservations, done.seats, done.broken), (50, 50, 150));
    assert_eq!(kit.redis(&["MGET", ZONE, zone]), ["50", "-5"]);
    let again = worker.run_once().await.expect("Redis runs");
    assert_eq!((again.reservations, again.broken), (0, 0), "nothing is due for a while");
    assert!(again.next_ms.is_some_and(|ms| ms > 1_000), "no worker spins: {again:?}");
}

/// Redis adds to no number that is written like this, although it is one.
#[tokio::test]
async fn count_with_zeros_before_it_stops_nobody_else() {
    let Some(mut kit) = kit() else { return };
    let zones = ["A", "B", "C"];
    for zone in zones {
        kit.redis(&["SET", &format!("zone:availability:{zone}"), "100"]);
        let (user, booking) = (format!("user:reservations:{zone}:gala"), format!("b{zone}"));
        let keys = [&format!("zone:availability:{zone}"), &user, &reservation(&booking)];
        let args = ["2", "4", zone, &booking, zone, "gala", "evening", "15000", "600"];
        assert_eq!(kit.run("reserve_seats", &keys.map(String::as_str), &args)[0], "1");
        kit.pass_deadline(INDEX, &reservation(&booking));
    }
    kit.redis(&["SET", "zone:availability:B", "0098"]);
    let done = worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!((done.reservations, done.seats, done.broken), (2, 4, 1));
    let counts = zones.map(|zone| kit.get(&["GET", &format!("zone:availability:{zone}")]));
    assert_eq!(counts, ["100", "0098", "100"]);
    let held = zones.map(|zone| kit.get(&["EXISTS", &format!("user:reservations:{zone}:gala")]));
    assert_eq!(held, ["0", "1", "0"]);
    assert_eq!(kit.get(&["ZCARD", INDEX]), "1", "what is broken is kept");
}

#[test]
fn release_and_reserve_say_that_a_count_is_broken() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    for (zone, user) in
        [("-5", "3"), ("nine", "3"), ("07", "3"), ("7", "-1"), ("7", "three"), ("7", "03")]
    {
        kit.redis(&["MSET", ZONE, zone, USER, user]);
        let before = kit.everything();
        let keys = [ZONE, USER, "reservation:b1"];
        assert_eq!(kit.refused("release_seats", &keys, &["b1", "ada"]), "COUNT_BROKEN");
        let args = ["1", "9", "ada", "b2", "A", "gala", "evening", "15000", "600"];
        let keys = [ZONE, USER, "reservation:b2"];
        assert_eq!(kit.refused("reserve_seats", &keys, &args), "COUNT_BROKEN");
        assert_eq!(kit.everything(), before);
    }
}

#[tokio::test]
async fn foreign_entries_stop_nobody_and_are_reported() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    for n in 0..150 {
        kit.redis(&["ZADD", INDEX, "1", &format!("not one of ours, {n}")]);
    }
    for n in 0..150 {
        kit.redis(&["ZADD", INDEX, "1", &format!(r#"["a","b","c{n}","x"]"#)]);
    }
    for foreign in [
        r#"{"a":1}"#,
        "[1,2,3,4]",
        "[null,null,null,null]",
        r#"["a","b","c"]"#,
        r#"["a","b","c",""]"#,
        r#"["a","b","c","0"]"#,
    ] {
        kit.redis(&["ZADD", INDEX, "1", foreign]);
    }
    let done = worker(&kit).await.run_once().await.expect("Redis runs");
    assert_eq!((done.reservations, done.seats, done.foreign), (1, 3, 306));
    assert_eq!(done.next_ms, None, "nobody waits for them");
    assert_eq!(kit.get(&["ZCOUNT", INDEX, "+inf", "+inf"]), "306");
}

#[tokio::test]
async fn booking_id_of_a_hold_that_expired_is_not_held_anew() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.pass_deadline(INDEX, "reservation:b1");
    worker(&kit).await.run_once().await.expect("Redis runs");
    let args = ["3", "1000", "ada", "b1", "A", "gala", "evening", "15000", "600"];
    let code = kit.refused("reserve_seats", &[ZONE, USER, "reservation:b1"], &args);
    assert_eq!(code, "BOOKING_MISMATCH");
    assert_eq!(kit.get(&["GET", ZONE]), "10");
}

#[test]
fn expiry_of_one_hold_spares_a_later_one_with_the_same_id() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.redis(&["DEL", "reservation:b1"]);
    kit.pass_deadline(INDEX, "reservation:b1");
    let first = kit.get(&["ZRANGE", INDEX, "0", "0"]);
    hold(&mut kit, "b1", "1");
    let keys = [INDEX, ZONE, USER, "reservation:b1"];
    assert_eq!(kit.run("expire_reservations", &keys, &[&first]), ["1", "1", "3", "0"]);
    assert_eq!(kit.redis(&["MGET", ZONE, USER]), ["9", "1"]);
    assert_eq!(kit.run("confirm_booking", &["reservation:b1"], &["b1", "ada"])[0], "1");
}

#[test]
fn hold_that_another_script_confirmed_is_not_given_back() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.redis(&["HSET", "reservation:b1", "status", "confirmed"]); // And knew nothing of the index.
    kit.pass_deadline(INDEX, "reservation:b1");
    let entry = kit.get(&["ZRANGE", INDEX, "0", "0"]);
    let keys = [INDEX, ZONE, USER, "reservation:b1"];
    assert_eq!(kit.run("expire_reservations", &keys, &[&entry]), ["1", "0", "0", "0"]);
    assert_eq!(kit.redis(&["MGET", ZONE, USER]), ["7", "3"]);
    assert_eq!(kit.get(&["ZCARD", INDEX]), "0");
}

#[test]
fn expiry_of_a_zone_that_is_gone_does_not_make_it_anew() {
    let Some(mut kit) = kit() else { return };
    kit.zone(10);
    hold(&mut kit, "b1", "3");
    kit.redis(&["DEL", ZONE]);
    kit.pass_deadline(INDEX, "reservation:b1");
    let entry = kit.get(&["ZRANGE", INDEX, "0", "0"]);
    let keys = [INDEX, ZONE, USER, "reservation:b1"];
    assert_eq!(kit.run("expire_reservations", &keys, &[&entry]), ["1", "1", "0", "0"]);
    assert_eq!(kit.redis(&["KEYS", "*"]), ["reservation:b1"]);
}

#[tokio::test]
async fn scripts_that_redis_has_forgotten_are_loaded_again() {
    // A server of its own: what is forgotten here is not to be missed elsewhere.
    let Some(redis) = need(Redis::start()) else { return };
    let mut connection = connection(&redis.url()).await;
    load(&mut connection).await.expect("Redis runs");
    for script in Script::ALL {
        let there = redis.command(&["SCRIPT", "EXISTS", script.sha()]).expect("Redis runs");
        assert_eq!(there.trim(), "1", "{}", script.name());
    }
    for _ in 0..2 {
        redis.command(&["SCRIPT", "FLUSH"]).expect("Redis runs");
        let status: i64 = Script::Claim
            .call(&mut connection, &["claimed"], &["1", "2"])
            .await
            .expect("it is loaded again");
        assert_eq!(status, 1);
    }
    let status: i64 =
        Script::Claim.call(&mut connection, &["claimed"], &["1", "2"]).await.expect("Redis runs");
    assert_eq!(status, 0);
    let by_sha = redis
        .command(&["EVALSHA", Script::Claim.sha(), "1", "claimed", "-2", "2"])
        .expect("Redis runs");
    assert_eq!(by_sha.trim(), "1", "any client may call by SHA");
    let reply = eval("claim", &["claimed"], &["-1", "2"])
        .query_async(&mut connection)
        .await
        .expect("Redis runs");
    assert_eq!(texts(&reply), ["-1"]);
}
