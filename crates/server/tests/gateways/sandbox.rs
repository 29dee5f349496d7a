//! The sandbox's API and its webhooks.

use crate::inbox::standing;
use crate::stage::{
    GOOD_CARD, SECRET, Stage, WEBHOOK_SECRET, body, config, order, refund_of, secret,
};
use axum::http::HeaderMap;
use onrush_base::config::FaultMix;
use onrush_base::signature::sign;
use onrush_saga::gateway::sandbox::SandboxGateway;
use onrush_saga::gateway::{
    Gateway, GatewayError, News, NotGenuine, Order, RefundStanding, Standing,
};
use onrush_sandbox::{SIGNATURE, Sandbox, SandboxError};
use serde_json::{Value, json};

#[tokio::test]
async fn only_who_has_the_secret_is_answered() {
    let stage = Stage::start().await;
    let paths = [
        ("POST", "/v1/payments"),
        ("GET", "/v1/payments"),
        ("GET", "/v1/payments/p"),
        ("POST", "/v1/payments/p/cancel"),
        ("POST", "/v1/payments/p/refunds"),
        ("GET", "/v1/totals"),
        ("POST", "/v1/faults"),
        ("PUT", "/v1/webhook"),
    ];
    for (method, path) in paths {
        for bearer in [None, Some("Bearer wrong"), Some(SECRET)] {
            let header = bearer.map(|bearer| ("authorization", bearer));
            let headers: Vec<_> = header.into_iter().collect();
            let answer = stage.ask(method, path, &headers, "{}").await.unwrap();
            assert_eq!(answer.status, 401, "{method} {path} {bearer:?}");
        }
    }
    let wrong = secret("not-the-secret-of-this-sandbox");
    let stranger = SandboxGateway::new(&stage.sandbox.base_url(), &wrong, secret(WEBHOOK_SECRET));
    let answer = stranger.create(&order("p")).await;
    assert!(matches!(answer, Err(GatewayError::Unavailable(_))), "{answer:?}");
    assert_eq!(stage.gateway.status(&order("p")).await, Ok(Standing::Unknown));
}

#[tokio::test]
async fn what_is_asked_wrongly_is_refused() {
    let stage = Stage::start().await;
    let good = body(&order("p"));
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (body, code) in [
        (with("amount_minor", json!(0)), "AMOUNT_INVALID"),
        (with("amount_minor", json!(-1)), "AMOUNT_INVALID"),
        (with("amount_minor", json!(1.5)), "INVALID_BODY"),
        (with("currency", json!("eur")), "INVALID_BODY"),
        (with("currency", json!("QQQ")), "CURRENCY_UNKNOWN"),
        (with("payment", json!("p/1")), "INVALID_BODY"),
        (with("payment", json!("q")), "KEY_WRONG"),
        (with("return_url", json!("javascript:alert(1)")), "URL_INVALID"),
        (with("description", json!("x".repeat(501))), "TEXT_TOO_LONG"),
    ] {
        let answer = stage.api("POST", "/v1/payments", "p", &body).await;
        assert_eq!((answer.status, answer.json()["code"].as_str()), (422, Some(code)), "{body}");
    }
    let answer = stage.api("POST", "/v1/payments", "", &good).await;
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("KEY_MISSING")));
    assert_eq!(stage.totals().await.payments, 0);
}

#[tokio::test]
async fn a_shop_that_moved_finds_the_payment_it_asked_for_before() {
    let stage = Stage::start().await;
    let at = |shop: &str| {
        let mut body = body(&order("p"));
        body["return_url"] = json!(format!("http://{shop}/bookings/b"));
        body
    };
    let first = stage.api("POST", "/v1/payments", "p", &at("127.0.0.1:4000")).await;
    let again = stage.api("POST", "/v1/payments", "p", &at("127.0.0.1:5000")).await;
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!(first.json(), again.json());
    assert_eq!(again.json()["return_url"], "http://127.0.0.1:4000/bookings/b");
}

#[tokio::test]
async fn list_and_totals_have_every_payment_once() {
    let stage = Stage::start().await;
    let orders: Vec<Order> = (0..7).map(|n| order(&format!("p-{n}"))).collect();
    for order in &orders {
        stage.gateway.create(order).await.unwrap();
    }
    let yen = Order { currency: "JPY".parse().unwrap(), ..order("q") };
    stage.gateway.create(&yen).await.unwrap();
    for order in [&orders[0], &orders[1], &yen] {
        assert_eq!(stage.pay(order, GOOD_CARD).await.unwrap().status, 200);
    }
    stage.gateway.cancel(&orders[2]).await.unwrap();
    stage.gateway.cancel(&order("unheard-of")).await.unwrap();
    stage.gateway.refund(&refund_of(&orders[1], 1, 250)).await.unwrap();
    let (mut seen, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let page = stage.list(&query).await;
        seen.extend(page.payments);
        match page.next {
            Some(next) => query = format!("?limit=3&after={next}"),
            None => break,
        }
    }
    let ids: Vec<String> = seen.iter().map(|view| view.payment.to_string()).collect();
    assert_eq!(ids, ["p-0", "p-1", "p-2", "p-3", "p-4", "p-5", "p-6", "q"]);
    assert_eq!((seen[1].captured_minor, seen[1].refunded_minor), (1_250, 250));
    stage.inbox.wait_for(5).await;
    let totals = stage.totals().await;
    assert_eq!((totals.payments, totals.open, totals.cancelled), (8, 4, 1));
    assert_eq!((totals.captured_payments, totals.captured_minor), (3, 3_750));
    assert_eq!((totals.refunds, totals.refunded_minor), (1, 250));
    assert_eq!(totals.currencies["EUR"].captured_minor, 2_500);
    assert_eq!(totals.currencies["JPY"].captured_minor, 1_250);
}

#[tokio::test]
async fn webhooks_tell_of_everything_and_are_believed() {
    let stage = Stage::start().await;
    let (paid, declined, dropped) = (order("paid"), order("declined"), order("dropped"));
    for order in [&paid, &declined, &dropped] {
        stage.gateway.create(order).await.unwrap();
    }
    stage.pay(&paid, GOOD_CARD).await.unwrap();
    let notice = stage.inbox.wait_for(1).await[0].read(&stage.gateway).unwrap();
    let captured = Standing::Captured {
        reference: "sandbox-paid".into(),
        amount_minor: 1_250,
        currency: "EUR".parse().unwrap(),
    };
    let news = News::Payment {
        payment: paid.payment.clone(),
        booking: paid.booking.clone(),
        standing: captured.clone(),
    };
    assert_eq!(notice.news, Some(news));
    assert_eq!(stage.gateway.status(&paid).await, Ok(captured));

    stage.pay(&declined, "4000000000000020").await.unwrap();
    let notice = stage.inbox.wait_for(2).await[1].read(&stage.gateway).unwrap();
    let why = "timeout".into();
    let expected = Standing::Declined { reference: "sandbox-declined".into(), why };
    assert_eq!(standing(notice), expected);

    let cancelled = stage.gateway.cancel(&dropped).await.unwrap();
    let notice = stage.inbox.wait_for(3).await[2].read(&stage.gateway).unwrap();
    assert_eq!(standing(notice), cancelled);

    let refund = refund_of(&paid, 1, 200);
    let done = stage.gateway.refund(&refund).await.unwrap();
    assert!(matches!(done, RefundStanding::Done { .. }));
    let notice = stage.inbox.wait_for(4).await[3].read(&stage.gateway).unwrap();
    let payment = paid.payment.clone();
    let (amount_minor, currency) = (200, paid.currency);
    let news =
        News::Refund { payment, refund: refund.refund, amount_minor, currency, standing: done };
    assert_eq!(notice.news, Some(news));
}

#[tokio::test]
async fn refused_webhooks_come_again_with_the_same_id() {
    let stage = Stage::start().await;
    stage.inbox.refuse(3);
    let order = order("p");
    stage.gateway.create(&order).await.unwrap();
    stage.pay(&order, GOOD_CARD).await.unwrap();
    let all = stage.inbox.wait_for(4).await;
    let ids: Vec<Value> = all.iter().map(|received| received.json()["id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(all.iter().all(|received| received.read(&stage.gateway).is_ok()));
}

#[tokio::test]
async fn forged_webhooks_are_not_believed() {
    let stage = Stage::start().await;
    let now_s = crate::inbox::now_s();
    let body = json!({
        "id": "p.0", "type": "payment.captured", "payment": "p", "booking": "tour.p",
            "reference": "sandbox-p",
        "amount_minor": 1_250, "currency": "EUR", "created_s": now_s,
    })
    .to_string();
    let read = |header: Option<&str>, body: &str| {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(SIGNATURE, header.parse().unwrap());
        }
        stage.gateway.read_webhook(&headers, body.as_bytes(), now_s)
    };
    let signed = |body: &str, at_s| sign(WEBHOOK_SECRET.as_bytes(), body.as_bytes(), at_s);
    let good = signed(&body, now_s);
    assert!(read(Some(&good), &body).is_ok());
    assert_eq!(read(None, &body), Err(NotGenuine::SignatureMissing));
    assert_eq!(read(Some("t=1"), &body), Err(NotGenuine::SignatureMissing));
    let cheaper = body.replace("1250", "1");
    assert_eq!(read(Some(&good), &cheaper), Err(NotGenuine::SignatureWrong));
    let stolen = sign(SECRET.as_bytes(), body.as_bytes(), now_s);
    assert_eq!(read(Some(&stolen), &body), Err(NotGenuine::SignatureWrong));
    assert_eq!(read(Some(&signed(&body, now_s - 301)), &body), Err(NotGenuine::TooOld));
    assert_eq!(read(Some(&signed(&body, now_s + 301)), &body), Err(NotGenuine::TooOld));
    for odd in ["{}", "", "[1]", &body.replace("EUR", "eur"), &body.replace("tour.p", "a:b")] {
        assert_eq!(read(Some(&signed(odd, now_s)), odd), Err(NotGenuine::Unreadable), "{odd}");
    }
    let other = body.replace("payment.captured", "payment.looked_at");
    assert_eq!(read(Some(&signed(&other, now_s)), &other).unwrap().news, None);
    let half = body.replace("payment.captured", "refund.done");
    assert_eq!(read(Some(&signed(&half, now_s)), &half), Err(NotGenuine::Unreadable));
}

#[tokio::test]
async fn sandbox_that_others_could_reach_does_not_start_unless_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.listen = "0.0.0.0:0".parse().unwrap();
    let refused = Sandbox::start(config.clone()).await;
    assert!(matches!(refused, Err(SandboxError::NotLocal(_))));
    config.allow_sandbox = true;
    Sandbox::start(config.clone()).await.unwrap().shutdown().await;
    config.faults = FaultMix { declined_pct: 60, late_pct: 60, ..FaultMix::default() };
    assert!(matches!(Sandbox::start(config).await, Err(SandboxError::FaultsInvalid)));
}

#[tokio::test]
async fn sandbox_on_all_addresses_sends_buyers_to_one_of_them() {
    for (public_host, host) in [(None, "127.0.0.1"), (Some("tickets.example"), "tickets.example")] {
        let stage = Stage::start_with(|config| {
            config.listen = "0.0.0.0:0".parse().unwrap();
            config.allow_sandbox = true;
            config.public_host = public_host.map(str::to_owned);
        });
        let stage = stage.await;
        let port = stage.sandbox.address().port();
        assert_eq!(stage.sandbox.base_url(), format!("http://127.0.0.1:{port}"));
        let answer = stage.api("POST", "/v1/payments", "p", &body(&order("p"))).await;
        assert_eq!(answer.json()["url"], format!("http://{host}:{port}/pay/p"));
    }
}

#[tokio::test]
async fn two_sandboxes_cannot_share_a_directory() {
    let stage = Stage::start().await;
    let second = Sandbox::start(config(stage.file().parent().unwrap())).await;
    assert!(matches!(second, Err(SandboxError::File(_))));
}
