//! A server whose certificate an authority issues to it: Pebble, which looks at names as others do.

use crate::client::{Answer, Request};
use crate::encrypted::{ask, greet, within};
use crate::shop::Shop;
use axum::http;
use bytes::Bytes;
use onrush_base::config::{AcmeSettings, Config, Pem};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_testkit::{Pebble, PebbleOptions, need};
use onrush_tls::Certificates;
use onrush_tls::rustls::version::TLS13;
use std::time::Duration;

const NAME: &str = "tickets.example";
const METRIC: &str = "onrush_tls_certificate_not_after_seconds ";

/// A certificate of Pebble's for one name.
fn with_pebble(config: &mut Config, pebble: &Pebble) {
    let text = format!(
        "[tls.acme]\ndomains = [\"{NAME}\"]\naccept_terms = true\ndirectory = \"{}\"\n",
        pebble.directory()
    );
    let mut tls = Config::parse(&text).unwrap().tls.unwrap();
    tls.acme = tls.acme.map(|acme| AcmeSettings {
        ca: Some(Pem::Text(pebble.directory_ca().to_owned())),
        first_pause: Duration::from_millis(60),
        ..acme
    });
    config.tls = Some(tls);
}

/// Who signs what Pebble issues, as PEM.
async fn root(pebble: &Pebble) -> Bytes {
    let ca = pebble.directory_ca().as_bytes().to_vec();
    let certificates = Certificates::new(Some(ca), None).unwrap();
    let client = HttpClient::with_certificates(AddressPolicy::Any, &certificates, "pebble".into());
    let request = http::Request::get(pebble.root_url()).body(Bytes::new()).unwrap();
    client.unwrap().call(request, 10_000).await.unwrap().into_body()
}

async fn operator(shop: &Shop, path: &str) -> Answer {
    Request::new(shop.server.operator_addr().unwrap(), "GET", path).send().await
}

async fn metric(shop: &Shop) -> Option<f64> {
    let text = String::from_utf8(operator(shop, "/metrics").await.expect(200).body).unwrap();
    text.lines().find_map(|line| line.strip_prefix(METRIC)).map(|value| value.parse().unwrap())
}

#[tokio::test]
async fn a_server_is_ready_once_it_has_a_certificate_and_at_once_after_a_restart() {
    let Some(mut pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let root = root(&pebble).await;
    let shop = Shop::start_with(|config| with_pebble(config, &pebble)).await;
    // Nobody was let through to it, so nothing can have been issued.
    let answer = operator(&shop, "/readyz").await.expect(503);
    let said = String::from_utf8(answer.body).unwrap();
    assert!(said.contains("there is no certificate yet, so nobody is greeted"), "{said}");
    assert_eq!(metric(&shop).await, Some(0.0), "the alert is to fire");
    let address = shop.server.public_addr();
    greet(address, &root, NAME, &[&TLS13]).await.expect_err("there is nothing to show");

    pebble.look_at(address);
    let ready = async {
        while operator(&shop, "/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    within("a certificate", ready).await;
    let mut stream = greet(address, &root, NAME, &[&TLS13]).await.unwrap();
    assert!(ask(&mut stream, "/api/v1/keys").await.starts_with("http/1.1 200"));
    let ends_s = metric(&shop).await.expect("it has an end");
    let Shop { server, clock, dir } = shop;
    server.shutdown().await;

    pebble.stop();
    let shop = Shop::start_in(dir, clock, |config| with_pebble(config, &pebble)).await;
    operator(&shop, "/readyz").await.expect(200);
    assert_eq!(metric(&shop).await, Some(ends_s));
    let mut stream = greet(shop.server.public_addr(), &root, NAME, &[&TLS13]).await.unwrap();
    assert!(ask(&mut stream, "/api/v1/keys").await.starts_with("http/1.1 200"));
    shop.server.shutdown().await;
}
