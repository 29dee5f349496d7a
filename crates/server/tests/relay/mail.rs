//! Mail to buyers.

use crate::client::{Answer, Request};
use crate::shop::{Guest, Shop};
use crate::sink::Sink;
use base64::Engine as _;
use onrush::Config;
use onrush::config::GatewayName;
use onrush::relay::settings::{MailSettings, Tls};
use onrush_core::ids::BookingId;
use onrush_ledger::booking::{Buyer, BuyerOf};
use serde_json::{Value, json};

fn with_mail(config: &mut Config, sink: &Sink) {
    config.mail = Some(MailSettings {
        smtp: format!("127.0.0.1:{}", sink.port),
        tls: Tls::None,
        user: None,
        password: None,
        from: "Tickets <tickets@shop.example>".into(),
        reply_to: Some("help@shop.example".into()),
        booking_url: Some("https://shop.example/b/{booking}".into()),
    });
}

async fn shop(sink: &Sink) -> Shop {
    let shop = Shop::start_with(|config| with_mail(config, sink)).await;
    shop.flash_sale("e").await;
    shop
}

fn buyer(name: &str, email: &str, language: &str) -> Option<Buyer> {
    let [name, email, language] = [name, email, language].map(str::to_owned);
    Some(Buyer { name, email, language })
}

fn header<'m>(mail: &'m Value, name: &str) -> Option<&'m str> {
    let headers = mail["headers"].as_array().unwrap();
    let found = headers.iter().find(|header| header[0].as_str().unwrap() == name)?;
    found[1].as_str()
}

async fn codes(guest: &Guest<'_>, booking: &str) -> Vec<String> {
    let tickets = guest.get(&format!("/bookings/{booking}/tickets")).await.expect(200).json();
    let tickets = tickets["tickets"].as_array().unwrap().iter();
    tickets.map(|ticket| ticket["code"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_confirmed_booking_is_mailed_with_the_code_of_each_ticket() {
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}});
    let booking = guest.book(&wish, buyer("Ann Lee", "ann@post.example", "en-GB")).await;
    let mail = sink.next().await;
    assert_eq!(mail["to"], json!(["ann@post.example"]));
    assert_eq!(mail["from"], "tickets@shop.example");
    assert_eq!(mail["defects"], json!([]));
    assert_eq!(header(&mail, "Subject"), Some("Your tickets: Flash"));
    assert_eq!(header(&mail, "Reply-To"), Some("help@shop.example"));
    assert_eq!(header(&mail, "To"), Some("Ann Lee <ann@post.example>"));
    let id = header(&mail, "Message-ID").unwrap();
    assert!(id.starts_with("<e-") && id.ends_with("@shop.example>"), "{id}");
    let (text, html) = (mail["text"].as_str().unwrap(), mail["html"].as_str().unwrap());
    for said in ["Ann Lee", &booking, "2 × ga", "Ticket 2: ga", "https://shop.example/b/e."] {
        assert!(text.contains(said) && html.contains(said), "{said}: {text}\n{html}");
    }
    let codes = codes(&guest, &booking).await;
    assert_eq!(mail["pictures"].as_object().unwrap().len(), 2);
    for (index, code) in codes.iter().enumerate() {
        let name = format!("ticket-{}", index + 1);
        assert!(html.contains(&format!("src=\"cid:{name}\"")), "{html}");
        let picture = mail["pictures"][format!("<{name}>")].as_str().unwrap();
        let picture = base64::prelude::BASE64_STANDARD.decode(picture).unwrap();
        assert_eq!(picture, onrush::tickets::qr::png(code).unwrap(), "{name}");
    }
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_buyer_is_written_to_in_his_language_and_cannot_smuggle_headers() {
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let name = "แอน\r\nBcc: all@post.example\r\n\r\n<b>";
    guest.book(&json!({"pools": {"ga": 1}}), buyer(name, "ann@post.example", "th-TH")).await;
    let mail = sink.next().await;
    assert_eq!(mail["to"], json!(["ann@post.example"]));
    assert_eq!(header(&mail, "Subject"), Some("บัตรของคุณ: Flash"));
    assert_eq!(header(&mail, "Bcc"), None);
    let html = mail["html"].as_str().unwrap();
    assert!(html.contains("&lt;b&gt;") && !html.contains("<b>"), "{html}");
    assert_eq!(mail["defects"], json!([]));
}

#[tokio::test]
async fn whoever_was_forgotten_is_not_written_to() {
    let mut sink = Sink::start();
    sink.set_busy(true);
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    let booking = guest.book(&wish, buyer("Ann", "ann@post.example", "en")).await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    let id: BookingId = booking.parse().unwrap();
    shop.settled("mail").await.expect("it is tried again");
    shop.server.ledger().erase_buyer(BuyerOf::Booking(id)).await.unwrap();
    sink.set_busy(false);
    shop.pass_to_next("mail").await;
    assert_eq!(shop.settled("mail").await, None);
    // Nor whoever never said who he is.
    let other = shop.guest().await;
    other.book(&wish, None).await;
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_busy_server_gets_the_mail_later_with_the_same_id() {
    let mut sink = Sink::start();
    sink.set_busy(true);
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    guest.book(&json!({"pools": {"ga": 1}}), buyer("Ann", "ann@post.example", "en")).await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.pass_to_next("mail").await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");
    sink.set_busy(false);
    shop.pass_to_next("mail").await;
    assert_eq!(sink.next().await["to"], json!(["ann@post.example"]));
    assert_eq!(shop.settled("mail").await, None);
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_a_dead_letter_that_names_nobody_and_can_be_replayed() {
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    let booking = guest.book(&wish, buyer("Ann", "nobody@post.example", "en")).await;
    let dead = shop.dead("mail").await;
    assert_eq!(dead.len(), 1);
    assert_eq!((&dead[0]["kind"], &dead[0]["attempts"]), (&json!("booking_confirmed"), &json!(1)));
    assert_eq!(dead[0]["booking"], booking.as_str());
    let error = dead[0]["error"].as_str().unwrap();
    assert!(error.contains("550") || error.contains("not here"), "{error}");
    assert!(!dead[0].to_string().contains("nobody@"), "{dead:?}");

    let replay = |message: &str| {
        let body = json!({"channel": "mail", "message": message});
        shop.admin("POST", "/messages/replay").json(&body).send()
    };
    assert_eq!(replay("e-0-0").await.problem(), (404, "MESSAGE_NOT_FOUND".into()));
    let id: BookingId = booking.parse().unwrap();
    let better = buyer("Ann", "ann@post.example", "en").unwrap();
    shop.server.ledger().set_buyer(&id, better).await.unwrap();
    let message = dead[0]["message"].as_str().unwrap();
    assert_eq!(replay(message).await.expect(200).json(), json!({"replayed": 1}));
    let mail = sink.next().await;
    assert_eq!(mail["to"], json!(["ann@post.example"]));
    let message_id = format!("<{message}@shop.example>");
    assert_eq!(header(&mail, "Message-ID"), Some(message_id.as_str()));
    assert_eq!(shop.settled("mail").await, None);
    let other = json!({"channel": "webhook:none"});
    let other = shop.admin("POST", "/messages/replay").json(&other).send().await;
    assert_eq!(other.problem(), (404, "MESSAGE_NOT_FOUND".into()));
}

/// The link in a mail's text, behind this address.
fn link_behind(mail: &Value, address: &str) -> String {
    let text = mail["text"].as_str().unwrap();
    let at = text.find(address).unwrap_or_else(|| panic!("no {address}: {text}"));
    text[at + address.len()..].split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_confirmation_has_the_link_that_opens_the_booking_without_an_account() {
    for template in [None, Some("https://shop.example/b?id={booking}#{link}")] {
        let mut sink = Sink::start();
        let shop = Shop::start_with(|config| {
            with_mail(config, &sink);
            config.public_url = Some("https://tickets.example".into());
            config.mail.as_mut().unwrap().booking_url = template.map(str::to_owned);
        })
        .await;
        shop.flash_sale("e").await;
        let guest = shop.guest().await;
        let wish = json!({"pools": {"ga": 1}});
        let booking = guest.book(&wish, buyer("Ann", "ann@post.example", "th")).await;
        let mail = sink.next().await;
        let address = match template {
            None => format!("https://tickets.example/bookings/{booking}#"),
            Some(_) => format!("https://shop.example/b?id={booking}#"),
        };
        let link = link_behind(&mail, &address);
        let html = mail["html"].as_str().unwrap();
        assert!(html.contains(&format!("href=\"{address}{link}\" rel=\"noreferrer\"")), "{html}");
        for content in ["text", "html"] {
            assert!(mail[content].as_str().unwrap().contains("โดยไม่ต้องมีบัญชี"), "{mail}");
        }
        let path = format!("/bookings/{booking}/tickets");
        let tickets = shop.ask("GET", &path).bearer(&link).send().await.expect(200).json();
        assert_eq!(tickets, guest.get(&path).await.expect(200).json());
    }
}

#[tokio::test]
async fn a_mail_that_waited_has_the_link_that_counts_by_now() {
    let mut sink = Sink::start();
    sink.set_busy(true);
    let shop = Shop::start_with(|config| {
        with_mail(config, &sink);
        let page = "https://shop.example/b/{booking}#{link}";
        config.mail.as_mut().unwrap().booking_url = Some(page.into());
    })
    .await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    let booking = guest.book(&wish, buyer("Ann", "ann@post.example", "en")).await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");
    let path = format!("/bookings/{booking}/link");
    let fresh = guest.ask("POST", &path).send().await.expect(201).text("link");
    sink.set_busy(false);
    shop.pass_to_next("mail").await;
    let mail = sink.next().await;
    assert_eq!(link_behind(&mail, &format!("https://shop.example/b/{booking}#")), fresh);
}

/// Types a card into the sandbox's page and presses "pay".
async fn use_card(url: &str, card: &str) -> Answer {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap());
    Request::new(host.parse().unwrap(), "POST", path)
        .header("Accept", "application/json")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("card={card}&action=pay"))
        .send()
        .await
}

/// A shop that sends mail and takes money, and an event `e` whose ten standing places cost 25.00 each.
async fn paid_shop(sink: &Sink, never_pct: u32) -> Shop {
    let shop = Shop::start_with(|config| {
        with_mail(config, sink);
        config.gateway = GatewayName::Sandbox;
        config.sandbox.faults.never_pct = never_pct;
    })
    .await;
    let body = json!({"event": "e", "title": "Paid", "currency": "EUR", "room": null});
    shop.organise("POST", "/events", &body).await;
    shop.add_pool("e", "ga", 10, 2_500).await;
    shop.organise_plainly("/events/e/open").await;
    shop
}

impl Guest<'_> {
    /// Holds two places and pays for them; says the booking's id. That the money was taken may never be told.
    async fn pay_for_two(&self) -> String {
        let held = self.hold("e", "k", &json!({"pools": {"ga": 2}})).await.expect(201);
        let booking = held.text("booking");
        let pay = self.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
        let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
        let payment = pay.json(&json!({ "buyer": buyer })).send().await.expect(201);
        use_card(&payment.text("url"), "4242424242424242").await.expect(200);
        booking
    }
}

/// The next two mails, by their subjects.
async fn two_mails(sink: &mut Sink) -> [Value; 2] {
    let mut mails = [sink.next().await, sink.next().await];
    mails.sort_by_key(|mail| header(mail, "Subject").unwrap().to_owned());
    mails
}

#[tokio::test]
async fn money_that_comes_too_late_buys_the_places_or_goes_back_and_the_buyer_is_told_which() {
    for (closed, subject, said) in [
        (false, "Your tickets: Paid", "places were still free"),
        (true, "Your payment came too late: Paid", "Refund: 50.00 EUR"),
    ] {
        let mut sink = Sink::start();
        let shop = paid_shop(&sink, 100).await;
        let guest = shop.guest().await;
        guest.pay_for_two().await;
        // What a mail is about stands in the ledger once the feed was followed; else it is sent later, and time stands still.
        shop.settled("mail").await;
        if closed {
            shop.organise_plainly("/events/e/close").await;
        }
        shop.clock.advance_ms(600_000);
        shop.server.sagas().look();
        let mails = two_mails(&mut sink).await;
        let mut subjects = [subject, "Your reservation has run out: Paid"];
        subjects.sort_unstable();
        assert_eq!(mails.each_ref().map(|mail| header(mail, "Subject").unwrap()), subjects);
        let late = mails.iter().find(|mail| header(mail, "Subject") == Some(subject)).unwrap();
        assert!(late["text"].as_str().unwrap().contains(said), "{late}");
        assert_eq!(late["pictures"].as_object().unwrap().len(), if closed { 0 } else { 2 });
        assert_eq!(shop.settled("mail").await, None);
    }
}

#[tokio::test]
async fn a_paid_booking_that_is_cancelled_is_mailed_three_times() {
    let mut sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    let guest = shop.guest().await;
    let booking = guest.pay_for_two().await;
    let confirmed = sink.next().await;
    assert_eq!(header(&confirmed, "Subject"), Some("Your tickets: Paid"));
    assert!(confirmed["text"].as_str().unwrap().contains("50.00 EUR"), "{confirmed}");
    assert_eq!(confirmed["pictures"].as_object().unwrap().len(), 2);

    shop.cancel(&booking).await;
    let [cancelled, refunded] = &two_mails(&mut sink).await;
    assert_eq!(header(cancelled, "Subject"), Some("Your booking is cancelled: Paid"));
    assert_eq!(header(refunded, "Subject"), Some("Your refund: Paid"));
    for (mail, said) in [
        (cancelled, "Reason: rain"),
        (cancelled, "Refund: 50.00 EUR"),
        (refunded, "Refund: 50.00 EUR"),
    ] {
        assert!(mail["text"].as_str().unwrap().contains(said), "{said}: {mail}");
        assert_eq!(mail["pictures"], json!({}));
    }
    assert_eq!(shop.settled("mail").await, None);
}

#[tokio::test]
async fn a_hold_that_nobody_began_to_pay_for_ends_without_a_mail() {
    let sink = Sink::start();
    let shop = shop(&sink).await;
    shop.add_pool("e", "paid", 5, 2_500).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"paid": 1}})).await.expect(201);
    let booking = held.text("booking");
    let ann = buyer("Ann", "ann@post.example", "en").unwrap();
    shop.server.ledger().set_buyer(&booking.parse().unwrap(), ann).await.unwrap();
    shop.clock.advance_ms(600_000);
    let view = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(view["status"], "expired");
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}
