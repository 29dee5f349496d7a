//! Other wishes beside the first one: the first that can be had is held.

use crate::prices::taxed_sale;
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};

/// A sale of 10 of pool `ga` and of seats, of which somebody holds `ga` but 2, and A-2.
async fn nearly_sold_out(shop: &Shop) {
    taxed_sale(shop, &Value::Null).await;
    for wish in [json!({"pools": {"ga": 7}, "seats": ["A-2"]}), json!({"pools": {"ga": 1}})] {
        shop.guest().await.hold("e", "k", &wish).await.expect(201);
    }
}

/// Three who sit side by side; rather two who stand than nobody, and rather one who sits.
fn three_or_two_or_one() -> Value {
    json!({"best": {"quantity": 3, "together": "prefer"}, "otherwise": [
        {"pools": {"ga": 3}}, {"pools": {"ga": 2}}, {"best": {"quantity": 1}}]})
}

async fn held(guest: &Guest<'_>, key: &str, wish: &Value) -> (String, Value) {
    let held = guest.hold("e", key, wish).await.expect(201).json();
    (held["booking"].as_str().unwrap().to_owned(), held["lines"].clone())
}

#[tokio::test]
async fn the_first_wish_that_can_be_had_is_held() {
    let shop = Shop::start().await;
    nearly_sold_out(&shop).await;
    let guest = shop.guest().await;
    let two = json!({"pools": {"ga": 2}, "otherwise": [{"seats": ["A-1"]}]});
    assert_eq!(held(&guest, "a", &two).await.1, json!({"pools": {"ga": 2}}));
    assert_eq!(held(&guest, "b", &two).await.1, json!({"seats": ["A-1"]}));
    let none = guest.hold("e", "c", &two).await;
    assert_eq!(none.problem(), (409, "INSUFFICIENT_STOCK".into()), "it is the first one's");
    let left = held(&guest, "d", &three_or_two_or_one()).await.1;
    assert_eq!(left, json!({"seats": ["A-3"]}));
}

#[tokio::test]
async fn a_retry_finds_what_was_held_also_when_what_was_wanted_first_is_free_again() {
    let shop = Shop::start().await;
    nearly_sold_out(&shop).await;
    let guest = shop.guest().await;
    let first = held(&guest, "k", &three_or_two_or_one()).await;
    assert_eq!(first.1, json!({"pools": {"ga": 2}}));
    shop.clock.advance_ms(3_600_000);
    shop.ask("GET", "/events/e/availability").send().await.expect(200);
    let again = guest.hold("e", "k", &three_or_two_or_one()).await.expect(201).json();
    assert_eq!((again["booking"].as_str(), &again["lines"]), (Some(&*first.0), &first.1));
    // The same key for something else, which is free.
    let other = json!({"pools": {"ga": 1}, "otherwise": [{"seats": ["A-1"]}]});
    assert_eq!(guest.hold("e", "k", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!((&left["pools"][0]["held"], &left["categories"][0]["held"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn many_at_once_with_one_key_hold_one_thing() {
    let shop = Shop::start().await;
    nearly_sold_out(&shop).await;
    let guest = shop.guest().await;
    let wish = three_or_two_or_one();
    let asked = (0..20).map(|_| guest.hold("e", "k", &wish));
    let answers = futures_util::future::join_all(asked).await;
    let bookings = answers.into_iter().map(|answer| answer.expect(201).text("booking"));
    assert_eq!(bookings.collect::<std::collections::BTreeSet<_>>().len(), 1);
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["held"], 10);
}

#[tokio::test]
async fn nothing_is_held_where_one_of_the_wishes_is_wrong() {
    let shop = Shop::start().await;
    taxed_sale(&shop, &Value::Null).await;
    let guest = shop.guest().await;
    let with = |others: Value| json!({"pools": {"ga": 1}, "otherwise": others});
    for (nth, (others, status, code, field)) in [
        (json!(vec![json!({"pools": {"ga": 1}}); 6]), 422, "INVALID_BODY", "otherwise"),
        (json!([{"pools": {"ga": 1}, "codes": ["abcdef"]}]), 422, "INVALID_BODY", "otherwise[0]"),
        (json!([{"pools": {"ga": 1}, "otherwise": [{}]}]), 422, "INVALID_BODY", "otherwise[0]"),
        (
            json!([{"pools": {"ga": 1}}, {"pools": {"ga": 0}}]),
            422,
            "INVALID_QUANTITY",
            "otherwise[1].pools.ga",
        ),
        (json!([{"seats": ["a b"]}]), 400, "INVALID_ID", "otherwise[0].seats[0]"),
        (json!([{}]), 422, "INVALID_QUANTITY", "otherwise[0]"),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = guest.hold("e", &format!("k{nth}"), &with(others.clone())).await;
        assert_eq!(refused.json()["field"], field, "{others}");
        assert_eq!(refused.problem(), (status, code.to_owned()), "{others}");
    }
    let unknown = with(json!([{"pools": {"gb": 1}}]));
    held(&guest, "first", &unknown).await;
    let unknown = json!({"pools": {"ga": 11}, "otherwise": [{"pools": {"gb": 1}}]});
    let told = guest.hold("e", "second", &unknown).await.problem();
    assert_eq!(told, (404, "ZONE_NOT_FOUND".into()), "what there is not is said");
    let priced = shop.ask("POST", "/events/e/quote").json(&with(json!([{"seats": ["A-1"]}])));
    let priced = priced.send().await;
    assert_eq!(priced.json()["field"], "otherwise");
    assert_eq!(priced.problem(), (422, "INVALID_BODY".into()));
    let left = shop.ask("GET", "/events/e/availability").send().await.expect(200).json();
    assert_eq!(left["pools"][0]["held"], 1);
}

#[tokio::test]
async fn whose_turn_it_is_not_gets_none_of_them() {
    let shop = Shop::start().await;
    let room = json!({"capacity": 1});
    shop.sale_with_room("e", room).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}, "otherwise": [{"pools": {"ga": 2}}]});
    assert_eq!(guest.hold("e", "k", &wish).await.problem(), (409, "NOT_YOUR_TURN".into()));
}
