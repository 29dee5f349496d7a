//! What explains the API: the OpenAPI document, its browser, the page of errors.

use crate::client::Request;
use crate::shop::Shop;
use onrush_api::http::problem::Code;
use onrush_core::Refusal;
use std::collections::BTreeSet;

#[tokio::test]
async fn the_openapi_document_and_its_browser_are_served_from_the_binary() {
    let shop = Shop::start().await;
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    let document = get("/api/openapi.json").await.expect(200);
    assert_eq!(document.header("content-type"), Some("application/json"));
    let document = document.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert!(document["paths"]["/api/v1/events/{event}/bookings"]["post"].is_object());
    let start = get("/docs").await;
    assert!((300..400).contains(&start.status), "{start:?}");
    let page = get("/docs/").await.expect(200);
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("swagger-ui-bundle.js") && !page.contains("https://"), "{page}");
    get("/docs/swagger-ui-bundle.js").await.expect(200);
    let start = get("/docs/swagger-initializer.js").await.expect(200);
    assert!(String::from_utf8(start.body).unwrap().contains("/api/openapi.json"));
    let errors = get("/docs/errors").await.expect(200);
    assert!(String::from_utf8(errors.body).unwrap().starts_with("# Errors"));
}

#[tokio::test]
async fn without_built_pages_the_front_door_says_how_to_get_them_and_the_api_works() {
    let empty = tempfile::tempdir().unwrap();
    let pages = empty.path().to_owned();
    let shop = Shop::start_with(|config| config.pages = Some(pages)).await;
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    for path in ["/", "/events/tour-1/queue", "/admin"] {
        let told = get(path).await.expect(200);
        let told = String::from_utf8(told.body).unwrap();
        assert!(told.contains("make pages"), "{path}: {told}");
    }
    get("/api/v1/events").await.expect(200);
    get("/assets/nothing.js").await.expect(404);
}

#[test]
fn every_code_has_its_heading_with_its_status_and_every_heading_is_a_code() {
    let page = include_str!("../../../../docs/errors.md");
    let mut codes = BTreeSet::new();
    let mut check = |code: &'static str, status: u16| {
        let heading = format!("\n### {code}\n\nHTTP {status}. ");
        assert!(page.contains(&heading), "docs/errors.md lacks {heading:?}");
        assert!(codes.insert(code), "{code} stands for two things");
    };
    for kind in Refusal::KINDS {
        check(kind.code, onrush_api::http::problem::status_of(kind.class).as_u16());
    }
    for code in Code::ALL {
        let (text, status) = code.facts();
        check(text, status.as_u16());
    }
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    assert_eq!(headings.collect::<BTreeSet<_>>(), codes);
}
