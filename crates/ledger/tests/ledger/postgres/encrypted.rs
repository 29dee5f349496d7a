//! PostgreSQL over TLS: whose certificate is believed, and what is said of the others.

use onrush_ledger::Ledger;
use onrush_ledger::postgres::{PgLedger, PgOptions, Protection};
use onrush_testkit::{Authority, Issued, Postgres, PostgresOptions, Tls, need};
use onrush_tls::{Certificates, Pair, Verification, client_config};
use std::sync::Arc;

/// Only TLS, believing whoever this authority signed for.
fn tls(authority: &Authority, own: Option<Issued>, verification: Verification) -> Protection {
    let own =
        own.map(|own| Pair::new(own.cert.into(), own.key.into()).expect("they belong together"));
    let certificates = Certificates::new(Some(authority.pem().into()), own);
    let certificates = certificates.expect("it is an authority");
    Protection::Tls(Arc::new(client_config(&certificates, verification).expect("they can be used")))
}

async fn open(url: &str, protection: Protection) -> Result<PgLedger, String> {
    let options = PgOptions { pool_size: 2, protection, ..PgOptions::default() };
    PgLedger::open(url, options).await.map_err(|error| error.to_string())
}

/// How many of our connections are over TLS, and how many not.
fn connections(server: &Postgres) -> String {
    let sql = "SELECT count(*) FILTER (WHERE ssl) || ' ' || count(*) FILTER (WHERE NOT ssl) FROM \
               pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'onrush'";
    server.sql(&server.url(), sql).expect("rows")
}

/// A server with this certificate, called by a name that its certificates have.
fn server(issued: Issued) -> Option<(Postgres, String)> {
    let options = PostgresOptions { tls: Some(Tls::new(issued)), ..PostgresOptions::default() };
    let server = need(Postgres::start_with(&options))?;
    let url = server.database().expect("a database").replace("127.0.0.1", "localhost");
    Some((server, url))
}

#[tokio::test]
async fn everything_goes_over_tls_with_a_client_certificate_where_that_is_asked_for() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let options = PostgresOptions {
        tls: Some(Tls::new(servers.server()).for_clients_of(&clients)),
        // Who the user is, says the certificate.
        hba: vec!["hostssl all shop all cert".into(), "hostnossl all shop all reject".into()],
        ..PostgresOptions::default()
    };
    let Some(server) = need(Postgres::start_with(&options)) else { return };
    let sql = "CREATE ROLE shop LOGIN PASSWORD 's3cret'; GRANT ALL ON SCHEMA public TO shop";
    server.sql(&server.url(), sql).expect("a user");
    let url = format!("postgres://shop:s3cret@localhost:{}/postgres", server.port());
    let full = Verification::Full;
    let ledger = open(&url, tls(&servers, Some(clients.client("shop")), full)).await;
    let ledger = ledger.expect("opened");
    ledger.position().await.expect("it answers");
    let counted = connections(&server);
    assert!(counted.ends_with(" 0") && !counted.starts_with('0'), "{counted}");
    ledger.close().await;
    for (protection, said) in [
        (Protection::Nothing, "pg_hba.conf"),
        (tls(&servers, None, full), "set postgres.certificates.cert"),
        (tls(&servers, Some(clients.client("other")), full), "pg_hba.conf"),
        (tls(&servers, Some(servers.client("shop")), full), "postgres.certificates.cert"),
    ] {
        let why = open(&url, protection).await.err().expect("it is refused");
        assert!(why.contains(said) && !why.contains("s3cret"), "{said}: {why}");
    }
}

#[tokio::test]
async fn as_much_of_a_certificate_is_looked_at_as_was_said() {
    use Verification::{Authority as Signer, Full, Nothing};
    let (ours, theirs) = (Authority::new("authority"), Authority::new("authority"));
    for (issued, full, signer) in [
        (ours.server(), None, None),
        (theirs.server(), Some("set postgres.certificates.ca"), Some("postgres.certificates.ca")),
        (ours.server_of(&["elsewhere.example"]), Some("another server's"), None),
        (ours.expired_server(), Some("has expired"), Some("has expired")),
    ] {
        let Some((server, url)) = server(issued) else { return };
        for (verification, refused) in [(Full, full), (Signer, signer), (Nothing, None)] {
            let opened = open(&url, tls(&ours, None, verification)).await;
            match (opened, refused) {
                (Ok(ledger), None) => {
                    assert!(connections(&server).ends_with(" 0"));
                    ledger.close().await;
                }
                (Err(why), Some(said)) => assert!(why.contains(said), "{said}: {why}"),
                (Ok(_), Some(said)) => panic!("{verification:?} is satisfied, and not: {said}"),
                (Err(why), None) => panic!("{verification:?}: {why}"),
            }
        }
    }
}

#[tokio::test]
async fn a_server_without_tls_is_used_only_where_that_was_left_open() {
    let Some(server) = need(Postgres::start()) else { return };
    let url = server.database().expect("a database");
    let authority = Authority::new("authority");
    let why = open(&url, tls(&authority, None, Verification::Full)).await.err();
    assert!(why.expect("it is refused").contains("it offers no TLS"));
    let Protection::Tls(config) = tls(&authority, None, Verification::Nothing) else { return };
    open(&url, Protection::IfOffered(config)).await.expect("opened").close().await;
}
