//! Everything that goes wrong on purpose does go wrong.

use crate::stage::{GOOD_CARD, Stage, order, refund_of};
use onrush_base::config::FaultMix;
use onrush_ledger::money::Capture;
use onrush_saga::gateway::{Gateway, GatewayError, Order, RefundStanding, Standing};
use serde_json::json;
use std::time::{Duration, Instant};

fn is_captured(standing: &Result<Standing, GatewayError>) -> bool {
    matches!(standing, Ok(Standing::Captured { .. }))
}

async fn opened(stage: &Stage, payment: &str) -> Order {
    let order = order(payment);
    let standing = stage.gateway.create(&order).await;
    assert!(matches!(standing, Ok(Standing::Open { .. })), "{standing:?}");
    order
}

#[tokio::test]
async fn cards_are_declined_for_each_reason_and_another_card_pays() {
    let stage = Stage::start().await;
    for (card, reason) in [
        ("4000000000000010", "insufficient_funds"),
        ("4000000000000020", "timeout"),
        ("4000000000000030", "cancelled"),
    ] {
        let order = opened(&stage, reason).await;
        let answer = stage.pay(&order, card).await.unwrap().json();
        assert_eq!((&answer["status"], &answer["why"]), (&json!("declined"), &json!(reason)));
        let expected =
            Standing::Declined { reference: format!("sandbox-{reason}"), why: reason.to_owned() };
        assert_eq!(stage.gateway.status(&order).await, Ok(expected));
        stage.pay(&order, GOOD_CARD).await.unwrap();
        assert!(is_captured(&stage.gateway.status(&order).await));
    }
}

#[tokio::test]
async fn delayed_answer_comes_late_and_says_it_is_done() {
    let stage = Stage::start_with(|config| config.delay_ms = 150).await;
    let order = opened(&stage, "p").await;
    let before = Instant::now();
    let answer = stage.pay(&order, "4000000000000040").await.unwrap();
    assert_eq!(answer.json()["status"], "captured");
    assert!(before.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn lost_answer_to_a_card_leaves_the_money_taken() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    assert!(stage.pay(&order, "4000000000000050").await.is_err());
    assert!(is_captured(&stage.gateway.status(&order).await));
    assert_eq!(stage.inbox.types(1).await, ["payment.captured"]);
}

fn later(payment: &str) -> Order {
    Order { capture: Capture::Later, ..order(payment) }
}

async fn authorised(stage: &Stage, payment: &str, card: &str) -> Order {
    let order = later(payment);
    stage.gateway.create(&order).await.unwrap();
    assert_eq!(stage.pay(&order, card).await.unwrap().json()["status"], "authorised");
    order
}

#[tokio::test]
async fn card_that_is_known_by_nothing_sets_money_aside_all_the_same() {
    let stage = Stage::start().await;
    let order = authorised(&stage, "p", "4000000000000120").await;
    let standing = stage.gateway.status(&order).await;
    assert!(matches!(standing, Ok(Standing::Authorised { card: None, .. })), "{standing:?}");
    assert_eq!(stage.inbox.types(1).await, ["payment.authorised"]);
}

#[tokio::test]
async fn no_number_stands_in_a_fingerprint_or_in_the_file() {
    let stage = Stage::start().await;
    let order = authorised(&stage, "p", GOOD_CARD).await;
    let Ok(Standing::Authorised { card: Some(card), .. }) = stage.gateway.status(&order).await
    else {
        panic!("it is not set aside");
    };
    let file = std::fs::read_to_string(stage.file()).unwrap();
    assert!(file.contains(card.reveal()));
    assert!(!file.contains(GOOD_CARD) && !card.reveal().contains(&GOOD_CARD[..8]));
    assert!(!format!("{card:?}").contains(card.reveal()));
}

#[tokio::test]
async fn webhook_of_a_capture_comes_twice_late_or_never_when_it_is_to() {
    for (fault, told) in [("duplicate", 2), ("late", 1), ("never", 0)] {
        let stage = Stage::start().await;
        let order = authorised(&stage, "p", GOOD_CARD).await;
        stage.inbox.types(1).await;
        stage.script(json!({"fault": fault, "on": "capture"})).await;
        assert!(is_captured(&stage.gateway.capture(&order).await));
        let mut expected = vec!["payment.authorised"];
        expected.resize(1 + told, "payment.captured");
        assert_eq!(stage.inbox.types(1 + told).await, expected);
    }
}

#[tokio::test]
async fn capture_that_fails_once_takes_nothing_and_works_the_next_time() {
    let stage = Stage::start().await;
    let order = authorised(&stage, "p", GOOD_CARD).await;
    stage.script(json!({"fault": "error_then_success", "on": "capture"})).await;
    assert!(stage.gateway.capture(&order).await.is_err());
    assert_eq!(stage.totals().await.captured_minor, 0);
    assert!(is_captured(&stage.gateway.capture(&order).await));
}

#[tokio::test]
async fn what_is_set_aside_is_found_again_after_a_restart() {
    let stage = Stage::start().await;
    let order = authorised(&stage, "p", GOOD_CARD).await;
    let before = stage.gateway.status(&order).await;
    let stage = stage.restart(false).await;
    assert_eq!(stage.gateway.status(&order).await, before);
    assert_eq!(stage.totals().await.authorised, 1);
    assert!(is_captured(&stage.gateway.capture(&order).await));
    let stage = stage.restart(false).await;
    assert!(is_captured(&stage.gateway.status(&order).await));
}

#[tokio::test]
async fn stale_decline_comes_after_the_money_was_set_aside() {
    let stage = Stage::start().await;
    let order = authorised(&stage, "p", "4000000000000080").await;
    assert_eq!(stage.inbox.types(2).await, ["payment.authorised", "payment.declined"]);
    assert!(is_captured(&stage.gateway.capture(&order).await));
}

#[tokio::test]
async fn error_comes_once_and_then_the_card_pays() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    assert_eq!(stage.pay(&order, "4000000000000060").await.unwrap().status, 500);
    assert!(matches!(stage.gateway.status(&order).await, Ok(Standing::Open { .. })));
    assert_eq!(stage.pay(&order, "4000000000000060").await.unwrap().status, 200);
    assert!(is_captured(&stage.gateway.status(&order).await));
}

#[tokio::test]
async fn duplicate_webhook_comes_twice_with_one_id() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    stage.pay(&order, "4000000000000070").await.unwrap();
    let all = stage.inbox.wait_for(2).await;
    assert_eq!(all[0].body, all[1].body);
}

#[tokio::test]
async fn webhooks_out_of_order_tell_of_the_decline_last() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    stage.pay(&order, "4000000000000080").await.unwrap();
    assert_eq!(stage.inbox.types(2).await, ["payment.captured", "payment.declined"]);
    assert!(is_captured(&stage.gateway.status(&order).await));
}

#[tokio::test]
async fn second_try_tells_of_both() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    stage.pay(&order, "4000000000000090").await.unwrap();
    assert_eq!(stage.inbox.types(2).await, ["payment.declined", "payment.captured"]);
    let all = stage.inbox.all();
    assert_ne!(all[0].json()["id"], all[1].json()["id"]);
}

#[tokio::test]
async fn late_webhook_comes_no_earlier_than_it_should() {
    let stage = Stage::start().await;
    let order = opened(&stage, "p").await;
    let before = Instant::now();
    stage.pay(&order, "4000000000000100").await.unwrap();
    assert!(is_captured(&stage.gateway.status(&order).await));
    assert_eq!(stage.totals().await.messages_waiting, 1);
    stage.inbox.wait_for(1).await;
    assert!(before.elapsed() >= Duration::from_millis(299));
}

#[tokio::test]
async fn webhook_that_never_comes_leaves_only_the_status() {
    let stage = Stage::start().await;
    let (silent, told) = (opened(&stage, "silent").await, opened(&stage, "told").await);
    stage.pay(&silent, "4000000000000110").await.unwrap();
    assert!(is_captured(&stage.gateway.status(&silent).await));
    assert_eq!(stage.totals().await.messages_waiting, 0);
    stage.pay(&told, GOOD_CARD).await.unwrap();
    assert_eq!(stage.inbox.wait_for(1).await[0].json()["payment"], "told");
}

#[tokio::test]
async fn scripted_loss_of_an_answer_leaves_the_call_done() {
    let stage = Stage::start().await;
    let order = order("p");
    let lost = |on: &str| json!({"fault": "lost_answer", "on": on});
    stage.script(lost("create")).await;
    let answer = stage.gateway.create(&order).await;
    assert!(matches!(answer, Err(GatewayError::Unavailable(_))), "{answer:?}");
    assert!(matches!(stage.gateway.status(&order).await, Ok(Standing::Open { .. })));
    assert!(matches!(stage.gateway.create(&order).await, Ok(Standing::Open { .. })));

    stage.pay(&order, GOOD_CARD).await.unwrap();
    stage.script(lost("refund")).await;
    let refund = refund_of(&order, 1, 1_000);
    assert!(stage.gateway.refund(&refund).await.is_err());
    assert_eq!(stage.totals().await.refunded_minor, 1_000);
    assert!(matches!(stage.gateway.refund(&refund).await, Ok(RefundStanding::Done { .. })));
    assert_eq!(stage.totals().await.refunded_minor, 1_000);

    let other = opened(&stage, "q").await;
    stage.script(lost("cancel")).await;
    assert!(stage.gateway.cancel(&other).await.is_err());
    assert!(matches!(stage.gateway.status(&other).await, Ok(Standing::Cancelled { .. })));
}

#[tokio::test]
async fn scripted_error_does_nothing_and_is_over_after_its_calls() {
    let stage = Stage::start().await;
    stage.script(json!({"fault": "error_then_success", "payment_prefix": "p", "next_n": 2})).await;
    let (other, order) = (order("q"), order("p-1"));
    assert!(stage.gateway.create(&other).await.is_ok());
    assert!(stage.gateway.create(&order).await.is_err());
    assert!(stage.gateway.status(&order).await.is_err());
    assert_eq!(stage.gateway.status(&order).await, Ok(Standing::Unknown));
    assert!(stage.gateway.create(&order).await.is_ok());
}

#[tokio::test]
async fn scripted_fault_overrides_the_card() {
    let stage = Stage::start().await;
    stage.script(json!({"fault": "insufficient_funds"})).await;
    let order = opened(&stage, "p").await;
    let answer = stage.pay(&order, GOOD_CARD).await.unwrap().json();
    assert_eq!(answer["status"], "declined");
    stage.script(json!({"fault": "never", "on": "refund"})).await;
    stage.pay(&order, GOOD_CARD).await.unwrap();
    stage.gateway.refund(&refund_of(&order, 1, 1)).await.unwrap();
    assert_eq!(stage.inbox.types(2).await, ["payment.declined", "payment.captured"]);
    assert_eq!(stage.totals().await.messages_waiting, 0);
}

#[tokio::test]
async fn mix_declines_only_first_tries_and_loses_only_first_answers() {
    let faults = FaultMix { declined_pct: 100, lost_answer_pct: 100, ..FaultMix::default() };
    let stage = Stage::start_with(|config| config.faults = faults).await;
    let order = order("p");
    assert!(stage.gateway.create(&order).await.is_err());
    assert!(stage.gateway.create(&order).await.is_ok());
    let answer = stage.pay(&order, GOOD_CARD).await.unwrap().json();
    assert_eq!(answer["status"], "declined");
    let answer = stage.pay(&order, GOOD_CARD).await.unwrap().json();
    assert_eq!(answer["status"], "captured");
    for amount_minor in [1_000, 250] {
        let refund = refund_of(&order, amount_minor, i64::from(amount_minor));
        assert!(stage.gateway.refund(&refund).await.is_err());
        assert!(stage.gateway.refund(&refund).await.is_ok());
    }
    assert_eq!(stage.totals().await.refunded_minor, 1_250);
}

#[tokio::test]
async fn scripts_that_make_no_sense_are_refused() {
    let stage = Stage::start().await;
    for script in [
        json!({"fault": "meteor"}),
        json!({"fault": "late", "next_n": 0}),
        json!({"fault": "late", "on": "lunch"}),
        json!({"fault": "late", "when": "now"}),
        json!({}),
    ] {
        let answer = stage.api("POST", "/v1/faults", "", &script).await;
        assert_eq!(answer.status, 422, "{script}");
    }
}
