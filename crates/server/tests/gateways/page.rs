//! The page where a person pays.

use crate::stage::{Answer, Stage, body, order};
use onrush_saga::gateway::{Gateway, Order, Standing};
use serde_json::json;

async fn see(stage: &Stage, order: &Order) -> Answer {
    stage.ask("GET", &format!("/pay/{}", order.payment), &[], "").await.unwrap()
}

async fn submit(stage: &Stage, order: &Order, form: &str) -> Answer {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let path = format!("/pay/{}", order.payment);
    stage.ask("POST", &path, &headers, form.to_owned()).await.unwrap()
}

#[tokio::test]
async fn page_shows_what_is_paid_and_takes_a_card() {
    let stage = Stage::start().await;
    let order = order("p");
    stage.gateway.create(&order).await.unwrap();
    let page = see(&stage, &order).await;
    assert_eq!(page.status, 200);
    for part in ["Two seats", "12.50 EUR", "name=\"card\"", "Pay 12.50 EUR", "Decline"] {
        assert!(page.text().contains(part), "{part} is missing: {}", page.text());
    }
    let wrong = submit(&stage, &order, "action=pay&card=12").await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("12 to 19 digits") && wrong.text().contains("name=\"card\""));
    let paid = submit(&stage, &order, "card=4242+4242+4242+4242&action=pay").await;
    assert_eq!((paid.status, paid.header("location")), (303, "/pay/p"));
    let page = see(&stage, &order).await;
    assert!(page.text().contains("Paid. Thank you!") && !page.text().contains("<form"));
}

#[tokio::test]
async fn buyer_who_declines_can_change_his_mind() {
    let stage = Stage::start().await;
    let order = order("p");
    stage.gateway.create(&order).await.unwrap();
    assert_eq!(submit(&stage, &order, "action=decline&card=").await.status, 303);
    let why = "cancelled".into();
    let expected = Standing::Declined { reference: "sandbox-p".into(), why };
    assert_eq!(stage.gateway.status(&order).await, Ok(expected));
    let page = see(&stage, &order).await;
    assert!(page.text().contains("Declined:") && page.text().contains("<form"));
    submit(&stage, &order, "action=pay&card=424242424242").await;
    assert!(see(&stage, &order).await.text().contains("Paid."));
    // Too late to change it back.
    submit(&stage, &order, "action=decline&card=").await;
    assert!(see(&stage, &order).await.text().contains("Paid."));
}

#[tokio::test]
async fn buyer_who_declines_without_end_fills_no_file_and_may_still_pay() {
    let stage = Stage::start().await;
    let order = order("p");
    stage.gateway.create(&order).await.unwrap();
    let declined =
        || std::fs::read_to_string(stage.file()).unwrap().matches("\"declined\"").count();
    for _ in 0..105 {
        assert_eq!(submit(&stage, &order, "action=decline&card=").await.status, 303);
    }
    assert_eq!(declined(), 100);
    submit(&stage, &order, "action=pay&card=424242424242").await;
    assert!(see(&stage, &order).await.text().contains("Paid."));
}

#[tokio::test]
async fn page_of_a_payment_that_was_called_off_takes_no_money() {
    let stage = Stage::start().await;
    let (order, unheard) = (order("p"), order("unheard-of"));
    stage.gateway.create(&order).await.unwrap();
    for order in [&order, &unheard] {
        stage.gateway.cancel(order).await.unwrap();
        let page = see(&stage, order).await;
        assert!(page.text().contains("called off") && !page.text().contains("<form"));
    }
    assert_eq!(submit(&stage, &order, "action=pay&card=4242424242424242").await.status, 303);
    assert!(see(&stage, &order).await.text().contains("called off"));
    let missing = stage.ask("GET", "/pay/nobody", &[], "").await.unwrap();
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn page_escapes_texts_and_allows_no_scripts() {
    let stage = Stage::start().await;
    let mut asked = body(&order("p"));
    asked["description"] = json!("<script>alert('1')</script> & \"more\"");
    asked["return_url"] = json!("https://shop.example/?a=1&b='2'");
    asked["amount_minor"] = json!(1_250);
    asked["currency"] = json!("JPY");
    assert_eq!(stage.api("POST", "/v1/payments", "p", &asked).await.status, 200);
    let page = see(&stage, &order("p")).await;
    assert!(!page.text().contains("<script") && !page.text().contains("'2'"));
    assert!(page.text().contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp;"));
    assert!(page.text().contains("href=\"https://shop.example/?a=1&amp;b=&#39;2&#39;\""));
    assert!(page.text().contains("1250 JPY"));
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
    assert_eq!(page.header("cache-control"), "no-store");
    let style = stage.ask("GET", "/pay.css", &[], "").await.unwrap();
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
}
