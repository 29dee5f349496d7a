//! Strangers who send without end, stall, or do not read: each is cut off, and nobody else notices.

use crate::client::{Request, read_head};
use crate::shop::{Guest, Shop};
use serde_json::{Value, json};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Waits for what must come by itself; the bound is only there to end a test that fails.
async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let bound = Duration::from_secs(30);
    tokio::time::timeout(bound, wait).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Status, headers and problem code of an answer after which the server closes.
async fn last_answer(stream: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>, String) {
    let (status, headers) = read_head(stream).await;
    let mut body = Vec::new();
    stream.read_to_end(&mut body).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    (status, headers, body["code"].as_str().unwrap().to_owned())
}

fn has(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(there, _)| there.eq_ignore_ascii_case(name))
}

/// Writes the same bytes again and again until the server has had enough, or `most` bytes were taken.
async fn flood(stream: &mut TcpStream, bytes: &[u8], most: usize) -> Result<(), String> {
    let piece = bytes.repeat((64 << 10) / bytes.len());
    let mut taken = 0;
    while taken < most {
        if stream.write_all(&piece).await.is_err() {
            return Ok(());
        }
        taken += piece.len();
    }
    Err(format!("{taken} bytes were taken"))
}

/// A masked frame whose mask is nothing.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[first, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

/// A WebSocket of which nothing but the handshake is read.
async fn websocket(guest: &Guest<'_>) -> TcpStream {
    let request = guest.ask("GET", "/events/e/ws").header("Upgrade", "websocket");
    let request = request.header("Connection", "Upgrade").header("Sec-WebSocket-Version", "13");
    let request = request.header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    let mut stream = request.start().await;
    assert_eq!(read_head(&mut stream).await.0, 101);
    stream.into_inner()
}

#[tokio::test]
async fn a_ping_nobody_reads_ends_the_stream() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut stream = websocket(&guest).await;
    let ping = frame(0x89, &[7; 125]);
    soon("the end", flood(&mut stream, &ping, 32 << 20)).await.unwrap();
}

#[tokio::test]
async fn a_message_in_pieces_without_end_ends_the_stream() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut stream = websocket(&guest).await;
    stream.write_all(&frame(0x01, b"")).await.unwrap();
    soon("the end", flood(&mut stream, &frame(0x00, b""), 8 << 20)).await.unwrap();
}

#[tokio::test]
async fn a_ping_now_and_then_is_answered() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut stream = websocket(&guest).await;
    let pong = b"\x8a\x04ping";
    for _ in 0..20 {
        stream.write_all(&frame(0x89, b"ping")).await.unwrap();
        let mut seen = Vec::new();
        let answered = async {
            while !seen.windows(pong.len()).any(|window| window == pong) {
                seen.push(stream.read_u8().await.unwrap());
            }
        };
        soon("a pong", answered).await;
    }
}

#[tokio::test]
async fn talk_on_a_stream_of_events_ends_it() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let mut stream = guest.ask("GET", "/events/e/stream").start().await;
    assert_eq!(read_head(&mut stream).await.0, 200);
    soon("the end", flood(stream.get_mut(), b"hello ", 8 << 20)).await.unwrap();
}

#[tokio::test]
async fn a_head_has_room_for_tokens_and_cookies_and_a_longer_one_is_refused_at_once() {
    let shop = Shop::start().await;
    let cookie = format!("other={}", "c".repeat(8 << 10));
    let request = shop.ask("GET", "/events").header("Cookie", &cookie);
    request.header("X-Token", &"t".repeat(4 << 10)).send().await.expect(200);
    let address = shop.server.public_addr();
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    // Not a byte more than may come: the server would hang up with some unread, and its answer
    // might be lost.
    let begun = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nX-Long: ");
    let head = begun.clone() + &"x".repeat((16 << 10) - begun.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    let (status, _) = soon("an answer", read_head(&mut stream)).await;
    assert_eq!(status, 431);
}

/// Requests with a body, of each kind: for visitors, gateways and the organiser.
fn requests_with_bodies(guest: &Guest<'_>) -> Vec<Request> {
    let shop = guest.shop;
    let json = |request: Request| request.header("Content-Type", "application/json");
    vec![
        json(guest.ask("POST", "/events/e/bookings").key("k")),
        json(shop.ask("POST", "/visitors")),
        shop.ask("POST", "/payments/webhook/sandbox"),
        json(shop.admin("PUT", "/events/e/seat-map")),
    ]
}

#[tokio::test]
async fn a_body_that_stalls_is_told_so_and_its_connection_ends() {
    let shop = Shop::start_with(|config| config.connections.body_timeout_ms = 200).await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    for request in requests_with_bodies(&guest) {
        let mut stream = request.announce(1_000).body_part("{").start().await;
        let (status, headers, code) = soon("an answer", last_answer(&mut stream)).await;
        assert_eq!((status, code.as_str()), (408, "BODY_TOO_SLOW"));
        assert!(has(&headers, "connection"), "{headers:?}");
    }
}

#[tokio::test]
async fn a_body_that_drips_ends_as_well() {
    let shop = Shop::start_with(|config| config.connections.body_timeout_ms = 300).await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let request = requests_with_bodies(&guest).swap_remove(0);
    let stream = request.announce(60_000).start().await.into_inner();
    let (reading, mut writing) = stream.into_split();
    let drip = async {
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        while writing.write_all(b" ").await.is_ok() {
            pace.tick().await;
        }
    };
    let told = async {
        let mut head = [0; 12];
        BufReader::new(reading).read_exact(&mut head).await.unwrap();
        head
    };
    // Once it is told so, it is cut off.
    let both = async { tokio::join!(told, drip).0 };
    assert_eq!(&soon("an answer", both).await, b"HTTP/1.1 408");
}

#[tokio::test]
async fn only_plans_and_webhooks_may_be_long() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let [hold, visitor, webhook, plan] = &requests_with_bodies(&guest)[..] else { panic!() };
    // Their length alone is enough: nothing of the body is sent, and nothing waited for.
    for (request, length) in
        [(hold, (64 << 10) + 1), (visitor, (64 << 10) + 1), (webhook, (1 << 20) + 1)]
    {
        let mut stream = request.clone().announce(length).start().await;
        let (status, _, code) = soon("an answer", last_answer(&mut stream)).await;
        assert_eq!((status, code.as_str()), (413, "BODY_TOO_LARGE"), "{length}");
    }
    let long = vec![b' '; 1 << 20];
    let webhook = webhook.clone().body(long.clone()).send().await;
    assert_eq!(webhook.problem(), (404, "GATEWAY_NOT_FOUND".into()));
    let plan = plan.clone().body([&b"{}"[..], &long].concat()).send().await;
    assert_eq!(plan.problem(), (422, "INVALID_BODY".into()));
}

#[tokio::test]
async fn half_sent_bodies_have_a_share_of_memory_and_no_more() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let webhook = requests_with_bodies(&guest).swap_remove(2);
    let mut strangers = JoinSet::new();
    let almost = " ".repeat((1 << 20) - 1);
    let stranger = || {
        let request = webhook.clone().announce(1 << 20).body_part(&almost);
        async move { last_answer(&mut request.start().await).await }
    };
    for _ in 0..24 {
        strangers.spawn(stranger());
    }
    let mut slow = 0;
    let refused = loop {
        let answer = soon("an answer", strangers.join_next()).await.unwrap().unwrap();
        if answer.0 != 408 {
            break answer;
        }
        // On a busy machine the first ones' time is over before the share is used up.
        assert_eq!(answer.2, "BODY_TOO_SLOW");
        slow += 1;
        assert!(slow < 1_000, "nobody is refused");
        strangers.spawn(stranger());
    };
    assert_eq!((refused.0, refused.2.as_str()), (503, "BUSY"));
    assert!(has(&refused.1, "retry-after"));
    guest.hold("e", "k", &json!({"pools": {"ga": 1}})).await.expect(201);
}

/// Connections that the public listener counts.
async fn open_connections(shop: &Shop) -> u64 {
    let operator = shop.server.operator_addr().unwrap();
    let metrics = Request::new(operator, "GET", "/metrics").send().await.expect(200);
    let text = String::from_utf8(metrics.body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("onrush_connections "));
    line.unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_given_up() {
    let shop = Shop::start_with(|config| config.connections.answer_timeout_ms = 300).await;
    let address = shop.server.public_addr();
    let ask = format!("GET /api/openapi.json HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(300);
    let mut strangers = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(ask.as_bytes()).await.unwrap();
        strangers.push(stream);
    }
    let given_up = async {
        // Until all have come, none counts as gone.
        for stream in &strangers {
            stream.readable().await.unwrap();
        }
        while open_connections(&shop).await > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("their end", given_up).await;
    // What was not read is not kept either.
    let mut rest = Vec::new();
    let end = soon("the end", strangers[0].read_to_end(&mut rest)).await;
    assert!(end.is_err(), "all {} bytes came", rest.len());
}

/// A connection from an address of this machine that has been let in.
async fn connect_from(shop: &Shop, host: u8) -> Result<TcpStream, (u16, String)> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0))).unwrap();
    let address = shop.server.public_addr();
    let mut stream = BufReader::new(socket.connect(address).await.unwrap());
    let ask = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    // Whoever is not let in may find the connection closed already.
    drop(stream.write_all(ask.as_bytes()).await);
    let (status, headers) = read_head(&mut stream).await;
    if status == 200 {
        return Ok(stream.into_inner());
    }
    assert!(has(&headers, "retry-after"), "{headers:?}");
    let mut body = Vec::new();
    drop(stream.read_to_end(&mut body).await);
    let body: Value = serde_json::from_slice(&body).unwrap();
    Err((status, body["code"].as_str().unwrap().to_owned()))
}

#[tokio::test]
async fn a_full_house_says_so_and_its_operator_is_not_shut_out() {
    let shop = Shop::start_with(|config| config.connections.max_connections = 3).await;
    let mut inside = Vec::new();
    for _ in 0..3 {
        inside.push(connect_from(&shop, 1).await.unwrap());
    }
    let refused = connect_from(&shop, 1).await.unwrap_err();
    assert_eq!(refused, (503, "CONNECTIONS_FULL".into()));
    let operator = shop.server.operator_addr().unwrap();
    Request::new(operator, "GET", "/healthz").send().await.expect(200);
    inside.pop();
    // The server notices the end by itself.
    while connect_from(&shop, 1).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn one_address_has_its_share_of_connections() {
    let shop = Shop::start_with(|config| config.connections.connections_per_address = 2).await;
    let inside = [connect_from(&shop, 1).await.unwrap(), connect_from(&shop, 1).await.unwrap()];
    let refused = connect_from(&shop, 1).await.unwrap_err();
    assert_eq!(refused, (429, "TOO_MANY_CONNECTIONS".into()));
    connect_from(&shop, 2).await.unwrap();
    drop(inside);
    while connect_from(&shop, 1).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_trusted_proxy_has_no_share() {
    let shop = Shop::start_with(|config| {
        config.connections.connections_per_address = 1;
        config.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    });
    let shop = shop.await;
    let mut inside = Vec::new();
    for _ in 0..5 {
        inside.push(connect_from(&shop, 1).await.unwrap());
    }
    let other = connect_from(&shop, 2).await.unwrap();
    assert!(connect_from(&shop, 2).await.is_err());
    drop(other);
}

#[tokio::test]
async fn websockets_count_as_connections() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let open = [websocket(&guest).await, websocket(&guest).await, websocket(&guest).await];
    // Those that asked and left are forgotten as the server notices their end.
    let until = async |count: u64| {
        while open_connections(&shop).await != count {
            tokio::task::yield_now().await;
        }
    };
    soon("three of them", until(3)).await;
    drop(open);
    soon("none", until(0)).await;
}
