//! Hostile clients, one kind each. They do not care what they are answered, and try again whenever
//! they are cut off.

use super::buyers::EVENT;
use super::buyers::{hold, token};
use super::wire::{ask_from, connect_from, connect_narrow, is_closed};
use crate::load::{Connection, Request};
use clap::ValueEnum;
use onrush_base::signature::sign;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A pause of somebody who was cut off or got nothing.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a hostile client waits for anything before it tries something else.
const BORED: Duration = Duration::from_secs(5);
/// A body that is as long as anybody is let announce for a webhook.
const BODY_BYTES: usize = 1 << 20;

/// A kind of hostile client.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Attack {
    /// WebSocket pings whose pongs nobody reads
    Pings,
    /// Bodies that are announced and never come, or come by drops
    Bodies,
    /// Seat maps that are asked for and not read
    Readers,
    /// Fresh keys for what is refused
    Keys,
    /// Guest tokens from many addresses
    Tokens,
    /// Holds that are given back at once
    Holds,
    /// Streams that nobody needs
    Streams,
    /// Messages of a gateway that never sent them
    Webhooks,
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Attack> {
    Attack::value_variants().iter().copied()
}

/// Starts clients of this kind; each says at the end what it did how often.
pub(super) fn start(
    attack: Attack,
    to: SocketAddr,
    until: Instant,
    clients: &mut JoinSet<(&'static str, u64)>,
) {
    let many = match attack {
        Attack::Pings => 8,
        Attack::Bodies => 240,
        Attack::Readers => 200,
        Attack::Keys | Attack::Holds | Attack::Webhooks => 8,
        Attack::Tokens => 16,
        Attack::Streams => 100,
    };
    for number in 0..many {
        // A few addresses for each kind: who attacks has some, and not all there are.
        let source = Ipv4Addr::new(127, 1, attack as u8, number % 16 + 1);
        clients.spawn(async move {
            let client = Client { source, to, until, number };
            match attack {
                Attack::Pings => ("pings written to sockets", client.ping().await),
                Attack::Bodies => ("bodies left unfinished", client.stall().await),
                Attack::Readers => ("seat maps not read", client.do_not_read().await),
                Attack::Keys => ("fresh keys", client.flood_keys().await),
                Attack::Tokens => ("tokens asked for", client.flood_tokens().await),
                Attack::Holds => ("holds given back", client.hold_and_cancel().await),
                Attack::Streams => ("streams opened", client.hoard_streams().await),
                Attack::Webhooks => ("webhooks forged", client.forge().await),
            }
        });
    }
}

struct Client {
    source: Ipv4Addr,
    to: SocketAddr,
    until: Instant,
    number: u8,
}

impl Client {
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    /// A token, sooner or later; `None` when the time is up.
    async fn token(&self) -> Option<String> {
        while self.goes_on() {
            if let Ok(Some(token)) = timeout(BORED, token(self.source, self.to)).await {
                return Some(token);
            }
            tokio::time::sleep(PAUSE).await;
        }
        None
    }

    async fn ping(&self) -> u64 {
        // A hundred masked pings of 125 bytes each; the mask is zero.
        let ping: Vec<u8> = [0x89, 0xfd, 0, 0, 0, 0].into_iter().chain([b'x'; 125]).collect();
        let burst = ping.repeat(100);
        let mut sent = 0;
        let Some(token) = self.token().await else { return sent };
        let head = format!(
            "GET /api/v1/events/{EVENT}/ws HTTP/1.1\r\nhost: onrush\r\nauthorization: Bearer \
             {token}\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: \
             dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        while self.goes_on() {
            if let Ok(mut stream) = connect_narrow(self.source, self.to).await
                && stream.write_all(head.as_bytes()).await.is_ok()
            {
                // The answers stay in the socket.
                while self.goes_on()
                    && matches!(timeout(BORED, stream.write_all(&burst)).await, Ok(Ok(())))
                {
                    sent += 100;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        sent
    }

    async fn stall(&self) -> u64 {
        let path = match self.number % 3 {
            0 => "/api/v1/payments/webhook/sandbox".to_owned(),
            1 => format!("/api/v1/events/{EVENT}/bookings"),
            _ => "/api/v1/visitors".to_owned(),
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: onrush\r\ncontent-type: application/json\r\n\
             content-length: {BODY_BYTES}\r\n\r\n"
        );
        let some = vec![b' '; BODY_BYTES / 2];
        let mut stalled = 0;
        while self.goes_on() {
            if let Ok(mut stream) = connect_from(self.source, self.to).await
                && stream.write_all(head.as_bytes()).await.is_ok()
            {
                stalled += 1;
                // Half of them send much of it, then drops; the others nothing but drops.
                if self.number.is_multiple_of(2) {
                    drop(timeout(BORED, stream.write_all(&some)).await);
                }
                while self.goes_on() && !is_closed(&stream) && stream.write_all(b" ").await.is_ok()
                {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        stalled
    }

    async fn do_not_read(&self) -> u64 {
        let request = Request::to("GET", &format!("/api/v1/events/{EVENT}/seats")).bare();
        let mut asked = 0;
        while self.goes_on() {
            if let Ok(mut stream) = connect_narrow(self.source, self.to).await {
                // Several in a row: each answer would wait for the one before.
                for _ in 0..4 {
                    if stream.write_all(request.bytes()).await.is_ok() {
                        asked += 1;
                    }
                }
                self.wait_for_end(&stream).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
        asked
    }

    /// Waits until the other end cuts the connection off, without reading from it.
    async fn wait_for_end(&self, stream: &TcpStream) {
        while self.goes_on() {
            if stream.take_error().ok().flatten().is_some() || stream.peer_addr().is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn flood_keys(&self) -> u64 {
        let mut sent = 0;
        while let Some(token) = self.token().await {
            let Ok(mut connection) = Connection::open_from(self.source, self.to).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(booking) = hold(&mut connection, &token, "one").await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let path = format!("/api/v1/bookings/{booking}/extend");
            while self.goes_on() {
                let key = format!("key-{sent}");
                let request = Request::to("POST", &path).token(&token).key(&key).bare();
                let asked = timeout(BORED, connection.exchange(request.bytes()));
                if !matches!(asked.await, Ok(Ok(_))) {
                    break;
                }
                sent += 1;
            }
        }
        sent
    }

    async fn flood_tokens(&self) -> u64 {
        let request = Request::to("POST", "/api/v1/visitors").bare();
        let mut asked = 0;
        while self.goes_on() {
            let Ok(mut connection) = Connection::open_from(self.source, self.to).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            while self.goes_on()
                && matches!(timeout(BORED, connection.exchange(request.bytes())).await, Ok(Ok(_)))
            {
                asked += 1;
            }
        }
        asked
    }

    async fn hold_and_cancel(&self) -> u64 {
        let mut cycles = 0_u64;
        while let Some(token) = self.token().await {
            let Ok(mut connection) = Connection::open_from(self.source, self.to).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            // A fresh token now and then, as somebody would who is told that this one has had enough.
            for number in 0..1_000 {
                if !self.goes_on() {
                    break;
                }
                let key = format!("cycle-{number}");
                let held = timeout(BORED, hold(&mut connection, &token, &key)).await;
                match held {
                    Ok(Some(booking)) => {
                        let path = format!("/api/v1/bookings/{booking}/cancel");
                        let cancel = Request::to("POST", &path).token(&token).bare();
                        if !matches!(
                            timeout(BORED, connection.exchange(cancel.bytes())).await,
                            Ok(Ok(_))
                        ) {
                            break;
                        }
                        cycles += 1;
                    }
                    Ok(None) => tokio::task::yield_now().await,
                    Err(_) => break,
                }
            }
        }
        cycles
    }

    async fn hoard_streams(&self) -> u64 {
        let mut opened = 0;
        let Some(token) = self.token().await else { return opened };
        let path = format!("/api/v1/events/{EVENT}/stream");
        let request = Request::to("GET", &path).token(&token).bare();
        while self.goes_on() {
            if let Ok(mut stream) = connect_from(self.source, self.to).await
                && stream.write_all(request.bytes()).await.is_ok()
            {
                opened += 1;
                while self.goes_on() && !is_closed(&stream) {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        opened
    }

    async fn forge(&self) -> u64 {
        let mut sent = 0_u64;
        while self.goes_on() {
            let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
            let body = format!(
                r#"{{"id":"forged-{sent}","kind":"payment.captured",
                "payment":"{EVENT}.00.000000000000","booking":"{EVENT}.00",
                "reference":"forged","amount_minor":4900,"currency":"EUR","created_s":{now_s}}}"#
            );
            let signature = sign(b"guessed-secret-guessed", body.as_bytes(), now_s);
            let request = Request::to("POST", "/api/v1/payments/webhook/sandbox");
            let request =
                request.header("onrush-signature", format_args!("{signature}")).json(&body);
            match timeout(BORED, ask_from(self.source, self.to, request.bytes())).await {
                Ok(Ok(_)) => sent += 1,
                Ok(Err(_)) | Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        sent
    }
}
