//! Requests with a key, sent again.

use crate::paying::{GOOD_CARD, paid_shop, use_card};
use crate::sandboxed::Sandboxed;
use crate::shop::{Guest, Shop};
use onrush_api::http::problem::Problem;
use onrush_core::Command;
use onrush_ledger::LedgerError;
use onrush_store::Failure;
use onrush_store::embedded::{Asked, LostAnswers};
use onrush_testkit::Log;
use serde_json::json;
use std::time::Duration;

impl Guest<'_> {
    async fn on_booking(&self, booking: &str, what: &str, key: &str) -> crate::client::Answer {
        self.ask("POST", &format!("/bookings/{booking}/{what}")).key(key).send().await
    }
}

#[tokio::test]
async fn an_extension_under_the_same_key_is_given_once() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    let first = guest.on_booking(&booking, "extend", "x").await.expect(200);
    assert_eq!(first.json()["extensions"], 1);
    shop.clock.advance_ms(60_000);
    let before = shop.committed();
    let again = guest.on_booking(&booking, "extend", "x").await.expect(200);
    assert_eq!((first.status, &first.body), (again.status, &again.body));
    assert_eq!(first.header("content-type"), again.header("content-type"));
    assert_eq!(shop.committed(), before);
    // Another key is another wish, and so is none.
    let more = guest.on_booking(&booking, "extend", "y").await;
    assert_eq!(more.problem(), (409, "EXTENSION_LIMIT".into()));
    let more = guest.ask("POST", &format!("/bookings/{booking}/extend")).send().await;
    assert_eq!(more.problem(), (409, "EXTENSION_LIMIT".into()));
}

#[tokio::test]
async fn a_cancellation_under_the_same_key_gets_the_first_answer() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.on_booking(&booking, "cancel", "x").await.expect(200);
    assert_eq!(first.json()["status"], "released");
    let again = guest.on_booking(&booking, "cancel", "x").await.expect(200);
    assert_eq!(first.body, again.body);
    let other = guest.on_booking(&booking, "cancel", "y").await;
    assert_eq!(other.problem(), (409, "ALREADY_RELEASED".into()));
    // A refusal is decided afresh, and comes to the same.
    let refused = guest.on_booking(&booking, "cancel", "y").await;
    assert_eq!((other.status, &other.body), (refused.status, &refused.body));
}

/// The same shop after the process died before it kept any answer.
async fn without_answers(shop: Shop) -> Shop {
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let ledger = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
    let lost = "UPDATE requests SET status = NULL, content_type = NULL, body = NULL";
    assert_eq!(ledger.execute(lost, []), Ok(1));
    drop(ledger);
    Shop::start_in(dir, clock, |_| {}).await
}

#[tokio::test]
async fn a_release_whose_answer_was_lost_gets_it_again_under_its_key_alone() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.on_booking(&booking, "cancel", "x").await.expect(200);
    let token = guest.token;
    let shop = without_answers(shop).await;
    let guest = Guest { shop: &shop, token, user: String::new() };
    let other = guest.on_booking(&booking, "cancel", "y").await;
    assert_eq!(other.problem(), (409, "ALREADY_RELEASED".into()));
    for _ in 0..2 {
        let again = guest.on_booking(&booking, "cancel", "x").await.expect(200);
        assert_eq!(first.json(), again.json());
    }
}

#[tokio::test]
async fn an_extension_whose_answer_was_lost_is_not_given_again() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR", "extensions": 3});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 5, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    let first = guest.on_booking(&booking, "extend", "x").await.expect(200).json();
    let token = guest.token;
    let shop = without_answers(shop).await;
    let guest = Guest { shop: &shop, token, user: String::new() };
    let again = guest.on_booking(&booking, "extend", "x").await.expect(200).json();
    assert_eq!((&first["extensions"], &again["extensions"]), (&json!(1), &json!(1)));
    shop.clock.advance_ms(60_000);
    let more = guest.on_booking(&booking, "extend", "y").await.expect(200).json();
    assert_eq!(more["extensions"], 2);
}

/// Has the engine's answers to these commands get lost: it does them.
fn lose_answers_to(lost: &LostAnswers, is_lost: fn(&Command) -> bool) {
    lost.lose(move |asked| match asked {
        Asked::Command(command) if is_lost(command) => Some(Failure::Unreachable),
        Asked::Command(_) | Asked::Query(_) => None,
    });
}

#[tokio::test]
async fn an_extension_that_the_engine_gave_without_an_answer_is_not_given_again() {
    let lost = LostAnswers::default();
    let shop = Shop::start_losing(&lost).await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR", "extensions": 3});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 5, 0).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    lose_answers_to(&lost, |command| matches!(command, Command::Extend { .. }));
    for _ in 0..2 {
        let unheard = guest.on_booking(&booking, "extend", "x").await;
        assert_eq!(unheard.problem(), (503, "ENGINE_UNREACHABLE".into()));
    }
    lost.lose_none();
    let until = guest.booking(&booking).await["until"].clone();
    shop.clock.advance_ms(60_000);
    let heard = guest.on_booking(&booking, "extend", "x").await.expect(200).json();
    assert_eq!((&heard["extensions"], &heard["until"]), (&json!(1), &until));
    let more = guest.on_booking(&booking, "extend", "y").await.expect(200).json();
    assert_eq!(more["extensions"], 2);
}

#[tokio::test]
async fn a_release_that_the_engine_did_without_an_answer_is_answered_under_its_key_alone() {
    let lost = LostAnswers::default();
    let shop = Shop::start_losing(&lost).await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    lose_answers_to(&lost, |command| matches!(command, Command::Release { .. }));
    let unheard = guest.on_booking(&booking, "cancel", "x").await;
    assert_eq!(unheard.problem(), (503, "ENGINE_UNREACHABLE".into()));
    lost.lose_none();
    let other = guest.on_booking(&booking, "cancel", "y").await;
    assert_eq!(other.problem(), (409, "ALREADY_RELEASED".into()));
    for _ in 0..2 {
        let heard = guest.on_booking(&booking, "cancel", "x").await.expect(200).json();
        assert_eq!(heard["status"], "released");
    }
}

#[tokio::test]
async fn a_return_whose_answer_was_lost_gets_it_again() {
    let shop = Shop::start().await;
    let body = json!({"event": "e", "title": "Show", "currency": "EUR",
        "starts_at": 4_000_000_000_000_i64, "refunds": [{"days_before": 7, "percent": 50}]});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 5, 1_000).await;
    shop.organise_plainly("/events/e/open").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let confirm = format!("/events/e/bookings/{booking}/confirm");
    shop.organise("POST", &confirm, &json!({"payment": "till-7"})).await;
    let first = guest.on_booking(&booking, "cancel", "x").await.expect(200);
    assert_eq!(first.json()["refund_minor"], 500);
    let token = guest.token;
    let shop = without_answers(shop).await;
    let guest = Guest { shop: &shop, token, user: String::new() };
    let again = guest.on_booking(&booking, "cancel", "x").await.expect(200);
    assert_eq!(first.json(), again.json());
    // It is taken back, whoever asks for it again: what goes back is said as the first time.
    let other = guest.on_booking(&booking, "cancel", "y").await.expect(200);
    assert_eq!(first.json(), other.json());
}

#[tokio::test]
async fn a_key_is_its_owners_and_its_operations_alone() {
    let shop = paid_shop().await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let booking = ann.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    ann.on_booking(&booking, "extend", "k").await.expect(200);
    let stranger = bob.on_booking(&booking, "extend", "k").await;
    assert_eq!(stranger.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    let cancelled = ann.on_booking(&booking, "cancel", "k").await.expect(200);
    assert_eq!(cancelled.json()["status"], "released");
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_nothing_is_done() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let path = format!("/bookings/{booking}/payment");
    let first = guest.on_booking(&booking, "payment", "x").await.expect(201);
    let buyer = json!({"buyer": {"name": "Ann", "email": "ann@post.example", "language": "en"}});
    let other = guest.ask("POST", &path).key("x").json(&buyer).send().await;
    assert_eq!(other.problem(), (422, "BOOKING_MISMATCH".into()));
    let id = booking.parse().unwrap();
    assert_eq!(shop.server.ledger().buyer(&id).await.unwrap(), None);
    assert_eq!(guest.on_booking(&booking, "payment", "x").await.body, first.body);
    for (what, key) in [("extend", "x y"), ("cancel", "")] {
        let path = format!("/bookings/{booking}/{what}");
        let odd = guest.ask("POST", &path).key(key).send().await;
        assert_eq!(odd.problem(), (400, "IDEMPOTENCY_KEY_INVALID".into()));
    }
    assert_eq!(guest.booking(&booking).await["status"], "paying");
}

#[tokio::test]
async fn bodies_that_mean_the_same_are_the_same_wish() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let (empty, named) = (guest.hold_ga("h", 1).await, guest.hold_ga("i", 1).await);
    let send = async |booking: &str, body: &str| {
        let request = guest.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
        let request = request.header("Content-Type", "application/json").body(body);
        request.send().await.expect(201).body
    };
    let first = guest.on_booking(&empty, "payment", "p").await.expect(201).body;
    for body in ["", "{}", " { } ", "null"] {
        assert_eq!(send(&empty, body).await, first, "{body:?}");
    }
    let first = send(&named, r#"{"buyer": {"name": "Ann", "email": "a@b.example"}}"#).await;
    let other = send(&named, r#"{ "buyer":{"email":"a@b.example","name":"Ann"} }"#).await;
    assert_eq!(first, other);
}

#[tokio::test]
async fn what_is_not_the_callers_leaves_no_record() {
    let shop = paid_shop().await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let booking = ann.hold_ga("h", 1).await;
    let unknown = format!("e.{}", "0".repeat(32));
    for (index, booking) in
        [&booking, &unknown, &format!("nowhere{}", &unknown[1..])].into_iter().enumerate()
    {
        for what in ["payment", "extend", "cancel"] {
            let answer = bob.on_booking(booking, what, &format!("k{index}")).await;
            assert_eq!(answer.problem(), (404, "RESERVATION_NOT_FOUND".into()), "{what}");
        }
    }
    let ledger = rusqlite::Connection::open(shop.dir.path().join("ledger.db")).unwrap();
    let count =
        || ledger.query_row("SELECT count(*) FROM requests", [], |row| row.get::<_, u32>(0));
    assert_eq!(count().unwrap(), 0);
    ann.on_booking(&booking, "cancel", "k").await.expect(200);
    assert_eq!(count().unwrap(), 1);
}

fn records(shop: &Shop) -> u32 {
    let ledger = rusqlite::Connection::open(shop.dir.path().join("ledger.db")).unwrap();
    ledger.query_row("SELECT count(*) FROM requests", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn what_was_refused_leaves_no_record() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    guest.on_booking(&booking, "extend", "x").await.expect(200);
    assert_eq!(records(&shop), 1);
    for n in 0..20 {
        let more = guest.on_booking(&booking, "extend", &format!("x{n}")).await;
        assert_eq!(more.problem(), (409, "EXTENSION_LIMIT".into()));
    }
    guest.on_booking(&booking, "cancel", "c").await.expect(200);
    for (what, code) in [("cancel", "ALREADY_RELEASED"), ("payment", "ALREADY_RELEASED")] {
        for n in 0..20 {
            let more = guest.on_booking(&booking, what, &format!("r{n}")).await;
            assert_eq!(more.problem(), (409, code.into()), "{what}");
        }
    }
    assert_eq!(records(&shop), 2);
    // What was done is answered as it was.
    let again = guest.on_booking(&booking, "extend", "x").await.expect(200);
    assert_eq!(again.json()["status"], "held");
}

/// The free space of the disk that the tests write on, and twice as much.
fn twice_what_is_free(dir: &std::path::Path) -> u64 {
    let disk = rustix::fs::statvfs(dir).unwrap();
    2 * disk.f_bavail * disk.f_frsize
}

#[tokio::test]
async fn a_low_disk_refuses_what_asks_for_more_and_lets_payments_and_releases_through() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let [paid, given_back, kept] = ["p", "g", "k"].map(|key| guest.hold_ga(key, 1));
    let (paid, given_back, kept) = (paid.await, given_back.await, kept.await);
    shop.clock.advance_ms(60_000);
    let first = guest.on_booking(&paid, "extend", "x").await.expect(200);
    let token = guest.token;
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;

    let low_disk_bytes = twice_what_is_free(dir.path());
    let shop = Shop::start_with_options(
        dir,
        clock,
        |config| config.gateway = onrush_base::config::GatewayName::Sandbox,
        |options| options.low_disk_bytes = low_disk_bytes,
    )
    .await;
    let guest = Guest { shop: &shop, token, user: String::new() };
    let before = records(&shop);
    for key in ["y", "z"] {
        let keyed = guest.on_booking(&kept, "extend", key).await;
        assert_eq!(keyed.problem(), (503, "DISK_LOW".into()));
    }
    let plain = guest.ask("POST", &format!("/bookings/{kept}/extend")).send().await;
    assert_eq!(plain.problem(), (503, "DISK_LOW".into()));
    let hold = guest.hold("e", "n", &json!({"pools": {"ga": 1}})).await;
    assert_eq!(hold.problem(), (503, "DISK_LOW".into()));
    assert_eq!(records(&shop), before);
    // What is known under its key is answered, and who pays or gives back is let through.
    let again = guest.on_booking(&paid, "extend", "x").await.expect(200);
    assert_eq!(first.body, again.body);
    guest.on_booking(&paid, "payment", "p").await.expect(201);
    guest.on_booking(&given_back, "cancel", "c").await.expect(200);
}

#[tokio::test]
async fn a_disk_that_is_all_but_full_begins_no_payment_and_lets_those_under_way_end() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let (paying, held) = (guest.hold_ga("p", 1).await, guest.hold_ga("h", 1).await);
    let first = guest.on_booking(&paying, "payment", "p").await.expect(201);
    let token = guest.token;
    let (dir, clock) = (shop.dir, shop.clock);
    shop.server.shutdown().await;

    let low_disk_bytes = 4 * twice_what_is_free(dir.path());
    let shop = Shop::start_with_options(
        dir,
        clock,
        |config| config.gateway = onrush_base::config::GatewayName::Sandbox,
        |options| options.low_disk_bytes = low_disk_bytes,
    )
    .await;
    let guest = Guest { shop: &shop, token, user: String::new() };
    let refused = guest.on_booking(&held, "payment", "q").await;
    assert_eq!(refused.problem(), (503, "DISK_LOW".into()));
    assert_eq!(guest.booking(&held).await["status"], "held");
    let again = guest.on_booking(&paying, "payment", "p").await.expect(201);
    assert_eq!(first.body, again.body);
    guest.on_booking(&paying, "payment", "other").await.expect(200);
    guest.on_booking(&held, "cancel", "c").await.expect(200);
}

#[tokio::test]
async fn a_caller_who_hangs_up_at_once_can_ask_again() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    for round in 0..30 {
        let key = format!("k{round}");
        let request = guest.ask("POST", &format!("/bookings/{booking}/extend")).key(&key);
        drop(request.start().await);
        let answered = async {
            loop {
                let answer = guest.on_booking(&booking, "extend", &key).await;
                if answer.status == 200 || answer.problem().1 != "IN_PROGRESS" {
                    return answer;
                }
            }
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), answered).await;
        let answer = answer.unwrap_or_else(|_| panic!("{key} is under way for ever"));
        let extended = answer.status == 200;
        assert!(extended || answer.problem() == (409, "EXTENSION_LIMIT".into()), "{answer:?}");
    }
    assert_eq!(guest.booking(&booking).await["extensions"], 1);
}

#[tokio::test]
async fn a_request_that_is_under_way_is_not_begun_again() {
    let sandboxed = Sandboxed::start(|_| {}).await;
    let guest = sandboxed.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    sandboxed.script(&json!({"fault": "delay", "on": "create"})).await;
    let request = guest.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
    let first = tokio::spawn(request.clone().send());
    guest.until_status(&booking, "paying").await;
    let second = request.clone().send().await;
    assert_eq!(second.problem(), (409, "IN_PROGRESS".into()));
    let first = first.await.unwrap().expect(201);
    // Once it is answered, the answer is there for all.
    let third = request.send().await.expect(201);
    assert_eq!(first.body, third.body);
    use_card(first.json()["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    assert_eq!(sandboxed.totals().await.0, 2_725);
}

#[tokio::test]
async fn a_caller_who_hangs_up_stops_nothing() {
    let sandboxed = Sandboxed::start(|_| {}).await;
    let guest = sandboxed.shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    sandboxed.script(&json!({"fault": "delay", "on": "create"})).await;
    let request = guest.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
    let connection = request.clone().start().await;
    guest.until_status(&booking, "paying").await;
    drop(connection);
    let answered = async {
        loop {
            let answer = request.clone().send().await;
            if answer.status == 201 {
                return answer;
            }
            assert_eq!(answer.problem(), (409, "IN_PROGRESS".into()));
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), answered).await.unwrap();
    assert_eq!(answer.json()["status"], "open");
}

/// As PostgreSQL may do where it commits what nobody waits for any more.
#[tokio::test]
async fn a_request_that_began_although_its_caller_was_told_otherwise_is_done_when_it_comes_again() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    let ledger = shop.server.sqlite_ledger().expect("a file");
    ledger.unheard_for_tests(true);
    for what in ["payment", "extend"] {
        let answer = guest.on_booking(&booking, what, "k").await;
        assert_eq!(answer.problem(), (503, "LEDGER_UNAVAILABLE".into()), "{what}");
    }
    ledger.unheard_for_tests(false);
    let extended = guest.on_booking(&booking, "extend", "k").await.expect(200);
    assert_eq!(extended.json()["extensions"], 1);
    guest.on_booking(&booking, "payment", "k").await.expect(201);
    // From here on it is as with any other key.
    let again = guest.on_booking(&booking, "extend", "k").await.expect(200);
    assert_eq!(extended.body, again.body);
}

#[tokio::test]
async fn nothing_is_begun_while_the_ledger_cannot_remember_it() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    shop.clock.advance_ms(60_000);
    let before = guest.booking(&booking).await;
    let committed = shop.committed();
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    for what in ["payment", "extend", "cancel"] {
        let answer = guest.on_booking(&booking, what, "k").await;
        assert_eq!(answer.problem(), (503, "LEDGER_UNAVAILABLE".into()), "{what}");
    }
    assert_eq!(guest.booking(&booking).await, before);
    assert_eq!(shop.committed(), committed);
    assert_eq!(shop.server.sandbox().unwrap().totals().await.unwrap().captured_minor, 0);
    shop.server.sqlite_ledger().expect("a file").break_for_tests(false);
    // The same keys are as good as new.
    guest.on_booking(&booking, "extend", "k").await.expect(200);
    guest.on_booking(&booking, "payment", "k").await.expect(201);
}

#[test]
fn a_ledger_that_fails_all_requests_of_a_rush_is_one_line_in_the_log() {
    let (log, _guard) = Log::begin(tracing::Level::ERROR);
    for _ in 0..100 {
        let away = LedgerError::Unavailable("planted for one line".into());
        assert_eq!(Problem::from(away).code(), "LEDGER_UNAVAILABLE");
    }
    assert_eq!((log.count("the ledger failed"), log.count("planted for one line")), (1, 1));
    assert!(log.text().contains("times=1"), "{}", log.text());
    // Another reason is told at once.
    drop(Problem::from(LedgerError::Unavailable("planted for another".into())));
    assert_eq!(log.count("planted for another"), 1);
}
