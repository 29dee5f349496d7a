//! A buyer without a ticket: the organiser corrects their address, and has the confirmation sent again.

use crate::mail::{buyer, codes, header, link_behind, with_mail};
use crate::shop::Shop;
use crate::sink::Sink;
use base64::Engine as _;
use serde_json::{Value, json};

const MISTYPED: &str = "ann@exmaple.example";
const RIGHT: &str = "ann@post.example";

/// A shop whose mails have links, with the event `e` free of charge: what a limit holds back first.
async fn shop(sink: &Sink) -> Shop {
    let shop = Shop::start_with(|config| {
        with_mail(config, sink);
        let page = "https://shop.example/b/{booking}#{link}";
        config.mail.as_mut().unwrap().booking_url = Some(page.into());
    })
    .await;
    shop.flash_sale("e").await;
    shop
}

impl Shop {
    async fn correct(&self, booking: &str) {
        let right = json!({"name": "Ann Lee", "email": RIGHT, "language": "en"});
        let mut correction = right.clone();
        correction["was"] = json!(MISTYPED);
        let named = self.organise("PUT", &format!("/bookings/{booking}/buyer"), &correction).await;
        assert_eq!(named, right);
    }

    /// Has the confirmation sent again; says the message's id.
    async fn mail_again(&self, booking: &str, key: &str) -> String {
        let request = self.admin("POST", &format!("/bookings/{booking}/mail")).key(key);
        request.send().await.expect(202).text("message")
    }

    /// Checks that a mail went to the right address alone, with the link that opens the booking now.
    async fn check(&self, mail: &Value, booking: &str) {
        assert_eq!(mail["to"], json!([RIGHT]));
        assert_eq!(header(mail, "Subject"), Some("Your tickets: Flash"));
        let link = link_behind(mail, &format!("https://shop.example/b/{booking}#"));
        let path = format!("/bookings/{booking}/tickets");
        self.ask("GET", &path).bearer(&link).send().await.expect(200);
    }
}

#[tokio::test]
async fn whose_address_was_mistyped_gets_the_tickets_once_it_is_corrected() {
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 2}});
    let booking = guest.book(&wish, buyer("Ann Lee", MISTYPED, "en")).await;
    let lost = sink.next().await;
    assert_eq!(lost["to"], json!([MISTYPED]));
    let old = link_behind(&lost, &format!("https://shop.example/b/{booking}#"));

    shop.clock.advance_ms(3_600_000);
    shop.correct(&booking).await;
    let first = shop.mail_again(&booking, "k").await;
    let mail = sink.next().await;
    shop.check(&mail, &booking).await;
    let message_id = format!("<{first}@shop.example>");
    assert_eq!(header(&mail, "Message-ID"), Some(message_id.as_str()));
    // They are the tickets that the door knows, and that the browser shows that booked.
    for (index, code) in codes(&guest, &booking).await.iter().enumerate() {
        let picture = mail["pictures"][format!("<ticket-{}>", index + 1)].as_str().unwrap();
        let picture = base64::prelude::BASE64_STANDARD.decode(picture).unwrap();
        assert_eq!(picture, onrush_base::tickets::qr::png(code).unwrap());
    }
    let withdrawn = shop.ask("GET", &format!("/bookings/{booking}")).bearer(&old).send().await;
    assert_eq!(withdrawn.problem(), (401, "LINK_WITHDRAWN".into()));

    // The same key is the same mail; another one is another, also to an address that had one today.
    assert_eq!(shop.mail_again(&booking, "k").await, first);
    let second = shop.mail_again(&booking, "l").await;
    assert_ne!(second, first);
    let mail = sink.next().await;
    shop.check(&mail, &booking).await;
    assert!(header(&mail, "Message-ID").unwrap().contains(&second));
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_mail_that_waited_goes_to_the_address_that_was_corrected_alone() {
    let mut sink = Sink::start();
    sink.set_busy(true);
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    let booking = guest.book(&wish, buyer("Ann Lee", MISTYPED, "en")).await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");
    shop.correct(&booking).await;
    sink.set_busy(false);
    shop.pass_to_next("mail").await;
    let mail = sink.next().await;
    shop.check(&mail, &booking).await;
    assert_eq!(shop.settled("mail").await, None);
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_sent_again_of_what_was_cancelled_meanwhile() {
    let mut sink = Sink::start();
    let shop = shop(&sink).await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    let booking = guest.book(&wish, buyer("Ann Lee", RIGHT, "en")).await;
    shop.check(&sink.next().await, &booking).await;
    shop.settled("mail").await;
    sink.set_busy(true);
    shop.mail_again(&booking, "k").await;
    assert_eq!(sink.next().await, json!({"busy": true}));
    shop.settled("mail").await.expect("it is tried again");
    sink.set_busy(false);
    shop.cancel(&booking).await;
    shop.everything_told().await;
    let cancelled = sink.next().await;
    assert_eq!(header(&cancelled, "Subject"), Some("Your booking is cancelled: Flash"));
    assert_eq!(sink.stop_and_rest().await, Vec::<String>::new());
    let refused = shop.admin("POST", &format!("/bookings/{booking}/mail")).key("k").send().await;
    assert_eq!(refused.problem(), (409, "INVALID_STATUS".into()));
}
