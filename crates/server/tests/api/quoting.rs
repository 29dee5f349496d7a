//! What a choice would cost, before anything is held.

use crate::prices::taxed_sale;
use crate::shop::Shop;
use serde_json::{Value, json};

async fn quote(shop: &Shop, wish: &Value) -> Value {
    let asked = shop.ask("POST", "/events/e/quote").json(wish).send().await;
    asked.expect(200).json()
}

#[tokio::test]
async fn a_quote_is_to_the_cent_what_the_booking_costs() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &json!({"name": "VAT", "rate_bp": 1_900})).await;
    let wish = json!({"pools": {"ga": 2}, "seats": ["A-1", "A-3"]});
    let quoted = quote(&shop, &wish).await;
    assert_eq!((&quoted["event"], &quoted["currency"]), (&json!("e"), &json!("EUR")));
    assert_eq!((&quoted["amount_minor"], &quoted["fee_minor"]), (&json!(7_242), &json!(440)));
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &wish).await.expect(201);
    let path = format!("/bookings/{}/summary", held.text("booking"));
    let summary = guest.get(&path).await.expect(200).json();
    for member in ["amount_minor", "lines", "tax"] {
        assert_eq!(quoted[member], summary[member], "{member}");
    }
    assert_eq!(quote(&shop, &wish).await["amount_minor"], 7_242, "whether or not it is free");
}

#[tokio::test]
async fn a_quote_is_of_the_prices_of_now() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let wish = json!({"pools": {"ga": 1}, "seats": ["A-2"]});
    let before = quote(&shop, &wish).await;
    assert_eq!((&before["amount_minor"], before.get("tax")), (&json!(3_671), None));
    for of in [json!({"pool": "ga"}), json!({"category": "Stalls"})] {
        let mut change = json!({"price_minor": 1_000, "by": "ann", "why": "late"});
        change.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        shop.admin("PUT", "/events/e/prices").json(&change).send().await.expect(200);
    }
    let after = quote(&shop, &wish).await;
    assert_eq!(after["lines"][0]["amount_minor"], 1_000);
    assert_eq!(after["amount_minor"], 2_200);
    let free = json!({"price_minor": 0, "by": "ann", "why": "gift", "pool": "ga"});
    shop.admin("PUT", "/events/e/prices").json(&free).send().await.expect(200);
    let gift = quote(&shop, &json!({"pools": {"ga": 1}})).await;
    assert_eq!((&gift["amount_minor"], &gift["fee_minor"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn what_cannot_be_quoted_is_named() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    for (wish, status, code) in [
        (json!({}), 422, "INVALID_QUANTITY"),
        (json!({"best": {"quantity": 1}}), 422, "INVALID_BODY"),
        (json!({"pools": {"gb": 1}}), 404, "ZONE_NOT_FOUND"),
        (json!({"seats": ["A-1", "Z-9"]}), 404, "SEAT_NOT_FOUND"),
        (json!({"seats": ["A-1", "A-1"]}), 422, "INVALID_LINES"),
    ] {
        let refused = shop.ask("POST", "/events/e/quote").json(&wish).send().await;
        assert_eq!(refused.problem(), (status, code.to_owned()), "{wish}");
    }
    let unknown = shop.ask("POST", "/events/e/quote").json(&json!({"seats": ["A-1", "Z-9"]}));
    assert_eq!(unknown.send().await.json()["seat"], "Z-9");
    let nowhere = shop.ask("POST", "/events/f/quote").json(&json!({"pools": {"ga": 1}}));
    assert_eq!(nowhere.send().await.problem(), (404, "EVENT_NOT_FOUND".into()));
}
