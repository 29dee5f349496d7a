//! Everything that goes wrong on purpose does go wrong.

use crate::stage::{GOOD_CARD, Stage, order, refund_of};
use onrush_base::config::FaultMix;
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
