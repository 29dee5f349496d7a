//! The client for outgoing calls.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt;
use onrush_base::http_client::{AddressPolicy, CallError, HttpClient, MAX_ANSWER_BYTES};
use onrush_serve::{listen, serve_router};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::oneshot;

struct Served {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

fn serve(router: Router) -> Served {
    let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(serve_router(listener, router, async { drop(stopped.await) }));
    Served { address, _stop: stop }
}

fn to(uri: &str) -> Request<Bytes> {
    Request::get(uri).body(Bytes::new()).unwrap()
}

const TIMEOUT_MS: u64 = 20_000;

#[tokio::test]
async fn private_addresses_are_not_connected_to_by_literal_or_by_name() {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let served = serve(Router::new().route(
        "/",
        get(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            async {}
        }),
    ));
    let port = served.address.port();
    let (any, public) =
        (HttpClient::new(AddressPolicy::Any), HttpClient::new(AddressPolicy::PublicOnly));
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "0x7f000001", "0.0.0.0"] {
        let refused = public.call(to(&format!("http://{host}:{port}/")), TIMEOUT_MS).await.err();
        assert_eq!(refused, Some(CallError::Forbidden), "{host}");
        // Some of these names no certificate could have, which is found out first.
        let refused = public.call(to(&format!("https://{host}:{port}/")), TIMEOUT_MS).await.err();
        assert!(matches!(refused, Some(CallError::Forbidden | CallError::Unreachable(_))));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    for host in ["127.0.0.1", "localhost"] {
        let answer = any.call(to(&format!("http://{host}:{port}/")), TIMEOUT_MS).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn redirects_are_answers_and_not_followed() {
    let elsewhere = (StatusCode::FOUND, [("location", "/there")]);
    let router = Router::new()
        .route("/", get(move || async move { elsewhere }))
        .route("/there", get(|| async { "there" }));
    let served = serve(router);
    let client = HttpClient::new(AddressPolicy::Any);
    let answer = client.call(to(&format!("http://{}/", served.address)), TIMEOUT_MS).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FOUND);
}

#[tokio::test]
async fn answers_that_are_too_long_or_too_late_or_cut_off_are_errors() {
    let cut = || async {
        let part = Ok::<_, std::io::Error>(Bytes::from_static(b"part"));
        let broken = Err(std::io::Error::other("cut"));
        Body::from_stream(futures_util::stream::iter([part, broken]))
    };
    let router = Router::new()
        .route("/long", get(|| async { vec![b'x'; MAX_ANSWER_BYTES + 1] }))
        .route("/fits", get(|| async { vec![b'x'; MAX_ANSWER_BYTES] }))
        .route("/never", get(std::future::pending::<()>))
        .route("/cut", get(cut));
    let served = serve(router);
    let client = HttpClient::new(AddressPolicy::Any);
    let call = async |path: &str, timeout_ms| {
        client.call(to(&format!("http://{}{path}", served.address)), timeout_ms).await
    };
    assert_eq!(call("/fits", TIMEOUT_MS).await.unwrap().body().len(), MAX_ANSWER_BYTES);
    assert_eq!(call("/long", TIMEOUT_MS).await.err(), Some(CallError::TooLong));
    assert_eq!(call("/never", 20).await.err(), Some(CallError::TimedOut));
    assert!(matches!(call("/cut", TIMEOUT_MS).await, Err(CallError::Broken(_))));
}

/// Where only the status counts, nothing that follows makes a difference.
#[tokio::test]
async fn a_status_is_an_answer_whatever_follows_it() {
    let never_ends = || async {
        let part = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"x"))]);
        Body::from_stream(part.chain(futures_util::stream::pending()))
    };
    let router = Router::new()
        .route("/", get(|| async { StatusCode::ACCEPTED }))
        .route("/long", get(|| async { (StatusCode::GONE, vec![b'x'; 2 * MAX_ANSWER_BYTES]) }))
        .route("/slow", get(never_ends))
        .route("/never", get(std::future::pending::<()>));
    let served = serve(router);
    let client = HttpClient::new(AddressPolicy::Any);
    let status_of = async |path: &str, timeout_ms| {
        client.status_of(to(&format!("http://{}{path}", served.address)), timeout_ms).await
    };
    assert_eq!(status_of("/", TIMEOUT_MS).await, Ok(StatusCode::ACCEPTED));
    assert_eq!(status_of("/long", TIMEOUT_MS).await, Ok(StatusCode::GONE));
    assert_eq!(status_of("/slow", TIMEOUT_MS).await, Ok(StatusCode::OK));
    assert_eq!(status_of("/never", 20).await, Err(CallError::TimedOut));
}

/// Whoever asks for `https` gets TLS or nothing.
#[tokio::test]
async fn server_without_tls_is_not_spoken_to_in_the_clear() {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let count = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        async {}
    };
    let served = serve(Router::new().fallback(count));
    let client = HttpClient::new(AddressPolicy::Any);
    let answer = client.call(to(&format!("https://{}/", served.address)), TIMEOUT_MS).await;
    assert!(matches!(answer, Err(CallError::Unreachable(_))), "{answer:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = HttpClient::new(AddressPolicy::Any);
    let answer = client.call(to(&format!("http://{address}/")), TIMEOUT_MS).await;
    assert!(matches!(answer, Err(CallError::Unreachable(_))), "{answer:?}");
}
