//! Paying: from the hold to the confirmed booking, and every way in which that goes wrong.

use crate::client::{Answer, Request};
use crate::shop::{Guest, Shop};
use onrush_base::config::GatewayName;
use onrush_core::hold::HoldStatus;
use onrush_core::saga::Stage;
use onrush_ledger::LedgerError;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::saga::Transition;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const GOOD_CARD: &str = "4242 4242 4242 4242";
pub(crate) const POOR_CARD: &str = "4000 0000 0000 0010";

/// A shop with the sandbox, and an event `e` whose ten standing places cost 25.00 each.
pub(crate) async fn paid_shop() -> Shop {
    let shop = Shop::start_with(|config| config.gateway = GatewayName::Sandbox).await;
    open_paid_event(&shop).await;
    shop
}

/// The event `e`, whose ten standing places cost 25.00 each.
pub(crate) async fn open_paid_event(shop: &Shop) {
    paid_event(shop, "e").await;
}

/// An event whose ten standing places cost 25.00 each.
pub(crate) async fn paid_event(shop: &Shop, event: &str) {
    let body = json!({"event": event, "title": "Paid", "currency": "EUR", "room": null, "max_per_user": 4,
        "fees": {"fixed_minor": 100, "percent_bp": 500}});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool(event, "ga", 10, 2_500).await;
    shop.organise_plainly(&format!("/events/{event}/open")).await;
}

impl Guest<'_> {
    /// Holds units of `ga` in event `e`; says the booking's id.
    pub(crate) async fn hold_ga(&self, key: &str, quantity: u32) -> String {
        self.hold("e", key, &json!({"pools": {"ga": quantity}})).await.expect(201).text("booking")
    }

    pub(crate) async fn pay(&self, booking: &str, key: &str) -> Answer {
        self.ask("POST", &format!("/bookings/{booking}/payment")).key(key).send().await
    }

    pub(crate) async fn booking(&self, booking: &str) -> Value {
        self.get(&format!("/bookings/{booking}")).await.expect(200).json()
    }

    /// Asks until the booking has a status: what the gateway tells goes its own way.
    pub(crate) async fn until_status(&self, booking: &str, status: &str) -> Value {
        let wait = async {
            loop {
                let now = self.booking(booking).await;
                if now["status"] == status {
                    return now;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait)
            .await
            .unwrap_or_else(|_| panic!("{booking} never became {status}"))
    }
}

/// Types a card into the sandbox's page and presses "pay".
pub(crate) async fn use_card(url: &str, card: &str) -> Answer {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    let form = format!("card={}&action=pay", card.replace(' ', ""));
    Request::new(host.parse().unwrap(), "POST", path)
        .header("Accept", "application/json")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await
}

async fn free(shop: &Shop) -> i64 {
    let answer = shop.ask("GET", "/events/e/availability").send().await;
    answer.expect(200).json()["pools"][0]["free"].as_i64().unwrap()
}

/// What the sandbox took and gave back.
async fn sandbox_totals(shop: &Shop) -> (i64, i64) {
    let totals = shop.server.sandbox().unwrap().totals().await.unwrap();
    (totals.captured_minor, totals.refunded_minor)
}

#[tokio::test]
async fn a_hold_that_is_paid_for_is_confirmed() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 2).await;
    let held = guest.booking(&booking).await;
    // 2 x 25.00, and 5 % of that and 1.00 on top.
    assert_eq!((&held["amount_minor"], &held["fee_minor"]), (&json!(5_350), &json!(350)));

    let payment = guest.pay(&booking, "p").await.expect(201).json();
    assert_eq!(payment["amount_minor"], 5_350);
    assert_eq!(payment["status"], "open");
    assert_eq!(guest.booking(&booking).await["status"], "paying");
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    let confirmed = guest.until_status(&booking, "confirmed").await;
    assert_eq!(confirmed["payment"], payment["payment"]);
    assert_eq!(free(&shop).await, 8);
    assert_eq!(sandbox_totals(&shop).await, (5_350, 0));
}

#[tokio::test]
async fn a_buyer_is_sent_to_a_sandbox_on_all_addresses_by_the_host_of_the_public_url() {
    let shop = Shop::start_with(|config| {
        config.gateway = GatewayName::Sandbox;
        config.allow_sandbox = true;
        config.sandbox.listen = "0.0.0.0:0".parse().unwrap();
        config.public_url = Some("http://tickets.example".into());
    });
    let shop = shop.await;
    open_paid_event(&shop).await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let pages =
        format!("http://tickets.example:{}/pay/", shop.server.sandbox().unwrap().address().port());
    assert!(payment["url"].as_str().unwrap().starts_with(&pages), "{payment}");
}

#[tokio::test]
async fn the_page_where_the_buyer_pays_leads_back_to_the_booking() {
    for public_url in [None, Some("https://tickets.example")] {
        let shop = Shop::start_with(|config| {
            config.gateway = GatewayName::Sandbox;
            config.public_url = public_url.map(str::to_owned);
        })
        .await;
        open_paid_event(&shop).await;
        let guest = shop.guest().await;
        let booking = guest.hold_ga("h", 1).await;
        let payment = guest.pay(&booking, "p").await.expect(201).json();
        assert_eq!(payment.get("publishable_key"), None);
        let rest = payment["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let page = Request::new(host.parse().unwrap(), "GET", path).send().await.expect(200);
        let here = format!("http://{}", shop.server.public_addr());
        let link = format!("href=\"{}/bookings/{booking}\"", public_url.unwrap_or(&here));
        let page = String::from_utf8(page.body).unwrap();
        assert!(page.contains(&link), "{link} is not in {page}");
    }
}

#[tokio::test]
async fn the_same_key_again_gives_the_same_answer_and_one_payment() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let first = guest.pay(&booking, "p").await.expect(201);
    let again = guest.pay(&booking, "p").await.expect(201);
    assert_eq!(first.body, again.body);
    let path = format!("/bookings/{booking}/payment");
    let buyer = json!({"buyer": {"name": "Ann", "email": "ann@post.example", "language": "en"}});
    let other = guest.ask("POST", &path).key("p").json(&buyer).send().await;
    assert_eq!(other.problem(), (422, "BOOKING_MISMATCH".into()));
    // Another key finds the payment that runs.
    let existing = guest.pay(&booking, "q").await.expect(200).json();
    assert_eq!(existing["payment"], first.json()["payment"]);
}

#[tokio::test]
async fn a_declined_payment_keeps_the_hold_for_another() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), POOR_CARD).await;
    guest.until_status(&booking, "held").await;
    let failed = guest.get(&format!("/bookings/{booking}/payment")).await.expect(200).json();
    assert_eq!(
        (&failed["status"], &failed["why"]),
        (&json!("failed"), &json!("insufficient_funds"))
    );

    let second = guest.pay(&booking, "p2").await.expect(201).json();
    assert_ne!(second["payment"], payment["payment"]);
    use_card(second["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    assert_eq!(sandbox_totals(&shop).await.0, 2_725);
}

#[tokio::test]
async fn a_hold_that_runs_out_cancels_its_payment() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    shop.clock.advance_ms(600_000);
    guest.until_status(&booking, "expired").await;
    let path = format!("/bookings/{booking}/payment");
    let failed = async {
        while guest.get(&path).await.expect(200).json()["status"] != "failed" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), failed).await.expect("the payment is cancelled");
    // The page takes no money for it any more.
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await;
    assert_eq!(sandbox_totals(&shop).await, (0, 0));
    assert_eq!(free(&shop).await, 10);
}

#[tokio::test]
async fn the_box_office_cannot_confirm_what_is_being_paid_for_online() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let path = format!("/events/e/bookings/{booking}/confirm");
    let till = shop.admin("POST", &path).json(&json!({"payment": "till-7"})).send().await;
    assert_eq!(till.problem(), (409, "PAYMENT_MISMATCH".into()));
    // Its number is on the organiser's page, and no money has been taken for it.
    let copied = shop.admin("POST", &path).json(&json!({"payment": payment["payment"]})).send();
    let copied = copied.await;
    assert_eq!(copied.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(copied.json()["field"], "payment");
    assert_eq!(guest.booking(&booking).await["status"], "paying");
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    let confirmed = guest.until_status(&booking, "confirmed").await;
    assert_eq!(confirmed["payment"], payment["payment"]);
}

#[tokio::test]
async fn the_box_office_cannot_confirm_with_the_payment_of_another_booking() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let (online, counter) = (guest.hold_ga("o", 1).await, guest.hold_ga("c", 1).await);
    let payment = guest.pay(&online, "p").await.expect(201).json();
    let path = format!("/events/e/bookings/{counter}/confirm");
    for status in ["paying", "confirmed"] {
        guest.until_status(&online, status).await;
        let copied = shop.admin("POST", &path).json(&json!({"payment": payment["payment"]})).send();
        let copied = copied.await;
        assert_eq!(copied.problem(), (422, "INVALID_BODY".into()), "{status}");
        assert_eq!(copied.json()["field"], "payment");
        use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await;
    }
    assert_eq!(guest.booking(&counter).await["status"], "held");
    // Numbers of its own may have dots, and look like those of payments online.
    let (till, alike) = ("till.7", format!("{online}.000000000000"));
    let confirmed = shop.organise("POST", &path, &json!({"payment": till})).await;
    assert_eq!(confirmed["payment"], till);
    let third = guest.hold_ga("d", 1).await;
    let path = format!("/events/e/bookings/{third}/confirm");
    let confirmed = shop.organise("POST", &path, &json!({"payment": alike})).await;
    assert_eq!(confirmed["payment"], alike);
}

#[tokio::test]
async fn what_was_paid_for_online_gets_no_buyer_from_a_box_office_that_is_refused() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    use_card(payment["url"].as_str().unwrap(), GOOD_CARD).await.expect(200);
    guest.until_status(&booking, "confirmed").await;
    let bob = json!({"name": "Bob", "email": "bob@post.example"});
    let path = format!("/events/e/bookings/{booking}/confirm");
    let body = json!({"payment": "till-9", "buyer": bob});
    let refused = shop.admin("POST", &path).json(&body).send().await;
    assert_eq!(refused.problem(), (409, "ALREADY_CONFIRMED".into()));
    let buyer = shop.server.ledger().buyer(&booking.parse().unwrap()).await.unwrap();
    assert_eq!(buyer.map(|buyer| buyer.name), None);
}

#[tokio::test]
async fn the_payment_that_is_shown_is_the_present_one() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let payment = guest.pay(&booking, "p").await.expect(201).json();
    let ledger = shop.server.ledger();
    let with_a_stray = async || {
        let record = ledger.saga_record(&booking.parse().unwrap()).await.unwrap().unwrap();
        let (mut saga, mut stray) = (record.saga, record.payments[0].clone());
        saga.version += 1;
        stray.payment = format!("{booking}.00000000stray").parse().unwrap();
        (stray.stage, stray.created_at) = (Stage::Void, stray.created_at.plus_ms(1));
        let transition = Transition {
            saga,
            payments: vec![stray],
            refunds: Vec::new(),
            buyer: None,
            note: "a stray payment".into(),
            messages: Vec::new(),
        };
        ledger.advance(transition).await
    };
    // Whoever follows the feed may write at the same moment.
    loop {
        match with_a_stray().await {
            Ok(_) => break,
            Err(LedgerError::Conflict) => continue,
            Err(error) => panic!("{error}"),
        }
    }
    let shown = guest.get(&format!("/bookings/{booking}/payment")).await.expect(200).json();
    assert_eq!(shown["payment"], payment["payment"]);
}

#[tokio::test]
async fn a_buyer_can_be_erased_when_the_engine_has_forgotten_the_booking() {
    let shop = paid_shop().await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let booking = guest.hold_ga("h", 1).await;
    let (id, ledger) = (booking.parse().unwrap(), shop.server.ledger());
    let [name, email, language] = ["Ann", "ann@post.example", "en"].map(str::to_owned);
    ledger.set_buyer(&id, &"ann".parse().unwrap(), Buyer { name, email, language }).await.unwrap();
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    let follows = async {
        let is_released = |known: &Booking| known.status == HoldStatus::Released;
        while !ledger.booking(&id).await.unwrap().as_ref().is_some_and(is_released) {
            tokio::task::yield_now().await;
        }
        shop.clock.advance_ms(25 * 3_600_000);
        // The ledger still shows the booking; tickets are the engine's alone.
        while guest.get(&format!("/bookings/{booking}/tickets")).await.status != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), follows).await.expect("it is forgotten");
    let path = format!("/bookings/{booking}/buyer");
    let stranger = other.ask("DELETE", &path).send().await;
    assert_eq!(stranger.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    for erased in [1, 0] {
        let answer = guest.ask("DELETE", &path).send().await.expect(200);
        assert_eq!(answer.json(), json!({"erased": erased}));
    }
    assert_eq!(ledger.buyer(&id).await.unwrap(), None);
}

#[tokio::test]
async fn a_refused_confirmation_leaves_no_buyer_behind() {
    let shop = paid_shop().await;
    let guest = shop.guest().await;
    let booking = guest.hold_ga("h", 1).await;
    let (id, ledger) = (booking.parse().unwrap(), shop.server.ledger());
    let buyer = |name: &str| json!({"name": name, "email": "ann@post.example", "language": "en"});
    let wish = json!({"buyer": buyer("Ann")});
    let path = format!("/bookings/{booking}/confirm");
    let refused = guest.ask("POST", &path).json(&wish).send().await;
    assert_eq!(refused.problem(), (402, "PAYMENT_REQUIRED".into()));
    assert_eq!(ledger.buyer(&id).await.unwrap(), None);
    let till = format!("/events/e/bookings/{booking}/confirm");
    let refused = shop.admin("POST", &till).json(&wish).send().await;
    assert_eq!(refused.problem(), (402, "PAYMENT_REQUIRED".into()));
    assert_eq!(ledger.buyer(&id).await.unwrap(), None);
    // Whoever was known before still is.
    let put = guest.ask("PUT", &format!("/bookings/{booking}/buyer"));
    put.json(&buyer("Bo")).send().await.expect(200);
    guest.ask("POST", &path).json(&wish).send().await.expect(402);
    assert_eq!(ledger.buyer(&id).await.unwrap().unwrap().name, "Bo");
}

#[tokio::test]
async fn a_visitor_names_the_buyer_of_their_own_live_bookings_only() {
    let shop = paid_shop().await;
    let (guest, other) = (shop.guest().await, shop.guest().await);
    let booking = guest.hold_ga("h", 1).await;
    let path = format!("/bookings/{booking}/buyer");
    let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
    let stranger = other.ask("PUT", &path).json(&buyer).send().await;
    assert_eq!(stranger.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    for _ in 0..2 {
        let named = guest.ask("PUT", &path).json(&buyer).send().await.expect(200);
        assert_eq!(named.json(), buyer);
    }
    let bad = json!({"name": "Ann", "email": "no address"});
    let bad = guest.ask("PUT", &path).json(&bad).send().await;
    assert_eq!(bad.problem(), (422, "INVALID_BODY".into()));
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    let late = guest.ask("PUT", &path).json(&buyer).send().await;
    assert_eq!(late.problem(), (409, "INVALID_STATUS".into()));
}
