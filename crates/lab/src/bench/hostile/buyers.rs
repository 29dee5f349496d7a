//! Buyers who behave: they hold, pay and look at their booking, and come again when they are asked to.

use crate::load::{Connection, Latency, Request};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What is on sale.
pub(super) const EVENT: &str = "hall";
const BUYERS: u8 = 40;
/// What one person may have, unless the organiser says otherwise.
const UNITS_EACH: u32 = 4;
/// How long a person looks at something before the next click.
const THINKING: Duration = Duration::from_millis(250);
/// How long a buyer who is asked to come again later waits: as long as Retry-After says at least.
const COME_AGAIN: Duration = Duration::from_secs(1);
/// How often a buyer comes again before it counts as an outage.
const PATIENCE: u32 = 60;

/// What an answer says, as far as a buyer cares.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    token: String,
    #[serde(default)]
    booking: String,
    #[serde(default)]
    status: serde_json::Value,
    #[serde(default)]
    url: String,
}

/// What somebody was told is theirs.
pub(super) struct Receipt {
    token: String,
    booking: String,
}

/// What all of them bought.
pub(super) struct Bought {
    pub(super) receipts: Vec<Receipt>,
    pub(super) latency: Latency,
    /// Answers that asked to come again later.
    pub(super) sent_away: u64,
    /// Connections that were refused, or broke before the answer.
    pub(super) broken: u64,
}

/// Has everybody buy until the time is up.
pub(super) async fn buy(address: SocketAddr, until: Instant) -> Result<Bought, String> {
    let mut tasks = JoinSet::new();
    for number in 0..BUYERS {
        // Each has an address of their own, as people have.
        let source = Ipv4Addr::new(127, 0, 2, number + 1);
        tasks.spawn(Buyer::new(source, address).buy_until(until));
    }
    let mut bought =
        Bought { receipts: Vec::new(), latency: Latency::new(), sent_away: 0, broken: 0 };
    for buyer in tasks.join_all().await {
        let buyer = buyer?;
        buyer.times.into_iter().for_each(|time| bought.latency.record(time));
        bought.receipts.extend(buyer.receipts);
        bought.sent_away += buyer.sent_away;
        bought.broken += buyer.broken;
    }
    Ok(bought)
}

impl Bought {
    /// Bookings that were acknowledged and are not as they were.
    pub(super) async fn lost(&self, address: SocketAddr) -> Result<Vec<String>, String> {
        let mut lost = Vec::new();
        for (number, receipt) in (0..=u8::MAX).cycle().zip(&self.receipts) {
            // The limits count by address; so many questions are not one person's.
            let source = Ipv4Addr::new(127, 0, 4, number / 2 + 1);
            let mut asker = Buyer::new(source, address);
            let path = format!("/api/v1/bookings/{}", receipt.booking);
            let request = Request::to("GET", &path).token(&receipt.token).bare();
            let said = asker.ask(&request).await?;
            if said.status != "confirmed" {
                lost.push(format!("{} is {}", receipt.booking, said.status));
            }
        }
        Ok(lost)
    }
}

struct Buyer {
    source: Ipv4Addr,
    address: SocketAddr,
    connection: Option<Connection>,
    /// How long things took, from the first try to the answer that they are done.
    times: Vec<Duration>,
    receipts: Vec<Receipt>,
    sent_away: u64,
    broken: u64,
}

impl Buyer {
    fn new(source: Ipv4Addr, address: SocketAddr) -> Self {
        Self {
            source,
            address,
            connection: None,
            times: Vec::new(),
            receipts: Vec::new(),
            sent_away: 0,
            broken: 0,
        }
    }

    async fn buy_until(mut self, until: Instant) -> Result<Self, String> {
        while Instant::now() < until {
            let request = Request::to("POST", "/api/v1/visitors").bare();
            let token = self.ask(&request).await?.token;
            for number in 0..UNITS_EACH {
                if Instant::now() >= until {
                    break;
                }
                let booking = self.book(&token, number).await?;
                self.receipts.push(Receipt { token: token.clone(), booking });
            }
        }
        Ok(self)
    }

    /// Holds one standing place, pays for it, and waits for the confirmation.
    async fn book(&mut self, token: &str, number: u32) -> Result<String, String> {
        tokio::time::sleep(THINKING).await;
        let path = format!("/api/v1/events/{EVENT}/bookings");
        let key = format!("hold-{number}");
        let request =
            Request::to("POST", &path).token(token).key(&key).json(r#"{"pools":{"ga":1}}"#);
        let booking = self.ask(&request).await?.booking;
        tokio::time::sleep(THINKING).await;
        let path = format!("/api/v1/bookings/{booking}/payment");
        let request = Request::to("POST", &path).token(token).key("pay").bare();
        let page = self.ask(&request).await?.url;
        self.pay(&page).await?;
        let path = format!("/api/v1/bookings/{booking}");
        let request = Request::to("GET", &path).token(token).bare();
        for _ in 0..PATIENCE {
            tokio::time::sleep(THINKING).await;
            if self.ask(&request).await?.status == "confirmed" {
                return Ok(booking);
            }
        }
        Err(format!("{booking} was paid for and is not confirmed"))
    }

    /// Types a card into the gateway's page, which is another server's and not counted.
    async fn pay(&mut self, page: &str) -> Result<(), String> {
        let mut parts = page.splitn(4, '/').skip(2);
        let host = parts.next().and_then(|host| host.parse().ok());
        let (host, path) =
            host.zip(parts.next()).ok_or_else(|| format!("an odd pay page: {page}"))?;
        let card =
            Request::to("POST", &format!("/{path}")).form("card=4242424242424242&action=pay");
        let mut connection =
            Connection::open_from(self.source, host).await.map_err(|error| error.to_string())?;
        let answer = connection.exchange(card.bytes()).await.map_err(|error| error.to_string())?;
        if answer.status < 300 {
            Ok(())
        } else {
            Err(format!("the card page answered {}", answer.status))
        }
    }

    /// Asks until it is done; whoever is asked to come again comes again, and waits all the time.
    async fn ask(&mut self, request: &Request) -> Result<Said, String> {
        let first_asked = Instant::now();
        for _ in 0..PATIENCE {
            let Ok(answered) = self.try_ask(request).await else {
                self.connection = None;
                self.broken += 1;
                tokio::time::sleep(COME_AGAIN).await;
                continue;
            };
            match answered {
                (200..=299, body) => {
                    self.times.push(first_asked.elapsed());
                    return serde_json::from_slice(&body).map_err(|error| error.to_string());
                }
                (429 | 503, _) => {
                    self.sent_away += 1;
                    tokio::time::sleep(COME_AGAIN).await;
                }
                (status, body) => {
                    return Err(format!("status {status}: {}", String::from_utf8_lossy(&body)));
                }
            }
        }
        Err(format!("no answer after {PATIENCE} tries"))
    }

    async fn try_ask(&mut self, request: &Request) -> std::io::Result<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open_from(self.source, self.address).await?,
        };
        let answer = connection.exchange(request.bytes()).await?;
        let answered = (answer.status, answer.body.to_vec());
        self.connection = Some(connection);
        Ok(answered)
    }
}

/// A token for a hostile client, from the address it comes from; `None` where it gets none.
pub(super) async fn token(source: Ipv4Addr, address: SocketAddr) -> Option<String> {
    let mut connection = Connection::open_from(source, address).await.ok()?;
    let request = Request::to("POST", "/api/v1/visitors").bare();
    let answer = connection.exchange(request.bytes()).await.ok()?;
    serde_json::from_slice::<Said>(answer.body)
        .ok()
        .map(|said| said.token)
        .filter(|it| !it.is_empty())
}

/// A booking of one standing place; `None` where there is none to be had.
pub(super) async fn hold(connection: &mut Connection, token: &str, key: &str) -> Option<String> {
    let path = format!("/api/v1/events/{EVENT}/bookings");
    let request = Request::to("POST", &path).token(token).key(key).json(r#"{"pools":{"ga":1}}"#);
    let answer = connection.exchange(request.bytes()).await.ok()?;
    serde_json::from_slice::<Said>(answer.body)
        .ok()
        .map(|said| said.booking)
        .filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const BUSY: Option<&str> = Some("503 Service Unavailable");

    /// A server that gives these answers, one a request; `None` breaks the connection.
    async fn answering(answers: &'static [Option<&'static str>]) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let mut answers = answers.iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1024];
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    let Some(Some(status)) = answers.next() else { break };
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                    stream.write_all(answer.as_bytes()).await.expect("somebody listens");
                }
            }
        });
        address
    }

    #[tokio::test(start_paused = true)]
    async fn buyer_who_is_sent_away_waits_until_it_is_done() {
        let address = answering(&[BUSY, BUSY, Some("200 OK")]).await;
        let mut buyer = Buyer::new(Ipv4Addr::LOCALHOST, address);
        let asked = buyer.ask(&Request::to("POST", "/api/v1/visitors").bare()).await;
        assert!(asked.is_ok());
        assert_eq!((buyer.times.len(), buyer.sent_away, buyer.broken), (1, 2, 0));
        assert!(buyer.times[0] >= 2 * COME_AGAIN, "{:?}", buyer.times);
    }

    #[tokio::test(start_paused = true)]
    async fn buyer_whose_connection_breaks_waits_until_it_is_done() {
        let address = answering(&[None, Some("201 Created")]).await;
        let mut buyer = Buyer::new(Ipv4Addr::LOCALHOST, address);
        let asked = buyer.ask(&Request::to("POST", "/api/v1/visitors").bare()).await;
        assert!(asked.is_ok());
        assert_eq!((buyer.times.len(), buyer.sent_away, buyer.broken), (1, 0, 1));
        assert!(buyer.times[0] >= COME_AGAIN, "{:?}", buyer.times);
    }
}
