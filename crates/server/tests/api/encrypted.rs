//! The server's own TLS: who gets through, whom it keeps out, and a certificate that changes meanwhile.

use crate::shop::{ADMIN_KEY, Shop};
use onrush_base::config::{Config, Pem, TlsSettings};
use onrush_server::{Remedy, Server};
use onrush_testkit::{Authority, Issued};
use onrush_tls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use onrush_tls::rustls::version::{TLS12, TLS13};
use onrush_tls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const PATIENCE: Duration = Duration::from_secs(20);

/// The server's certificate, in files of a folder.
fn with_files(config: &mut Config, folder: &Path, issued: &Issued) {
    let (cert, key) = issued.write(folder, "tls").unwrap();
    let look_every = Duration::from_millis(5);
    let files = TlsSettings::of_files(Pem::File(cert), Pem::File(key));
    config.tls = Some(TlsSettings { look_every, ..files });
}

async fn connect_with(
    address: SocketAddr,
    authority: &Authority,
    versions: &[&'static SupportedProtocolVersion],
) -> io::Result<TlsStream<TcpStream>> {
    greet(address, authority.pem().as_bytes(), "localhost", versions).await
}

/// Greets a server by this name, trusting this authority, in PEM.
pub(crate) async fn greet(
    address: SocketAddr,
    authority: &[u8],
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_protocol_versions(versions)
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}

async fn connect(address: SocketAddr, authority: &Authority) -> io::Result<TlsStream<TcpStream>> {
    connect_with(address, authority, &[&TLS13, &TLS12]).await
}

/// Asks over a connection that stays, and reads the head of the answer and what its length says.
pub(crate) async fn ask(stream: &mut TlsStream<TcpStream>, path: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN_KEY}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return text;
            }
        }
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "the connection ended: {text}");
    }
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("never: {what}"))
}

#[tokio::test]
async fn browsers_come_by_tls_of_either_version_and_nobody_by_another_authority() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let issued = authority.server();
    let shop = Shop::start_with(|config| with_files(config, folder.path(), &issued)).await;
    let address = shop.server.public_addr();
    for version in [&TLS12, &TLS13] {
        let mut stream = connect_with(address, &authority, &[version]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let answer = ask(&mut stream, "/api/v1/keys").await;
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(answer.contains("strict-transport-security: "), "{answer}");
        // Long answers too.
        assert!(ask(&mut stream, "/api/openapi.json").await.len() > 100_000);
    }
    let error = connect(address, &Authority::new("theirs")).await.unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");

    // Plain HTTP is not answered.
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    // A reset is an end as well.
    drop(within("its end", plain.read_to_end(&mut said)).await);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    shop.server.shutdown().await;
}

#[tokio::test]
async fn streams_are_told_over_tls_what_happens() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let issued = authority.server();
    let shop = Shop::start_with(|config| with_files(config, folder.path(), &issued)).await;
    let mut stream = connect(shop.server.public_addr(), &authority).await.unwrap();
    let body = r#"{"event": "e", "title": "Flash", "currency": "EUR"}"#;
    let post = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    stream.write_all(post("/api/v1/admin/events", body).as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 201");

    let mut house = connect(shop.server.public_addr(), &authority).await.unwrap();
    let request = format!(
        "GET /api/v1/admin/events/e/live HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {ADMIN_KEY}\r\n\r\n"
    );
    house.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("data:") {
        let read = within("a message", house.read_buf(&mut heard)).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&heard));
    }
    shop.server.shutdown().await;
    // An end without a goodbye of TLS is an end as well.
    drop(within("its end", house.read_to_end(&mut heard)).await);
    assert!(heard.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&heard));
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_once_it_is_whole_and_connections_stay() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (old.server(), new.server());
    let shop = Shop::start_with(|config| with_files(config, folder.path(), &first)).await;
    let address = shop.server.public_addr();
    let mut stays = connect(address, &old).await.unwrap();
    ask(&mut stays, "/api/v1/keys").await;

    // Half of the new pair, then nonsense: whoever comes is shown the old one.
    std::fs::write(folder.path().join("tls.pem"), &second.cert).unwrap();
    for _ in 0..20 {
        connect(address, &old).await.unwrap();
    }
    std::fs::write(folder.path().join("tls.key"), "no key").unwrap();
    for _ in 0..20 {
        connect(address, &old).await.unwrap();
    }
    std::fs::write(folder.path().join("tls.key"), &second.key).unwrap();
    let seen = async {
        while connect(address, &new).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("the new certificate", seen).await;
    assert!(connect(address, &old).await.is_err());
    assert!(ask(&mut stays, "/api/v1/keys").await.starts_with("http/1.1 200"));
    shop.server.shutdown().await;
}

#[tokio::test]
async fn a_start_between_two_pairs_may_be_tried_again_until_they_belong_together() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let (issued, data) = (authority.server(), tempfile::tempdir().unwrap());
    let mut config = crate::shop::config(&data);
    with_files(&mut config, folder.path(), &issued);
    let key = folder.path().join("tls.key");
    let of_another = authority.server().key;
    for (there, said) in [
        (Some(of_another.as_str()), "tls.key: the key belongs to another certificate"),
        (Some("no key"), "tls.key: there is no private key in it"),
        (None, "tls.key: "),
    ] {
        match there {
            Some(text) => std::fs::write(&key, text).unwrap(),
            None => std::fs::remove_file(&key).unwrap(),
        }
        let Err(error) = Server::start(config.clone()).await else { panic!("started: {said}") };
        assert_eq!(error.remedy(), Remedy::AnotherStart, "{error}");
        assert!(error.to_string().starts_with(said), "{said}: {error}");
    }
    // What is not set no other start sets.
    let mut half = config.clone();
    half.tls.as_mut().unwrap().key = None;
    let Err(error) = Server::start(half).await else { panic!("started without a key") };
    assert_eq!(error.remedy(), Remedy::Settings, "{error}");

    std::fs::write(&key, &issued.key).unwrap();
    let server = Server::start(config).await.unwrap();
    connect(server.public_addr(), &authority).await.unwrap();
    server.shutdown().await;
}

#[tokio::test]
async fn whoever_greets_slowly_is_counted_and_keeps_nobody_waiting() {
    let (authority, folder) = (Authority::new("ours"), tempfile::tempdir().unwrap());
    let issued = authority.server();
    let shop = Shop::start_with(|config| {
        with_files(config, folder.path(), &issued);
        config.connections.connections_per_address = 8;
    });
    let shop = shop.await;
    let address = shop.server.public_addr();
    let mut silent = Vec::new();
    for _ in 0..7 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The beginning of a greeting.
        stream.write_all(&[22, 3, 1]).await.unwrap();
        silent.push(stream);
    }
    let mut stream = within("an answer", connect(address, &authority)).await.unwrap();
    assert!(ask(&mut stream, "/api/v1/keys").await.starts_with("http/1.1 200"));
    // As many as one address may have: the next is closed without a word.
    assert!(within("its end", connect(address, &authority)).await.is_err());
    drop(silent);
    let let_in = async {
        while connect(address, &authority).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within("a free place", let_in).await;
    shop.server.shutdown().await;
}
