//! Mail and webhooks over TLS, with a private authority: whose certificate is believed, and what is
//! said of the others.

use crate::mail::with_mail;
use crate::shop::Shop;
use crate::sink::Sink;
use axum::Router;
use axum::routing::post;
use onrush_base::config::relay::{Tls, WebhookSettings};
use onrush_base::config::{CertificateSettings, Pem, Secret, TlsSettings};
use onrush_ledger::booking::Buyer;
use onrush_serve::{Certificate, Terms, listen, serve_tls_on};
use onrush_testkit::{Authority, Issued};
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::sync::mpsc;

fn trusting(authority: &Authority) -> CertificateSettings {
    let ca = Some(Pem::from(authority.pem().to_owned()));
    CertificateSettings { ca, ..CertificateSettings::default() }
}

/// What the channel says of a message that it had to give up.
async fn given_up(shop: &Shop, channel: &str) -> String {
    while shop.settled(channel).await.is_some() {
        shop.pass_to_next(channel).await;
    }
    shop.dead(channel).await[0]["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn mail_goes_over_tls_in_both_ways_and_only_to_whom_is_trusted() {
    let (ours, theirs) = (Authority::new("authority"), Authority::new("authority"));
    for (how, tls) in [("starttls", Tls::Starttls), ("tls", Tls::Tls)] {
        for (issued, refused) in [
            (ours.server(), None),
            (theirs.server(), Some("mail.certificates.ca")),
            (ours.server_of(&["elsewhere.example"]), Some("another server's")),
            (ours.expired_server(), Some("has expired")),
        ] {
            let mut sink = Sink::start_with_tls(how, &issued);
            let shop = Shop::start_with(|config| {
                with_mail(config, &sink);
                let mail = config.mail.as_mut().unwrap();
                mail.smtp = format!("localhost:{}", sink.port);
                (mail.tls, mail.certificates) = (tls, trusting(&ours));
            });
            let shop = shop.await;
            shop.flash_sale("e").await;
            let [name, email, language] = ["Ann", "ann@post.example", "en"].map(str::to_owned);
            let buyer = Some(Buyer { name, email, language });
            shop.guest().await.book(&json!({"pools": {"ga": 1}}), buyer).await;
            match refused {
                None => assert_eq!(sink.next().await["to"], json!(["ann@post.example"])),
                Some(said) => {
                    let why = given_up(&shop, "mail").await;
                    assert!(why.contains(said) && !why.contains("ann@"), "{how}, {said}: {why}");
                }
            }
            shop.server.shutdown().await;
        }
    }
}

/// Somebody who wants to be told over TLS, with this certificate.
fn receiver(issued: Issued) -> (SocketAddr, mpsc::UnboundedReceiver<()>) {
    let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = mpsc::unbounded_channel();
    // The test may have seen enough.
    let hear = async move || told.send(()).unwrap_or(());
    let router = Router::new().route("/hook", post(hear));
    let (cert, key) = (Pem::from(issued.cert), Pem::from(issued.key));
    let settings = TlsSettings::of_files(cert, key);
    let own = Certificate::open(&settings).unwrap();
    let never = std::future::pending();
    // It ends with the test's runtime.
    tokio::spawn(serve_tls_on(listener, own, router, Terms::default(), Arc::default(), never));
    (address, heard)
}

#[tokio::test]
async fn webhooks_go_over_tls_only_to_whom_is_trusted() {
    let (ours, theirs) = (Authority::new("authority"), Authority::new("authority"));
    for (issued, refused) in [
        (ours.server(), None),
        (theirs.server(), Some("webhooks[crm].certificates.ca")),
        (ours.server_of(&["elsewhere.example"]), Some("another server's")),
        (ours.expired_server(), Some("has expired")),
    ] {
        let (address, mut heard) = receiver(issued);
        let settings = WebhookSettings {
            name: "crm".into(),
            url: format!("https://localhost:{}/hook", address.port()),
            secret: Secret::from("a secret for tests only".to_owned()),
            kinds: None,
            allow_private: true,
            certificates: trusting(&ours),
        };
        let shop = Shop::start_with(|config| config.webhooks = vec![settings]).await;
        shop.flash_sale("e").await;
        shop.guest().await.book(&json!({"pools": {"ga": 1}}), None).await;
        match refused {
            None => heard.recv().await.expect("it is told"),
            Some(said) => {
                let why = given_up(&shop, "webhook:crm").await;
                assert!(why.contains(said), "{said}: {why}");
                assert!(heard.try_recv().is_err());
            }
        }
        shop.server.shutdown().await;
    }
}
