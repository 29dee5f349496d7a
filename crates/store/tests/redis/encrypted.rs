//! Redis over TLS: whose certificate is believed, and what is said of the others.

use crate::stage::{MemoryArchive, flash_sale, free_units, hold};
use onrush_store::flags::Flag;
use onrush_store::redis::{Options, RedisEngine};
use onrush_testkit::{Authority, Issued, Redis, RedisCluster, RedisOptions, Tls, need};
use onrush_tls::{Certificates, Pair};
use std::sync::Arc;

fn trusting(authority: &Authority, own: Option<Issued>) -> Certificates {
    let own =
        own.map(|own| Pair::new(own.cert.into(), own.key.into()).expect("they belong together"));
    Certificates::new(Some(authority.pem().into()), own).expect("it is an authority")
}

fn options(urls: Vec<String>, is_cluster: bool, certificates: Certificates) -> Options {
    let archive = Arc::new(MemoryArchive::new());
    Options { certificates, timeout_ms: 5_000, ..Options::new(urls, is_cluster, archive) }
}

/// What is said of a server that cannot be used.
async fn refusal(url: String, certificates: Certificates) -> String {
    let opened = RedisEngine::open(options(vec![url], false, certificates)).await;
    opened.err().expect("it is refused").to_string()
}

#[tokio::test]
async fn a_sale_goes_over_tls_with_a_client_certificate_and_a_user_of_the_acl() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let redis = RedisOptions {
        tls: Some(Tls::new(servers.server()).for_clients_of(&clients)),
        config: vec!["user shop on >s3cret ~* &* +@all".into()],
        ..RedisOptions::default()
    };
    let Some(redis) = need(Redis::start_with(&redis)) else { return };
    let certificates = trusting(&servers, Some(clients.client("shop")));
    let as_user =
        |password: &str| format!("rediss://shop:{password}@localhost:{}", redis.tls_port());
    let options = options(vec![as_user("s3cret")], false, certificates.clone());
    let engine = RedisEngine::open(options.clone()).await.expect("the engine begins");
    let event = flash_sale(&engine, 10).await;
    hold(&engine, &event, "ada", "b1").await.expect("units are free");
    // Transactions have connections of their own.
    options.flags.set(Flag::LuaAtomic, 0);
    hold(&engine, &event, "bob", "b2").await.expect("units are free");
    assert_eq!(free_units(&engine, &event).await, 8);
    engine.close().await;

    let why = refusal(as_user("wr0ng"), certificates).await;
    assert!(why.contains("redis.urls") && !why.contains("wr0ng"), "{why}");
    let why = refusal(as_user("s3cret"), trusting(&servers, None)).await;
    assert!(why.contains("redis.certificates.cert") && !why.contains("s3cret"), "{why}");
    let stranger = trusting(&servers, Some(Authority::new("others").client("shop")));
    let why = refusal(as_user("s3cret"), stranger).await;
    assert!(why.contains("redis.certificates.cert"), "{why}");
}

#[tokio::test]
async fn a_certificate_that_is_not_right_is_refused_with_a_sentence() {
    let (ours, theirs) = (Authority::new("authority"), Authority::new("authority"));
    for (issued, said) in [
        (theirs.server(), "set redis.certificates.ca"),
        (ours.server_of(&["elsewhere.example"]), "another server's"),
        (ours.expired_server(), "has expired"),
    ] {
        let options = RedisOptions { tls: Some(Tls::new(issued)), ..RedisOptions::default() };
        let Some(redis) = need(Redis::start_with(&options)) else { return };
        let why = refusal(redis.tls_url(), trusting(&ours, None)).await;
        assert!(why.contains(said), "{said}: {why}");
        // And none but the authorities of the public web without being told.
        let why = refusal(redis.tls_url(), Certificates::default()).await;
        assert!(why.contains("its certificate"), "{why}");
    }
}

#[tokio::test]
async fn a_cluster_is_sold_on_over_tls() {
    let authority = Authority::new("authority");
    // Its nodes show each other the same certificate.
    let options = RedisOptions {
        tls: Some(Tls::new(authority.server()).for_clients_of(&authority)),
        ..RedisOptions::default()
    };
    let Some(cluster) = need(RedisCluster::start_with(&options)) else { return };
    let certificates = trusting(&authority, Some(authority.client("shop")));
    let with = self::options(cluster.tls_urls(), true, certificates);
    let engine = RedisEngine::open(with.clone()).await.expect("the engine begins");
    let mut events = Vec::new();
    for _ in 0..4 {
        events.push(flash_sale(&engine, 10).await);
    }
    for flag in [100, 0] {
        with.flags.set(Flag::LuaAtomic, flag);
        for event in &events {
            hold(&engine, event, "ada", &format!("b{flag}")).await.expect("units are free");
        }
    }
    assert_eq!(free_units(&engine, &events[3]).await, 8);
    engine.close().await;
    let stranger = trusting(&Authority::new("others"), Some(authority.client("shop")));
    let refused = RedisEngine::open(self::options(cluster.tls_urls(), true, stranger)).await;
    let why = refused.err().expect("it is refused").to_string();
    assert!(why.contains("redis.certificates.ca"), "{why}");
}
