//! RabbitMQ over TLS: whose certificate is believed, and what is said of the others.

use crate::stage::{deadline, patiently, publish, settings};
use onrush_base::config::Pem;
use onrush_base::config::rabbit::RabbitSettings;
use onrush_bridge::rabbit::link::{Outlet, connect};
use onrush_bridge::rabbit::topology::Topology;
use onrush_core::Time;
use onrush_testkit::{Authority, Issued, RabbitMq, Tls, need};
use std::sync::Arc;

fn over_tls(
    server: &RabbitMq,
    url: String,
    authority: &Authority,
    own: Option<&Issued>,
) -> RabbitSettings {
    let mut settings = settings(server, "tls.");
    settings.url = url.into();
    settings.certificates.ca = Some(Pem::from(authority.pem().to_owned()));
    settings.certificates.cert = own.map(|own| Pem::from(own.cert.clone()));
    settings.certificates.key = own.map(|own| Pem::from(own.key.clone()));
    settings.check().expect("nothing is wrong with them");
    settings
}

/// What is said of a server that cannot be used.
async fn refusal(settings: &RabbitSettings) -> String {
    let topology = Topology::new(settings);
    let connecting = patiently("an answer", connect(settings, &topology, "test")).await;
    connecting.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn wake_ups_go_over_tls_and_certificates_that_are_not_right_are_refused() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    // Called by its address it has another name than its certificate.
    let tls = Tls::new(servers.server_of(&["localhost"])).for_clients_of(&clients);
    let Some(server) = need(RabbitMq::start_with_tls(&tls)) else { return };
    let shop = clients.client("shop");
    let good = over_tls(&server, server.tls_url(), &servers, Some(&shop));
    let topology = Arc::new(Topology::new(&good));
    let connection = connect(&good, &topology, "test").await.expect("it connects");
    let outlet = Outlet::open(&connection, topology, &good.tuning).await.expect("it works");
    publish(&outlet, &deadline("gala", Time(0)), Time(0)).await;

    let by_address = server.tls_url().replace("localhost", "127.0.0.1");
    let with_password = server.tls_url().replace("guest:guest", "guest:wr0ng");
    let plain = server.url().replace("amqp://", "amqps://").replace("127.0.0.1", "localhost");
    for (settings, said) in [
        (over_tls(&server, server.tls_url(), &clients, Some(&shop)), "rabbitmq.certificates.ca"),
        (over_tls(&server, by_address, &servers, Some(&shop)), "another server's"),
        (over_tls(&server, server.tls_url(), &servers, None), "rabbitmq.certificates.cert"),
        (over_tls(&server, with_password, &servers, Some(&shop)), "rabbitmq.url"),
        (over_tls(&server, plain, &servers, Some(&shop)), "does not speak TLS"),
    ] {
        let why = refusal(&settings).await;
        assert!(why.contains(said) && !why.contains("wr0ng"), "{said}: {why}");
    }
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused() {
    let authority = Authority::new("authority");
    let tls = Tls::new(authority.expired_server());
    let Some(server) = need(RabbitMq::start_with_tls(&tls)) else { return };
    let why = refusal(&over_tls(&server, server.tls_url(), &authority, None)).await;
    assert!(why.contains("has expired"), "{why}");
}
