//! Mail to buyers.

use crate::client::{Answer, Request};
use crate::shop::{Guest, Shop};
use crate::sink::Sink;
use base64::Engine as _;
use onrush_base::config::kinds::{
    BOOKING_CANCELLED, BOOKING_CONFIRMED, BOOKING_EXPIRED, BOOKING_REFUNDED, PAYMENT_LATE_REFUNDED,
};
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_base::config::{CertificateSettings, Config, GatewayName};
use onrush_base::tickets::{Kind, Ticket, Unit};
use onrush_core::ids::BookingId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::tax::Tax;
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_relay::letter::{Facts, RefundBy, compose};
use onrush_testkit::golden;
use serde_json::{Value, json};

pub(crate) fn with_mail(config: &mut Config, sink: &Sink) {
    config.mail = Some(MailSettings {
        smtp: format!("127.0.0.1:{}", sink.port),
        tls: Tls::None,
        user: None,
        password: None,
        from: "Tickets <tickets@shop.example>".into(),
        reply_to: Some("help@shop.example".into()),
        booking_url: Some("https://shop.example/b/{booking}".into()),
        certificates: CertificateSettings::default(),
    });
}

async fn shop(sink: &Sink) -> Shop {
    let shop = Shop::start_with(|config| with_mail(config, sink)).await;
    shop.flash_sale("e").await;
    shop
}

pub(crate) fn buyer(name: &str, email: &str, language: &str) -> Option<Buyer> {
    let [name, email, language] = [name, email, language].map(str::to_owned);
    Some(Buyer { name, email, language })
}

pub(crate) fn header<'m>(mail: &'m Value, name: &str) -> Option<&'m str> {
    let headers = mail["headers"].as_array().unwrap();
    let found = headers.iter().find(|header| header[0].as_str().unwrap() == name)?;
    found[1].as_str()
}

pub(crate) async fn codes(guest: &Guest<'_>, booking: &str) -> Vec<String> {
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
    assert_eq!(header(&mail, "To"), Some("ann@post.example"));
    let id = header(&mail, "Message-ID").unwrap();
    assert!(id.starts_with("<e-") && id.ends_with("@shop.example>"), "{id}");
    let (text, html) = (mail["text"].as_str().unwrap(), mail["html"].as_str().unwrap());
    for said in ["Hello,", &booking, "2 × ga", "Ticket 2: ga", "https://shop.example/b/e."] {
        assert!(text.contains(said) && html.contains(said), "{said}: {text}\n{html}");
    }
    // Nothing was paid: what the buyer typed is not repeated.
    assert!(!text.contains("Ann") && !html.contains("Ann"), "{text}");
    let codes = codes(&guest, &booking).await;
    assert_eq!(mail["pictures"].as_object().unwrap().len(), 2);
    for (index, code) in codes.iter().enumerate() {
        let name = format!("ticket-{}", index + 1);
        assert!(html.contains(&format!("src=\"cid:{name}\"")), "{html}");
        let picture = mail["pictures"][format!("<{name}>")].as_str().unwrap();
        let picture = base64::prelude::BASE64_STANDARD.decode(picture).unwrap();
        assert_eq!(picture, onrush_base::tickets::qr::png(code).unwrap(), "{name}");
    }
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_buyer_is_written_to_in_his_language_and_cannot_smuggle_headers() {
    let mut sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    let guest = shop.guest().await;
    for (key, name, is_greeted) in
        [("k1", "แอน\r\nBcc: all@post.example\r\n\r\n<b>", false), ("k2", "แอน\r\n\r\n<b>", true)]
    {
        let held = guest.hold("e", key, &json!({"pools": {"ga": 1}})).await.expect(201);
        let booking = held.text("booking");
        let thai = buyer(name, "ann@post.example", "th-TH").unwrap();
        shop.server
            .ledger()
            .set_buyer(&booking.parse().unwrap(), &"ann".parse().unwrap(), thai)
            .await
            .unwrap();
        let path = format!("/events/e/bookings/{booking}/confirm");
        shop.organise("POST", &path, &json!({"payment": "till-1"})).await;
        let mail = sink.next().await;
        assert_eq!(mail["to"], json!(["ann@post.example"]));
        assert_eq!(header(&mail, "Subject"), Some("ตั๋วของคุณ: Paid"));
        assert_eq!(header(&mail, "Bcc"), None);
        let html = mail["html"].as_str().unwrap();
        assert_eq!(html.contains("&lt;b&gt;"), is_greeted, "{html}");
        assert!(!html.contains("<b>"), "{html}");
        assert_eq!(mail["defects"], json!([]));
    }
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
    // Nor whoever never said who they are.
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
    shop.server.ledger().set_buyer(&id, &"ann".parse().unwrap(), better).await.unwrap();
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
pub(crate) fn link_behind(mail: &Value, address: &str) -> String {
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
        let (booking, url) = self.begin_to_pay("ann@post.example").await;
        use_card(&url, "4242424242424242").await.expect(200);
        booking
    }

    /// Holds two places and begins to pay for them; says the booking's id and the sandbox's page.
    async fn begin_to_pay(&self, email: &str) -> (String, String) {
        let held = self.hold("e", "k", &json!({"pools": {"ga": 2}})).await.expect(201);
        let booking = held.text("booking");
        let pay = self.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
        let buyer = json!({"name": "Ann", "email": email, "language": "en"});
        let payment = pay.json(&json!({ "buyer": buyer })).send().await.expect(201);
        (booking, payment.text("url"))
    }
}

/// The next two mails, by their subjects.
async fn two_mails(sink: &mut Sink) -> [Value; 2] {
    let mut mails = [sink.next().await, sink.next().await];
    mails.sort_by_key(|mail| header(mail, "Subject").unwrap().to_owned());
    mails
}

#[tokio::test]
async fn money_that_comes_too_late_buys_the_places_or_goes_back_and_one_mail_tells_which() {
    for (closed, subject, said) in [
        (false, "Your tickets: Paid", "places were still free"),
        (true, "Your payment came too late: Paid", "Refund: 50.00 EUR"),
    ] {
        let mut sink = Sink::start();
        let shop = paid_shop(&sink, 100).await;
        let guest = shop.guest().await;
        guest.pay_for_two().await;
        if closed {
            shop.organise_plainly("/events/e/close").await;
        }
        shop.run_out(1).await;
        // That it ran out waits for the money's fate, which is told instead.
        shop.everything_told().await;
        let late = sink.next().await;
        assert_eq!(header(&late, "Subject"), Some(subject));
        let text = late["text"].as_str().unwrap();
        assert!(text.contains(said), "{late}");
        // Nobody else has bought them: what is closed sells nothing.
        assert!(!text.contains("places were gone"), "{late}");
        assert_eq!(late["pictures"].as_object().unwrap().len(), if closed { 0 } else { 2 });
        shop.everything_told().await;
        assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_payment_that_was_begun_and_never_tried_brings_no_mail_to_a_stranger() {
    let sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    for _ in 0..3 {
        shop.guest().await.begin_to_pay("stranger@post.example").await;
    }
    shop.run_out(3).await;
    shop.everything_told().await;
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn declined_buyers_are_told_once_a_day_that_their_time_ran_out_and_by_no_name() {
    let mut sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    for email in ["ann@post.example", "ANN@post.example", "ann+1@Post.Example"] {
        let (booking, url) = shop.guest().await.begin_to_pay(email).await;
        // Declined: the sandbox's page says so with 402 or shows it, and its webhook tells the shop.
        drop(use_card(&url, "4000000000000010").await);
        let id: BookingId = booking.parse().unwrap();
        crate::told::until("the decline is known", async || {
            let history = shop.server.ledger().history(&id).await.unwrap();
            history.iter().any(|line| line.note.contains("declined")).then_some(())
        })
        .await;
    }
    shop.run_out(3).await;
    shop.everything_told().await;
    let mail = sink.next().await;
    assert_eq!(header(&mail, "Subject"), Some("Your reservation has run out: Paid"));
    assert!(!header(&mail, "To").unwrap().contains('<'), "{mail}");
    assert!(mail["text"].as_str().unwrap().starts_with("Hello,"), "{mail}");
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn booking_and_cancelling_free_places_writes_to_an_address_once_and_the_organiser_still_can()
{
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let wish = json!({"pools": {"ga": 1}});
    let mut bookings = Vec::new();
    for _ in 0..3 {
        let guest = shop.guest().await;
        bookings.push(guest.book(&wish, buyer("Ann", "ann@post.example", "en")).await);
    }
    shop.everything_told().await;
    assert_eq!(header(&sink.next().await, "Subject"), Some("Your tickets: Flash"));
    shop.cancel(&bookings[0]).await;
    let cancelled = sink.next().await;
    assert_eq!(header(&cancelled, "Subject"), Some("Your booking is cancelled: Flash"));
    assert!(!cancelled["text"].as_str().unwrap().contains("Ann"), "{cancelled}");
    shop.everything_told().await;
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_paid_booking_that_is_cancelled_is_mailed_three_times() {
    let mut sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    let guest = shop.guest().await;
    let booking = guest.pay_for_two().await;
    let confirmed = sink.next().await;
    assert_eq!(header(&confirmed, "Subject"), Some("Your tickets: Paid"));
    assert_eq!(header(&confirmed, "To"), Some("Ann <ann@post.example>"));
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
    shop.server
        .ledger()
        .set_buyer(&booking.parse().unwrap(), &"ann".parse().unwrap(), ann)
        .await
        .unwrap();
    shop.clock.advance_ms(600_000);
    let view = guest.get(&format!("/bookings/{booking}")).await.expect(200).json();
    assert_eq!(view["status"], "expired");
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

/// The next mail's subject and receiver, once everything is sent.
async fn one_mail(shop: &Shop, mut sink: Sink) -> (String, Value) {
    shop.everything_told().await;
    let mail = sink.next().await;
    let subject = header(&mail, "Subject").unwrap().to_owned();
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
    (subject, mail["to"].clone())
}

#[tokio::test]
async fn a_free_booking_is_confirmed_with_its_buyer_and_mailed() {
    let sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let confirm = guest.ask("POST", &format!("/bookings/{booking}/confirm"));
    let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "de"});
    confirm.json(&json!({ "buyer": buyer })).send().await.expect(200);
    let (subject, to) = one_mail(&shop, sink).await;
    assert_eq!((subject.as_str(), to), ("Your tickets: Flash", json!(["ann@post.example"])));
}

#[tokio::test]
async fn what_the_box_office_sells_is_mailed_to_its_buyer() {
    let sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let path = format!("/events/e/bookings/{}/confirm", held.text("booking"));
    let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
    shop.organise("POST", &path, &json!({"payment": "till-1", "buyer": buyer})).await;
    let (subject, to) = one_mail(&shop, sink).await;
    assert_eq!((subject.as_str(), to), ("Your tickets: Paid", json!(["ann@post.example"])));
}

#[tokio::test]
async fn a_buyer_who_was_named_before_the_payment_began_is_mailed() {
    let sink = Sink::start();
    let shop = paid_shop(&sink, 0).await;
    let guest = shop.guest().await;
    let held = guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
    let booking = held.text("booking");
    let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
    let put = guest.ask("PUT", &format!("/bookings/{booking}/buyer"));
    assert_eq!(put.json(&buyer).send().await.expect(200).json(), buyer);
    let pay = guest.ask("POST", &format!("/bookings/{booking}/payment")).key("p");
    let url = pay.send().await.expect(201).text("url");
    use_card(&url, "4242424242424242").await.expect(200);
    let mut sink = sink;
    assert_eq!(sink.next().await["to"], json!(["ann@post.example"]));
}

#[tokio::test]
async fn a_seat_sold_over_the_paths_of_s3_is_mailed() {
    let mut sink = Sink::start();
    let shop = Shop::start_with(|config| {
        with_mail(config, &sink);
        config.gateway = GatewayName::Sandbox;
        config.booking_paths = true;
    })
    .await;
    let body = json!({"event": "s", "title": "Seats", "currency": "EUR", "room": {}});
    shop.organise("POST", "/events", &body).await;
    let seat = json!({"seat_guid": "A-1", "seat_number": "1", "position": {"x": 1, "y": 0},
        "category": "Stalls"});
    let plan = json!({"name": "Small house", "size": {"width": 50, "height": 20},
        "categories": [{"name": "Stalls", "color": "#aa3333"}],
        "zones": [{"name": "Floor", "position": {"x": 1, "y": 2}, "zone_id": "z", "rows": [
            {"row_number": "A", "position": {"x": 0, "y": 5}, "seats": [seat]}]}]});
    let body = json!({"plan": plan, "prices": {"Stalls": 2_500}});
    shop.organise("PUT", "/events/s/seat-map", &body).await;
    shop.organise_plainly("/events/s/open").await;
    let guest = shop.guest().await;
    let s3 = |method: &str, path: &str| {
        let path = format!("/api/booking/{path}");
        Request::new(shop.server.public_addr(), method, &path).bearer(&guest.token)
    };
    s3("POST", "request").json(&json!({"event_id": "s"})).send().await.expect(200);
    crate::told::until("the visitor is in", async || {
        let now = s3("GET", "position?event_id=s").send().await.expect(200).json();
        (now["state"] == "active").then_some(())
    })
    .await;
    let wish = json!({"event_id": "s", "seat_id": "A-1"});
    s3("POST", "select-seat").json(&wish).send().await.expect(200);
    let buyer = json!({"name": "Ann", "email": "ann@post.example", "language": "en"});
    let wish = json!({"event_id": "s", "buyer": buyer});
    let url = s3("POST", "payment/initiate").json(&wish).send().await.expect(200);
    use_card(&url.text("payment_url"), "4242424242424242").await.expect(200);
    let mail = sink.next().await;
    assert_eq!(header(&mail, "Subject"), Some("Your tickets: Seats"));
    assert_eq!(mail["to"], json!(["ann@post.example"]));
}

#[test]
fn mails_say_what_they_said_in_every_language() {
    let lines = vec![PoolLine { pool: "ga".parse().unwrap(), quantity: 1 }];
    let lines = Lines::new(lines, vec!["A-1".parse().unwrap()]).unwrap();
    let child = Kind { name: "Child".into(), proof: true };
    let units = [
        (Unit::Pool("ga".parse().unwrap()), Some(child)),
        (Unit::Seat("A-1".parse().unwrap()), None),
    ];
    let ticket = |(number, (unit, kind))| Ticket { number, unit, kind, code: "c".into() };
    let tickets: Vec<_> = (1..).zip(units).map(ticket).collect();
    let kinds = [
        (BOOKING_CONFIRMED, false),
        (BOOKING_CONFIRMED, true),
        (BOOKING_EXPIRED, false),
        (BOOKING_CANCELLED, false),
        (BOOKING_REFUNDED, false),
        (PAYMENT_LATE_REFUNDED, false),
        (PAYMENT_LATE_REFUNDED, true),
    ];
    let tax = Tax { name: "VAT".into(), rate_bp: 700 };
    let mut told = String::new();
    for language in ["en", "th", "vi", "ko", "id"] {
        for (kind, late) in kinds {
            let is_cancelled = kind == BOOKING_CANCELLED;
            let facts = Facts {
                kind,
                language,
                name: if is_cancelled { "" } else { "Ann" },
                title: "Winter tour",
                venue: "Arena",
                booking: "e.1",
                lines: &lines,
                amount_minor: 12_500,
                fee_minor: 500,
                tax: Some(tax.clone()),
                currency: "EUR".parse().unwrap(),
                refund_minor: if kind == BOOKING_CONFIRMED { 0 } else { 12_000 },
                refund_by: RefundBy::Gateway,
                why: if is_cancelled { "rain" } else { "" },
                late,
                booked: late,
                tickets: if kind == BOOKING_CONFIRMED { &tickets } else { &[] },
                url: Some("https://shop.example/b/e.1"),
                url_is_secret: true,
            };
            let letter = compose(&facts).expect("there is one of each");
            told += &format!("== {language}: {kind}\n{}\n\n{}\n", letter.subject, letter.text);
            if kind == BOOKING_CONFIRMED && !late {
                told += &format!("{}\n\n", letter.html);
            }
        }
    }
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mails.txt"), &told);
}
