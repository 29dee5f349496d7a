//! Claims.

use crate::scopes::{key_of, named};
use crate::shop::Shop;
use onrush_base::config::keys::Scope;
use serde_json::json;

/// A trap: the check-first variant never checks the maximum on the first claim and can go below zero.
#[tokio::test]
async fn claims_stay_between_zero_and_the_quantity_from_the_first_one_on() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let claim = |key: &str, quantity: i64| {
        let request = guest.ask("POST", "/events/e/pools/ga/claims").key(key);
        request.json(&json!({ "quantity": quantity })).send()
    };
    let too_many = claim("a", 11).await;
    assert_eq!(too_many.problem(), (409, "CLAIM_EXCEEDS_QUANTITY".into()));
    let adjust = |key: &str, amount: i64| {
        let body = json!({"amount": amount, "by": "crm", "why": "import"});
        shop.admin("POST", "/events/e/pools/ga/claimed").key(key).json(&body).send()
    };
    assert_eq!(adjust("a", -1).await.problem(), (409, "CLAIM_BELOW_ZERO".into()));
    let claimed = claim("b", 4).await.expect(201).json();
    assert_eq!((&claimed["before"], &claimed["after"]), (&json!(0), &json!(4)));
    let adjusted = adjust("b", 6).await.expect(201).json();
    assert_eq!((&adjusted["status"], &adjusted["after"]), (&json!("adjusted"), &json!(10)));
    assert_eq!(adjust("b", 6).await.expect(201).json(), adjusted);
    assert_eq!(adjust("c", -7).await.problem(), (409, "CLAIM_BELOW_ZERO".into()));
}

#[tokio::test]
async fn two_services_that_number_alike_adjust_each_for_itself() {
    let shop = Shop::start_with(|config| {
        config.keys.extend(["pos", "crm"].map(|name| named(name, &[Scope::Stock])));
    });
    let shop = shop.await;
    shop.flash_sale("e").await;
    let adjust = |name: &str| {
        let path = "/admin/events/e/pools/ga/claimed";
        let body = json!({"amount": 2, "why": "sold elsewhere"});
        shop.ask("POST", path).bearer(&key_of(name)).key("1001").json(&body).send()
    };
    let first = adjust("pos").await.expect(201).json();
    assert_eq!(adjust("pos").await.expect(201).json(), first);
    let second = adjust("crm").await.expect(201).json();
    assert_eq!((&first["after"], &second["after"]), (&json!(2), &json!(4)));
    assert_ne!(first["claim"], second["claim"]);
}

#[tokio::test]
async fn a_claim_is_given_back_once_and_only_by_its_owner() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let (owner, other) = (shop.guest().await, shop.guest().await);
    let request = owner.ask("POST", "/events/e/pools/ga/claims").key("k");
    let request = request.json(&json!({"quantity": 3}));
    let claimed = request.clone().send().await.expect(201).json();
    assert_eq!(request.send().await.expect(201).json(), claimed);
    let path = format!("/claims/{}", claimed["claim"].as_str().unwrap());
    for method in ["GET", "DELETE"] {
        let answer = other.ask(method, &path).send().await;
        assert_eq!(answer.problem(), (404, "CLAIM_NOT_FOUND".into()));
    }
    let returned = owner.ask("DELETE", &path).send().await.expect(200).json();
    assert_eq!(returned["status"], "returned");
    let before = shop.committed();
    assert_eq!(owner.ask("DELETE", &path).send().await.expect(200).json(), returned);
    assert_eq!(owner.get(&path).await.expect(200).json(), returned);
    assert_eq!(shop.committed(), before);
}

#[tokio::test]
async fn a_claim_with_a_time_to_live_comes_back_by_itself() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let request = guest.ask("POST", "/events/e/pools/ga/claims").key("k");
    let claimed = request.json(&json!({"quantity": 10, "ttl_ms": 1_000})).send().await.expect(201);
    shop.clock.advance_ms(1_000);
    let view = guest.get(&format!("/claims/{}", claimed.text("claim"))).await.expect(200).json();
    assert_eq!(view["status"], "expired");
}

#[tokio::test]
async fn visitors_may_not_use_the_services_path() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let body = json!({"amount": 1, "by": "me", "why": "because"});
    let answer = guest.ask("POST", "/admin/events/e/pools/ga/claimed").key("k").json(&body).send();
    assert_eq!(answer.await.problem(), (401, "TOKEN_INVALID".into()));
}

/// A request id that was seen before changes nothing and returns the first answer, whatever that was.
#[tokio::test]
async fn a_claims_key_gets_its_first_answer_for_as_long_as_keys_are_kept() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let (ann, bob) = (shop.guest().await, shop.guest().await);
    let ask = |guest: &crate::shop::Guest<'_>, key: &str, quantity: i64| {
        let request = guest.ask("POST", "/events/e/pools/ga/claims").key(key);
        request.json(&json!({ "quantity": quantity })).send()
    };
    let all = ask(&ann, "all", 10).await.expect(201);
    let refused = ask(&bob, "one", 1).await;
    assert_eq!(refused.problem(), (409, "CLAIM_EXCEEDS_QUANTITY".into()));
    // The stock comes back, and the answer stays.
    let path = format!("/claims/{}", all.text("claim"));
    ann.ask("DELETE", &path).send().await.expect(200);
    let before = shop.committed();
    assert_eq!(ask(&bob, "one", 1).await.expect(409).body, refused.body);
    assert_eq!(shop.committed(), before, "nothing was taken");
    let other = ask(&bob, "one", 2).await;
    assert_eq!(other.problem(), (422, "BOOKING_MISMATCH".into()));
    ask(&bob, "new", 1).await.expect(201);
    // After the declaim the claim's first answer is what it was.
    assert_eq!(ask(&ann, "all", 10).await.expect(201).body, all.body);
    assert_eq!(ann.get(&path).await.expect(200).json()["status"], "returned");
    // A key is as good as new once keys are forgotten.
    shop.clock.advance_ms(24 * 3_600_000);
    ask(&bob, "one", 1).await.expect(201);
}

#[tokio::test]
async fn a_claims_first_answer_has_the_end_that_it_had_then() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let request = guest.ask("POST", "/events/e/pools/ga/claims").key("k");
    let request = request.json(&json!({"quantity": 3, "ttl_ms": 60_000}));
    let first = request.clone().send().await.expect(201);
    shop.clock.advance_ms(60_000);
    let path = format!("/claims/{}", first.text("claim"));
    assert_eq!(guest.get(&path).await.expect(200).json()["status"], "expired");
    assert_eq!(request.send().await.expect(201).body, first.body);
}

#[tokio::test]
async fn a_services_adjustment_that_was_refused_stays_refused_under_its_key() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let adjust = |key: &str, amount: i64| {
        let body = json!({"amount": amount, "by": "crm", "why": "import"});
        shop.admin("POST", "/events/e/pools/ga/claimed").key(key).json(&body).send()
    };
    let refused = adjust("back", -2).await;
    assert_eq!(refused.problem(), (409, "CLAIM_BELOW_ZERO".into()));
    adjust("more", 5).await.expect(201);
    assert_eq!(adjust("back", -2).await.expect(409).body, refused.body);
    assert_eq!(adjust("back", -1).await.problem(), (422, "BOOKING_MISMATCH".into()));
    adjust("back-again", -2).await.expect(201);
}
