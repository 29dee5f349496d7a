//! What `/metrics` says of messages that do not arrive.

use crate::client::Request;
use crate::mail::with_mail;
use crate::shop::Shop;
use crate::sink::Sink;
use onrush_ledger::booking::Buyer;
use serde_json::json;

const QUARTER_OF_AN_HOUR_MS: i64 = 15 * 60_000;

/// What a metric says of mail.
async fn of_mail(shop: &Shop, metric: &str) -> f64 {
    let operator = shop.server.operator_addr().expect("it listens");
    let answer = Request::new(operator, "GET", "/metrics").send().await.expect(200);
    let text = String::from_utf8(answer.body).expect("metrics are text");
    let row = format!("{metric}{{channel=\"mail\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&row));
    value.unwrap_or_else(|| panic!("no {row} in\n{text}")).parse().expect("a number")
}

/// A server that refuses answers at once, so that the next attempt is always in the future.
#[tokio::test]
async fn mail_that_a_server_refuses_over_and_over_is_seen_to_wait() {
    let mut sink = Sink::start();
    let shop = Shop::start_with(|config| with_mail(config, &sink)).await;
    // Before there was any: an alert sees growth from 0 on.
    for metric in [
        "onrush_outbox_waiting",
        "onrush_outbox_oldest_seconds",
        "onrush_outbox_last_arrival_seconds",
        "onrush_dead_letters",
    ] {
        assert_eq!(of_mail(&shop, metric).await, 0.0, "{metric}");
    }
    shop.flash_sale("e").await;
    sink.set_busy(true);
    let (ann, language) = ("Ann".to_owned(), "en".to_owned());
    let buyer = Buyer { name: ann, email: "ann@post.example".into(), language };
    shop.guest().await.book(&json!({"pools": {"ga": 1}}), Some(buyer)).await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");

    shop.clock.advance_ms(QUARTER_OF_AN_HOUR_MS);
    shop.server.sagas().told.notify_one();
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");
    assert_eq!(of_mail(&shop, "onrush_outbox_waiting").await, 1.0);
    assert_eq!(of_mail(&shop, "onrush_outbox_overdue_seconds").await, 0.0);
    let oldest_s = of_mail(&shop, "onrush_outbox_oldest_seconds").await;
    assert!(oldest_s > 600.0, "{oldest_s}");
    assert_eq!(of_mail(&shop, "onrush_outbox_last_arrival_seconds").await, 0.0);

    sink.set_busy(false);
    shop.pass_to_next("mail").await;
    assert_eq!(sink.next().await["to"], json!(["ann@post.example"]));
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(of_mail(&shop, "onrush_outbox_oldest_seconds").await, 0.0);
    assert!(of_mail(&shop, "onrush_outbox_last_arrival_seconds").await > 0.0);
}
