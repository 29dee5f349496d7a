//! Bookings are looked for with a body, so that no address says by whom.

use crate::client::Answer;
use crate::money_admin::{unchunked, until};
use crate::scopes::{key_of, shop_with_a_buyer};
use crate::shop::{ADMIN_KEY, Shop};
use serde_json::{Value, json};

const SEARCH: &str = "/admin/bookings/search";
const TABLE: &str = "/admin/bookings/search.csv";

async fn post(shop: &Shop, path: &str, key: &str, body: &Value) -> Answer {
    shop.ask("POST", path).bearer(key).json(body).send().await
}

/// The bookings of a page.
fn bookings(page: &Answer) -> Vec<Value> {
    page.json()["bookings"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_body_finds_what_the_query_finds() {
    let (shop, booking) = shop_with_a_buyer().await;
    let guest = shop.guest().await;
    let held = guest.hold_ga("other", 1).await;
    let both = |page: &Value| page["bookings"].as_array().is_some_and(|rows| rows.len() == 2);
    until(&shop, "/bookings", both).await;
    let nothing = json!({"event": null, "status": null, "user": null, "text": null, "limit": 2.0});
    for (query, body, expected) in [
        ("", json!({}), vec![&held, &booking]),
        ("", nothing, vec![&held, &booking]),
        ("?text=ANN%40example.org", json!({"text": "ANN@example.org"}), vec![&booking]),
        ("?text=nn%20l", json!({"text": "nn l", "event": "e"}), vec![&booking]),
        ("?status=held", json!({"status": "held"}), vec![&held]),
        ("?event=f", json!({"event": "f"}), vec![]),
    ] {
        let page = post(&shop, SEARCH, ADMIN_KEY, &body).await.expect(200);
        let by_query = shop.admin("GET", &format!("/bookings{query}")).send().await.expect(200);
        assert_eq!(page.json(), by_query.json(), "{body}");
        let mut found: Vec<_> = bookings(&page).iter().map(|row| row["booking"].clone()).collect();
        found.sort_unstable_by_key(ToString::to_string);
        let mut expected: Vec<_> = expected.into_iter().map(|id| json!(id)).collect();
        expected.sort_unstable_by_key(ToString::to_string);
        assert_eq!(found, expected, "{body}");
    }
    let of_guest = post(&shop, SEARCH, ADMIN_KEY, &json!({"user": guest.user})).await;
    assert_eq!(bookings(&of_guest.expect(200))[0]["booking"], json!(held));
    // Page by page it is the same, each row once.
    let first = post(&shop, SEARCH, ADMIN_KEY, &json!({"limit": 1})).await.expect(200);
    let rest = json!({"limit": 1, "after": first.text("next")});
    let second = post(&shop, SEARCH, ADMIN_KEY, &rest).await.expect(200);
    assert_ne!(bookings(&first)[0]["booking"], bookings(&second)[0]["booking"]);
    assert!(second.json().get("next").is_none());
    for path in [SEARCH, TABLE] {
        for body in [
            json!({"colour": "red"}),
            json!({"text": ""}),
            json!({"text": "x".repeat(501)}),
            json!({"status": "lost"}),
            json!({"event": "no id"}),
            json!({"limit": 0}),
            json!({"limit": 1001}),
        ] {
            let refused = post(&shop, path, ADMIN_KEY, &body).await;
            assert_eq!(refused.problem(), (422, "INVALID_BODY".into()), "{path} {body}");
        }
        let plain = shop.ask("POST", path).bearer(ADMIN_KEY).body("text=ann").send().await;
        assert_eq!(plain.problem(), (415, "UNSUPPORTED_MEDIA_TYPE".into()), "{path}");
        let nobody = shop.ask("POST", path).json(&json!({})).send().await;
        assert_eq!(nobody.problem(), (401, "TOKEN_MISSING".into()), "{path}");
    }
}

#[tokio::test]
async fn who_only_reads_finds_no_buyer_with_a_body_either() {
    let (shop, booking) = shop_with_a_buyer().await;
    let of_ann = json!({"text": "ann@example.org"});
    for name in ["screen", "plan"] {
        let all = post(&shop, SEARCH, &key_of(name), &json!({})).await.expect(200);
        assert_eq!(bookings(&all)[0]["booking"], json!(booking), "{name}");
        assert_eq!(bookings(&all)[0].get("buyer"), None, "{name}");
        let found = post(&shop, SEARCH, &key_of(name), &of_ann).await.expect(200);
        assert_eq!(bookings(&found).len(), 0, "{name}");
        let table = post(&shop, TABLE, &key_of(name), &of_ann).await;
        assert_eq!(table.problem(), (403, "SCOPE_MISSING".into()), "{name}");
    }
    let found = post(&shop, SEARCH, &key_of("box-office"), &of_ann).await.expect(200);
    assert_eq!(bookings(&found)[0]["buyer"]["name"], json!("Ann Lee"));
}

#[tokio::test]
async fn a_table_is_written_down_and_a_search_is_not() {
    let (shop, booking) = shop_with_a_buyer().await;
    let accounts = key_of("accounts");
    let of_ann = json!({"text": "ann@example.org"});
    post(&shop, SEARCH, &accounts, &of_ann).await.expect(200);
    let table = post(&shop, TABLE, &accounts, &of_ann).await.expect(200);
    let text = unchunked(&table);
    assert!(text.lines().count() == 2 && text.contains(&booking), "{text}");
    let by_query = shop.admin("GET", "/bookings.csv?text=ann%40example.org").send().await;
    assert_eq!(text, unchunked(&by_query.expect(200)));
    let rows = shop.admin("GET", "/actions?name=accounts").send().await.expect(200).json();
    let rows = rows["actions"].as_array().unwrap();
    let paths: Vec<_> = rows.iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/api/v1/admin/bookings/search.csv"]);
    assert!(!json!(rows).to_string().contains("ann@"), "a row names a buyer: {rows:?}");
}

#[tokio::test]
async fn a_browser_searches_with_its_csrf_token() {
    let (shop, _) = shop_with_a_buyer().await;
    let sign_in = shop.ask("POST", "/session").json(&json!({"key": key_of("box-office")}));
    let signed = sign_in.send().await.expect(200);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = || shop.ask("POST", SEARCH).header("Cookie", &cookie).json(&json!({}));
    assert_eq!(page().send().await.problem(), (403, "CSRF_REFUSED".into()));
    let found = page().header("X-CSRF-Token", &signed.text("csrf")).send().await.expect(200);
    assert_eq!(bookings(&found).len(), 1);
}
