//! Events end: archived over HTTP, with nothing of their money forgotten.

use crate::books::audited;
use crate::client::Answer;
use crate::shop::Shop;
use crate::till::{Till, message, send};
use crate::webhooks::shop_with;
use onrush_core::Command;
use onrush_core::saga::{Stage, Step};
use onrush_core::spec::Reason;
use onrush_ledger::money::RefundStatus;
use onrush_saga::Action;
use serde_json::{Value, json};
use std::time::Duration;

impl Shop {
    async fn archive(&self, event: &str) -> Answer {
        let path = format!("/events/{event}/archive");
        self.admin("POST", &path).json(&json!({"why": "it is over"})).send().await
    }

    async fn close_sale(&self, event: &str) {
        self.organise_plainly(&format!("/events/{event}/close")).await;
    }
}

const DAY_MS: i64 = 86_400_000;
const GONE: (u16, &str) = (410, "EVENT_ARCHIVED");

fn is(answer: &Answer, (status, code): (u16, &str)) {
    assert_eq!(answer.problem(), (status, code.into()));
}

#[tokio::test]
async fn archived_event_is_gone_for_everybody_and_its_id_for_good() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.flash_sale("other").await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 2).await;
    is(&shop.archive("e").await, (409, "OTHER_STEP_FIRST"));
    is(&shop.archive("nope").await, (404, "EVENT_NOT_FOUND"));
    shop.close_sale("e").await;
    let refused = shop.archive("e").await;
    is(&refused, (409, "EVENT_IN_USE"));
    let told = refused.json();
    assert_eq!(
        (&told["held"], &told["waiting"], &told["inside"]),
        (&json!(2), &json!(0), &json!(0))
    );
    is(&shop.admin("DELETE", "/events/e/archive").send().await, (409, "OTHER_STEP_FIRST"));
    let path = format!("/events/e/bookings/{booking}/confirm");
    shop.admin("POST", &path).json(&json!({})).send().await.expect(200);
    let archived = shop.archive("e").await.expect(200).json();
    assert_eq!(
        (&archived["event"], &archived["archived_at"]),
        (&json!("e"), &json!(shop.clock.now().0))
    );

    is(&shop.archive("e").await, GONE);
    is(&shop.ask("GET", "/events/e").send().await, GONE);
    is(&guest.get(&format!("/bookings/{booking}")).await, GONE);
    is(&guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await, GONE);
    let again = json!({"event": "e", "title": "Again", "currency": "EUR"});
    is(&shop.admin("POST", "/events").json(&again).send().await, GONE);
    let list = shop.ask("GET", "/events").send().await.expect(200).json();
    let ids: Vec<_> = list["events"].as_array().unwrap().iter().map(|it| &it["event"]).collect();
    assert_eq!(ids, [&json!("other")]);
    // Whoever turns pages is not told that this was the last one.
    is(&shop.ask("GET", "/events?after=e").send().await, (400, "INVALID_QUERY"));
    shop.admin("GET", "/inventory-status").send().await.expect(200);
    guest.get("/bookings").await.expect(200);
    assert_eq!(audited(shop.dir.path()).await["violations"], 0);
}

#[tokio::test]
async fn tickets_of_an_event_that_is_to_come_are_not_archived_away() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let starts_at = shop.clock.now().0 + DAY_MS;
    shop.organise("PATCH", "/events/e", &json!({"starts_at": starts_at})).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 2).await;
    let path = format!("/events/e/bookings/{booking}/confirm");
    shop.admin("POST", &path).json(&json!({})).send().await.expect(200);
    shop.close_sale("e").await;
    let refused = shop.archive("e").await;
    is(&refused, (409, "OTHER_STEP_FIRST"));
    let detail = refused.text("detail");
    assert!(detail.contains("cancel them first"), "{detail}");
    guest.get(&format!("/bookings/{booking}/tickets")).await.expect(200);
    shop.clock.advance_ms(DAY_MS - 1);
    is(&shop.archive("e").await, (409, "OTHER_STEP_FIRST"));
    shop.clock.advance_ms(1);
    shop.archive("e").await.expect(200);
    is(&guest.get(&format!("/bookings/{booking}/tickets")).await, GONE);
    assert_eq!(audited(shop.dir.path()).await["violations"], 0);
}

#[tokio::test]
async fn whoever_sells_may_not_archive() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.close_sale("e").await;
    let guest = shop.guest().await;
    let asked =
        guest.ask("POST", "/admin/events/e/archive").json(&json!({"why": "x"})).send().await;
    assert_eq!(asked.status, 401);
    shop.archive("e").await.expect(200);
}

#[tokio::test]
async fn an_event_whose_money_is_stuck_or_under_way_is_not_archived() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (sold, _) = shop.sell(&till).await;
    till.refuse_refunds(true);
    shop.cancel(&sold).await.expect(200);
    shop.until_record(&sold, |record| record.saga.stuck.is_some()).await;
    shop.close_sale("e").await;
    let refused = shop.archive("e").await;
    is(&refused, (409, "MONEY_UNDER_WAY"));
    assert_eq!(refused.json()["under_way"], 1);
    till.refuse_refunds(false);
    shop.act(&sold, Action::Retry).await.expect("it was stuck");
    shop.until_step(&sold, Step::Failed).await;
    shop.archive("e").await.expect(200);
    assert_eq!(till.totals().0, till.totals().1, "all that was taken went back");
    assert_eq!(audited(shop.dir.path()).await["violations"], 0);
}

/// Whether the ledger has followed all that was decided.
async fn is_followed(shop: &Shop) -> bool {
    shop.server.ledger().cursor().await.unwrap() >= shop.committed()
}

async fn followed(shop: &Shop) {
    let wait = async {
        while !is_followed(shop).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the ledger follows");
}

#[tokio::test]
async fn the_ledger_follows_the_archiving_of_an_event_that_nothing_else_happened_to_since_the_start()
 {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    shop.flash_sale("other").await;
    shop.close_sale("e").await;
    followed(&shop).await;
    // No time passes, so that no event is told of an outage.
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    shop.archive("e").await.expect(200);
    followed(&shop).await;

    // The same where the ledger is told only after the next start.
    shop.close_sale("other").await;
    followed(&shop).await;
    shop.server.sqlite_ledger().expect("a file").break_for_tests(true);
    let reason = Reason { by: "office".into(), why: "it is over".into() };
    let archive = Command::Archive { reason };
    shop.server.engine().execute("other".parse().unwrap(), archive).await.unwrap();
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;
    let shop = Shop::start_in(dir, clock, |_| {}).await;
    followed(&shop).await;
}

/// What the ledger's rows say is enough: the engine knows nothing of the booking any more.
#[tokio::test]
async fn a_cancellation_just_before_the_event_was_archived_is_refunded_after_it() {
    let till = Till::start();
    let shop = shop_with(&till).await;
    let (kept, payment) = shop.sell(&till).await;
    let (cancelled, _) = shop.sell(&till).await;
    till.down(true);
    shop.cancel(&cancelled).await.expect(200);
    shop.close_sale("e").await;
    // Past the edge, which would have asked the ledger.
    let reason = Reason { by: "office".into(), why: "too early".into() };
    let engine = shop.server.engine();
    engine.execute("e".parse().unwrap(), Command::Archive { reason }).await.unwrap();
    till.down(false);
    let record = shop.until_tried_to(&cancelled, Step::Failed).await;
    assert_eq!(record.refunds[0].status, RefundStatus::Done);
    assert_eq!(record.present().unwrap().stage, Stage::Refunded);
    // The gateway says again what it said before: the other booking stays as it is.
    send(&shop, &message("payment.captured", &payment)).await.expect(200);
    let record = shop.saga_record(&kept).await;
    assert_eq!(
        (record.saga.step, record.saga.stuck, record.refunds.len()),
        (Step::Confirmed, None, 0)
    );
    assert_eq!(shop.stuck().await, Vec::<String>::new());
    assert_eq!(audited(shop.dir.path()).await["violations"], 0);
}

#[tokio::test]
async fn who_bought_is_forgotten_with_the_event_or_by_themselves() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let buyer =
        |name: &str| json!({"buyer": {"name": name, "email": "a@example.org", "language": "en"}});
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let mut bookings = Vec::new();
    for (guest, name) in [(&ann, "Ann"), (&bob, "Bob")] {
        let booking = guest.hold_ga(name, 1).await;
        let path = format!("/events/e/bookings/{booking}/confirm");
        shop.admin("POST", &path).json(&buyer(name)).send().await.expect(200);
        bookings.push(booking);
    }
    shop.close_sale("e").await;
    shop.archive("e").await.expect(200);
    let path = format!("/bookings/{}/buyer", bookings[0]);
    let erased = ann.ask("DELETE", &path).send().await.expect(200).json();
    assert_eq!(erased["erased"], 1, "their own, although the engine knows it no more");
    let path = format!("/bookings/{}/buyer", bookings[1]);
    is(&ann.ask("DELETE", &path).send().await, GONE);
    let erase = async || -> Value {
        shop.admin("DELETE", "/events/e/archive").send().await.expect(200).json()["erased"].clone()
    };
    assert_eq!((erase().await, erase().await), (json!(1), json!(0)));
}
