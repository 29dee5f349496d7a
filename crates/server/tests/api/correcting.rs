//! The organiser corrects who bought, and has the confirmation sent again: who may, and when not.

use crate::scopes::{key_of, named};
use crate::shop::{Guest, Shop};
use onrush_base::config::CertificateSettings;
use onrush_base::config::keys::Scope;
use onrush_base::config::relay::{MailSettings, Tls};
use serde_json::{Value, json};

/// A shop where accounts may do what is about money, and the box office everything else.
async fn shop(mail: Option<MailSettings>) -> Shop {
    let shop = Shop::start_with(|config| {
        let others = [Scope::Read, Scope::Sell, Scope::Stock, Scope::Door];
        config.keys.push(named("box-office", &others));
        config.keys.push(named("accounts", &[Scope::Money]));
        config.mail = mail;
    })
    .await;
    shop.flash_sale("e").await;
    shop
}

/// Settings of a mail server that is never asked for anything.
fn mail() -> MailSettings {
    MailSettings {
        smtp: "mail.example:25".into(),
        tls: Tls::None,
        user: None,
        password: None,
        from: "Tickets <tickets@shop.example>".into(),
        reply_to: None,
        booking_url: Some("https://shop.example/b/{booking}#{link}".into()),
        certificates: CertificateSettings::default(),
    }
}

fn ann(email: &str) -> Value {
    json!({"name": "Ann Lee", "email": email, "language": "en"})
}

/// The same in the place of whoever had this address.
fn ann_for(was: Option<&str>, email: &str) -> Value {
    json!({"name": "Ann Lee", "email": email, "language": "en", "was": was})
}

impl Guest<'_> {
    async fn hold_one(&self, key: &str) -> String {
        self.hold("e", key, &json!({"pools": {"ga": 1}})).await.expect(201).text("booking")
    }

    async fn confirm(&self, booking: &str) {
        self.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
    }
}

/// The address that is known for a booking.
async fn address(shop: &Shop, booking: &str) -> Option<String> {
    let buyer = shop.server.ledger().buyer(&booking.parse().unwrap()).await.unwrap();
    buyer.map(|buyer| buyer.email)
}

#[tokio::test]
async fn whoever_may_do_what_is_about_money_corrects_a_buyer_and_nobody_else() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    let path = format!("/admin/bookings/{booking}/buyer");
    let correct =
        |key: &str, buyer: &Value| shop.ask("PUT", &path).bearer(&key_of(key)).json(buyer).send();
    let refused = correct("box-office", &ann_for(None, "eve@post.example")).await;
    assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
    assert_eq!(refused.json()["scope"], "money");
    let mail = shop.ask("POST", &format!("/admin/bookings/{booking}/mail"));
    let refused = mail.bearer(&key_of("box-office")).key("k").send().await;
    assert_eq!(refused.problem(), (403, "SCOPE_MISSING".into()));
    assert_eq!(address(&shop, &booking).await, None);

    let mut was = None;
    for email in ["ann@exmaple.example", "ann@post.example"] {
        let named = correct("accounts", &ann_for(was, email)).await.expect(200);
        assert_eq!(named.json(), ann(email));
        assert_eq!(address(&shop, &booking).await.as_deref(), Some(email));
        was = Some(email);
    }
    guest.confirm(&booking).await;
    correct("accounts", &ann_for(was, "lee@post.example")).await.expect(200);
    assert_eq!(address(&shop, &booking).await.as_deref(), Some("lee@post.example"));
    let bad = correct("accounts", &ann_for(was, "no address")).await;
    assert_eq!(bad.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(bad.json()["field"], "email");

    // A row for each, which says who did it to which booking and not who bought.
    let rows = shop.admin("GET", "/actions?event=e&name=accounts").send().await.expect(200).json();
    let rows = rows["actions"].as_array().unwrap();
    let mut done: Vec<_> = rows.iter().map(|row| row["status"].as_u64()).collect();
    done.sort_unstable();
    assert_eq!(done, [200, 200, 200, 422].map(Some));
    for row in rows {
        assert_eq!(
            (&row["method"], &row["path"]),
            (&json!("PUT"), &json!(format!("/api/v1{path}")))
        );
        assert!(!row.to_string().contains('@'), "{row}");
    }
}

#[tokio::test]
async fn nobody_is_named_for_what_is_over_or_was_never_held() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    let correct = |booking: &str| {
        let path = format!("/bookings/{booking}/buyer");
        shop.admin("PUT", &path).json(&ann_for(None, "ann@post.example")).send()
    };
    guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
    let refused = correct(&booking).await;
    assert_eq!(refused.problem(), (409, "INVALID_STATUS".into()));
    assert_eq!(refused.json()["booking_status"], "released");
    assert_eq!(address(&shop, &booking).await, None);
    let zeros = "0".repeat(32);
    for unknown in [format!("e.{zeros}"), format!("elsewhere.{zeros}"), "x".into()] {
        let refused = correct(&unknown).await;
        assert_eq!(refused.problem(), (404, "RESERVATION_NOT_FOUND".into()), "{unknown}");
    }
}

#[tokio::test]
async fn a_link_ends_with_the_address_that_it_went_to() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    guest.confirm(&booking).await;
    let correct = async |buyer: &Value| {
        shop.organise("PUT", &format!("/bookings/{booking}/buyer"), buyer).await;
    };
    let path = format!("/bookings/{booking}");
    let link = async || guest.get(&format!("{path}/link")).await.expect(200).text("link");
    let open = async |link: &str| shop.ask("GET", &path).bearer(link).send().await;
    let first = link().await;
    let wrong = "ann@exmaple.example";
    correct(&ann_for(None, wrong)).await;
    correct(&json!({"name": "Ann B. Lee", "email": wrong, "was": wrong})).await;
    open(&first).await.expect(200);
    correct(&ann_for(Some(wrong), "ann@post.example")).await;
    assert_eq!(open(&first).await.problem(), (401, "LINK_WITHDRAWN".into()));
    // Whose booking it is has not changed.
    let fresh = link().await;
    open(&fresh).await.expect(200);
    correct(&ann_for(Some("ann@post.example"), "ann@post.example")).await;
    open(&fresh).await.expect(200);
}

#[tokio::test]
async fn a_link_that_went_to_an_address_ends_when_its_visitor_names_another_one() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    let path = format!("/bookings/{booking}");
    let name = async |email: &str| {
        guest.ask("PUT", &format!("{path}/buyer")).json(&ann(email)).send().await.expect(200);
    };
    let link = async || guest.get(&format!("{path}/link")).await.expect(200).text("link");
    let open = async |link: &str| shop.ask("GET", &path).bearer(link).send().await;
    name("ann@exmaple.example").await;
    guest.confirm(&booking).await;
    let lost = link().await;
    name("ann@exmaple.example").await;
    open(&lost).await.expect(200);
    name("ann@post.example").await;
    for (method, path) in [("GET", path.clone()), ("GET", format!("{path}/link"))] {
        let refused = shop.ask(method, &path).bearer(&lost).send().await;
        assert_eq!(refused.problem(), (401, "LINK_WITHDRAWN".into()), "{path}");
    }
    // Their own page asks with their token, and has the new one.
    guest.get(&path).await.expect(200);
    let fresh = link().await;
    assert_ne!(fresh, lost);
    open(&fresh).await.expect(200);
}

#[tokio::test]
async fn of_two_who_correct_a_buyer_the_later_one_does_not_bring_the_wrong_address_back() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    guest.confirm(&booking).await;
    let path = format!("/bookings/{booking}/buyer");
    let correct = |body: &Value| shop.admin("PUT", &path).json(body).send();
    let without = correct(&ann("ann@exmaple.example")).await;
    assert_eq!(without.problem(), (422, "INVALID_BODY".into()));
    assert_eq!(without.json()["field"], "was");
    correct(&ann_for(None, "ann@exmaple.example")).await.expect(200);
    // Two have read it. One corrects the address, and the other one the name.
    let read = Some("ann@exmaple.example");
    let renamed = json!({"name": "Ann B. Lee", "email": read, "was": read});
    let right = ann_for(read, "ann@post.example");
    correct(&right).await.expect(200);
    for late in [&renamed, &ann_for(None, "bo@post.example")] {
        assert_eq!(correct(late).await.problem(), (409, "BUYER_CHANGED".into()));
    }
    let link = guest.get(&format!("/bookings/{booking}/link")).await.expect(200).text("link");
    // Asked again by whoever did not hear the answer, it is done.
    correct(&right).await.expect(200);
    assert_eq!(address(&shop, &booking).await.as_deref(), Some("ann@post.example"));
    let open = shop.ask("GET", &format!("/bookings/{booking}")).bearer(&link).send().await;
    open.expect(200);
}

#[tokio::test]
async fn a_confirmation_is_sent_again_for_what_is_confirmed_and_to_whoever_is_known() {
    for (settings, code) in [(None, "MAIL_OFF"), (Some(mail()), "BUYER_NOT_KNOWN")] {
        let shop = shop(settings).await;
        let guest = shop.guest().await;
        let booking = guest.hold_one("k").await;
        let again = |booking: &str| shop.admin("POST", &format!("/bookings/{booking}/mail"));
        let refused = again(&booking).send().await;
        assert_eq!(refused.problem(), (400, "IDEMPOTENCY_KEY_REQUIRED".into()));
        let refused = again(&booking).key("k").send().await;
        assert_eq!(refused.problem(), (409, "INVALID_STATUS".into()));
        guest.confirm(&booking).await;
        assert_eq!(again(&booking).key("k").send().await.problem(), (409, code.into()));
        let refused = again(&format!("e.{}", "0".repeat(32))).key("k").send().await;
        assert_eq!(refused.problem(), (404, "RESERVATION_NOT_FOUND".into()));
    }
}

#[tokio::test]
async fn the_box_office_names_the_buyer_of_what_it_confirms_and_of_nothing_that_is_confirmed() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let [booking, other] = [guest.hold_one("k").await, guest.hold_one("l").await];
    let confirm = |booking: &str, body: &Value| {
        let path = format!("/admin/events/e/bookings/{booking}/confirm");
        shop.ask("POST", &path).bearer(&key_of("box-office")).json(body).send()
    };
    let (to_ann, to_eve) = (ann("ann@post.example"), ann("eve@post.example"));
    let first = confirm(&booking, &json!({ "buyer": to_ann })).await.expect(200).json();
    // The same again, as whoever did not hear the answer asks.
    for body in [json!({ "buyer": to_ann }), json!({})] {
        assert_eq!(confirm(&booking, &body).await.expect(200).json(), first);
    }
    // Nor of what others confirmed, although nobody is known to have bought it.
    guest.confirm(&other).await;
    for (booking, known) in [(&booking, Some("ann@post.example")), (&other, None)] {
        let refused = confirm(booking, &json!({ "buyer": to_eve })).await;
        assert_eq!(refused.problem(), (409, "ALREADY_CONFIRMED".into()));
        assert_eq!(address(&shop, booking).await.as_deref(), known);
    }
}

#[tokio::test]
async fn a_late_repeat_of_a_confirmation_does_not_bring_the_buyer_of_before_back() {
    let shop = shop(None).await;
    let guest = shop.guest().await;
    let booking = guest.hold_one("k").await;
    let wrong = "ann@exmaple.example";
    let confirm = || {
        let request = guest.ask("POST", &format!("/bookings/{booking}/confirm"));
        request.json(&json!({ "buyer": ann(wrong) })).send()
    };
    let first = confirm().await.expect(200).json();
    assert_eq!(address(&shop, &booking).await.as_deref(), Some(wrong));
    let right = ann_for(Some(wrong), "ann@post.example");
    shop.organise("PUT", &format!("/bookings/{booking}/buyer"), &right).await;
    let link = guest.get(&format!("/bookings/{booking}/link")).await.expect(200).text("link");
    assert_eq!(confirm().await.expect(200).json(), first);
    assert_eq!(address(&shop, &booking).await.as_deref(), Some("ann@post.example"));
    let open = shop.ask("GET", &format!("/bookings/{booking}")).bearer(&link).send();
    open.await.expect(200);
    // Nor does it bring back whoever asked to be forgotten.
    let erase = guest.ask("DELETE", &format!("/bookings/{booking}/buyer"));
    erase.send().await.expect(200);
    assert_eq!(confirm().await.expect(200).json(), first);
    assert_eq!(address(&shop, &booking).await, None);
}

#[tokio::test]
async fn a_confirmation_that_lacks_its_payment_names_nobody_and_ends_no_links() {
    let shop = shop(None).await;
    shop.add_pool("e", "paid", 5, 4_200).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 1}})).await.expect(201);
    let booking = held.text("booking");
    let path = format!("/bookings/{booking}");
    let put = guest.ask("PUT", &format!("{path}/buyer")).json(&ann("ann@post.example"));
    put.send().await.expect(200);
    let link = guest.get(&format!("{path}/link")).await.expect(200).text("link");
    let confirm = guest.ask("POST", &format!("{path}/confirm"));
    let refused = confirm.json(&json!({ "buyer": ann("bo@post.example") })).send().await;
    assert_eq!(refused.problem(), (402, "PAYMENT_REQUIRED".into()));
    assert_eq!(address(&shop, &booking).await.as_deref(), Some("ann@post.example"));
    shop.ask("GET", &path).bearer(&link).send().await.expect(200);
}
