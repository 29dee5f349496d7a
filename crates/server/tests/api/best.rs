//! The best seats over HTTP.

use crate::seat_maps::import_small_house;
use crate::shop::Shop;
use serde_json::json;

async fn house() -> Shop {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    import_small_house(&shop, "e").await;
    shop
}

#[tokio::test]
async fn the_best_seats_are_held_and_named_in_the_answer() {
    let shop = house().await;
    let guest = shop.guest().await;
    let best = json!({"quantity": 2, "categories": ["Stalls"], "together": "must"});
    let wish = json!({"best": best, "pools": {"ga": 1}});
    let held = guest.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(held["lines"], json!({"pools": {"ga": 1}, "seats": ["A-1", "A-2"]}));
    let again = guest.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(again, held, "the same key has the same seats");
    let other = json!({"best": {"quantity": 1}});
    assert_eq!(guest.hold("e", "k", &other).await.problem(), (422, "BOOKING_MISMATCH".into()));
}

#[tokio::test]
async fn whoever_was_slower_gets_others_than_they_would_rather_have() {
    let shop = house().await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let wish = json!({"best": {"quantity": 1, "first_choice": ["A-2"], "categories": ["Stalls"]}});
    let first = ann.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(first["lines"], json!({"seats": ["A-2"]}));
    let second = bob.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(second["lines"], json!({"seats": ["A-1"]}));
    let again = bob.hold("e", "k", &wish).await.expect(201).json();
    assert_eq!(again, second, "the same key has the same seat");
}

#[tokio::test]
async fn what_would_still_fit_is_told() {
    let shop = house().await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    ann.hold("e", "k", &json!({"seats": ["A-2"]})).await.expect(201);
    let refused = bob.hold("e", "k", &json!({"best": {"quantity": 2}})).await;
    assert_eq!(refused.problem(), (409, "NOT_TOGETHER".into()));
    assert_eq!((&refused.json()["longest"], &refused.json()["free"]), (&json!(1), &json!(2)));
    let refused = bob.hold("e", "k", &json!({"best": {"quantity": 3}})).await;
    assert_eq!(refused.problem(), (409, "TOO_FEW_SEATS".into()));
    assert_eq!(refused.json()["free"], 2);
    bob.hold("e", "k", &json!({"best": {"quantity": 1}})).await.expect(201);
}

#[tokio::test]
async fn a_wish_that_cannot_be_names_its_field() {
    let shop = house().await;
    let guest = shop.guest().await;
    for (wish, status, code, field) in [
        (json!({"best": {"quantity": 0}}), 422, "INVALID_LINES", "best.quantity"),
        (json!({"best": {"quantity": 21}}), 422, "INVALID_LINES", "best.quantity"),
        (json!({"best": {"quantity": -1}}), 422, "INVALID_LINES", "best.quantity"),
        (
            json!({"best": {"quantity": 1, "price_max_minor": -1}}),
            422,
            "INVALID_LINES",
            "best.price_max_minor",
        ),
        (
            json!({"best": {"quantity": 2, "first_choice": ["A-1"]}}),
            422,
            "INVALID_LINES",
            "best.first_choice",
        ),
        (
            json!({"best": {"quantity": 1, "first_choice": ["A:1"]}}),
            400,
            "INVALID_ID",
            "best.first_choice[0]",
        ),
        (json!({"best": {}}), 422, "INVALID_BODY", "best.quantity"),
        (
            json!({"best": {"quantity": 1, "together": "maybe"}}),
            422,
            "INVALID_BODY",
            "best.together",
        ),
        (json!({"best": {"quantity": 1}, "pools": {"ga": 0}}), 422, "INVALID_QUANTITY", "pools.ga"),
    ] {
        let answer = guest.hold("e", "k", &wish).await;
        assert_eq!(answer.problem(), (status, code.to_owned()), "{wish}");
        assert_eq!(answer.json()["field"], field, "{wish}");
    }
    for (wish, code) in [
        (json!({"best": {"quantity": 1, "categories": ["Royal"]}}), "CATEGORY_NOT_FOUND"),
        (json!({"best": {"quantity": 1, "sections": ["Moon"]}}), "SECTION_NOT_FOUND"),
    ] {
        assert_eq!(guest.hold("e", "k", &wish).await.problem(), (404, code.to_owned()));
    }
}
