//! Kafka over TLS: who is let in and how, whose certificate is believed, and what is said of the others.

use super::bodies::Topic;
use super::outlet::{Outlet, Record};
use crate::cursors::Fence;
use onrush_base::config::Pem;
use onrush_base::config::kafka::KafkaSettings;
use onrush_core::ids::EventId;
use onrush_store::Seq;
use onrush_testkit::{Authority, Issued, Kafka, KafkaOptions, SaslUser, Tls, need};
use std::sync::Arc;
use std::time::Duration;

fn settings(brokers: String, authority: &Authority, own: Option<&Issued>) -> KafkaSettings {
    let mut settings = KafkaSettings::new(vec![brokers]);
    settings.certificates.ca = Some(Pem::from(authority.pem().to_owned()));
    settings.certificates.cert = own.map(|own| Pem::from(own.cert.clone()));
    settings.certificates.key = own.map(|own| Pem::from(own.key.clone()));
    settings
}

fn login(mut settings: KafkaSettings, mechanism: &str, password: &str) -> KafkaSettings {
    let options =
        [("sasl.mechanism", mechanism), ("sasl.username", "shop"), ("sasl.password", password)];
    let options = options.map(|(name, text)| (name.to_owned(), text.to_owned().into()));
    settings.options.extend(options);
    settings
}

/// Sends a message, and waits until Kafka has it.
async fn sent(settings: &KafkaSettings) -> Result<(), String> {
    settings.check()?;
    let mut outlet =
        Outlet::open(settings, Arc::default()).await.map_err(|error| error.to_string())?;
    let event: EventId = "gala".parse().expect("an id");
    let record = Record {
        topic: Topic::Feed,
        event: &event,
        sequence: Seq(1),
        index: 0,
        body: b"{}".into(),
    };
    outlet.send(record, Fence(1)).await.map_err(|error| error.to_string())?;
    outlet.settle().await.map_err(|error| error.to_string())
}

/// What is said of a broker that cannot be used.
async fn refusal(mut settings: KafkaSettings) -> String {
    settings.tuning.making_topics = Duration::from_secs(4);
    sent(&settings).await.expect_err("it is refused")
}

#[tokio::test]
async fn messages_go_over_tls_and_certificates_that_are_not_right_are_refused() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    // Called by its address it has another name than its certificate.
    let tls = Tls::new(servers.server_of(&["localhost"])).for_clients_of(&clients);
    let options = KafkaOptions { tls: Some(tls), ..KafkaOptions::default() };
    let Some(kafka) = need(Kafka::start_as(&options)) else { return };
    let (brokers, shop) = (kafka.tls_bootstrap_servers(), clients.client("shop"));
    sent(&settings(brokers.clone(), &servers, Some(&shop))).await.expect("it arrives");
    let by_address = brokers.replace("localhost", "127.0.0.1");
    for (settings, said) in [
        (settings(brokers.clone(), &clients, Some(&shop)), "kafka.certificates.ca"),
        (settings(by_address, &servers, Some(&shop)), "another server's"),
        (settings(brokers, &servers, None), "kafka.certificates.cert"),
    ] {
        let why = refusal(settings).await;
        assert!(why.contains(said), "{said}: {why}");
    }
}

#[tokio::test]
async fn users_log_in_with_plain_and_scram() {
    let authority = Authority::new("authority");
    let user = SaslUser { name: "shop".into(), password: "s3cret".into() };
    let tls = Some(Tls::new(authority.server()));
    let options = KafkaOptions { tls, user: Some(user), ..KafkaOptions::default() };
    let Some(kafka) = need(Kafka::start_as(&options)) else { return };
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let settings = settings(kafka.tls_bootstrap_servers(), &authority, None);
        sent(&login(settings.clone(), mechanism, "s3cret")).await.expect(mechanism);
        let why = refusal(login(settings, mechanism, "wr0ng")).await;
        assert!(why.contains("kafka.options") && !why.contains("wr0ng"), "{mechanism}: {why}");
    }
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused() {
    let authority = Authority::new("authority");
    let tls = Some(Tls::new(authority.expired_server()));
    let options = KafkaOptions { tls, ..KafkaOptions::default() };
    let Some(kafka) = need(Kafka::start_as(&options)) else { return };
    let why = refusal(settings(kafka.tls_bootstrap_servers(), &authority, None)).await;
    assert!(why.contains("its time is over"), "{why}");
}
