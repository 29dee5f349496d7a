//! The gate of a listener: how many connections there may be, in all and from one address.

use super::bodies::BodyTerms;
use super::files::Share;
use super::traffic::Traffic;
use crate::config::Config;
use crate::config::Network;
use crate::http::problem::{Code, Problem};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// How long a client may accept nothing of what waits for it, unless it is configured.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections to the operator's listener: they live on files that visitors cannot have.
const OPERATORS: u32 = 64;
/// After how long to come back when the house is full.
const FULL_MS: u32 = 5_000;
/// The log has at most one line in this time about connections that were turned away.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// On what terms a listener serves.
pub struct Terms {
    /// Connections at a time.
    pub connections: u32,
    /// Connections from one address (IPv6: one `/64`).
    pub per_address: u32,
    /// Networks whose connections carry many clients each: one address may have any number.
    pub proxies: Vec<Network>,
    /// How long a client may accept nothing of what waits for it.
    pub answer_timeout: Duration,
    /// How bodies are read.
    pub bodies: Arc<BodyTerms>,
}

impl Default for Terms {
    /// Any number of connections.
    fn default() -> Self {
        Self {
            connections: u32::MAX,
            per_address: u32::MAX,
            proxies: Vec::new(),
            answer_timeout: ANSWER_TIMEOUT,
            bodies: Arc::default(),
        }
    }
}

impl Terms {
    /// The public listener's.
    #[must_use]
    pub fn public(config: &Config) -> Self {
        let share = Share::of_this_process(config);
        Self {
            connections: share.connections,
            per_address: share.per_address,
            proxies: config.trusted_proxies.clone(),
            answer_timeout: Duration::from_millis(config.connections.answer_timeout_ms.into()),
            bodies: Arc::new(BodyTerms::new(&config.connections)),
        }
    }

    /// The operator's listener's.
    #[must_use]
    pub fn operator() -> Self {
        Self { connections: OPERATORS, ..Self::default() }
    }
}

/// Counts connections, and turns away those that are too many.
pub(super) struct Gate {
    pub(super) terms: Terms,
    pub(super) traffic: Arc<Traffic>,
    addresses: Mutex<HashMap<IpAddr, u32>>,
    full: Box<[u8]>,
    too_many: Box<[u8]>,
    said: Mutex<Option<Instant>>,
}

/// Why a connection is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnedAway {
    /// As many are open as may be.
    Full,
    /// As many of its address are open as one may have.
    TooMany,
}

impl Gate {
    pub(super) fn new(terms: Terms, traffic: Arc<Traffic>) -> Arc<Self> {
        let full = "as many connections are open as may be; come back in a moment";
        let too_many = "as many connections are open from your address as one may have; close some";
        Arc::new(Self {
            terms,
            traffic,
            addresses: Mutex::default(),
            full: whole_answer(&Problem::new(Code::ConnectionsFull, full)),
            too_many: whole_answer(&Problem::new(Code::TooManyConnections, too_many)),
            said: Mutex::default(),
        })
    }

    /// Counts a connection in, until what it gets is dropped.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Counted, TurnedAway> {
        if self.traffic.connections() >= self.terms.connections.into() {
            return Err(TurnedAway::Full);
        }
        let proxied = self.terms.proxies.iter().any(|network| network.contains(peer));
        let address = (!proxied && self.terms.per_address < u32::MAX).then(|| subscriber(peer));
        if let Some(address) = address {
            let mut addresses = self.addresses();
            let open = addresses.entry(address).or_default();
            if *open >= self.terms.per_address {
                return Err(TurnedAway::TooMany);
            }
            *open += 1;
        }
        self.traffic.connections.fetch_add(1, Ordering::Relaxed);
        Ok(Counted { gate: self.clone(), address })
    }

    /// Tells a client why it is not let in, as far as that takes no time, and closes.
    pub(super) fn turn_away(&self, stream: TcpStream, peer: IpAddr, why: TurnedAway) {
        self.traffic.turned_away.fetch_add(1, Ordering::Relaxed);
        self.say(peer, why);
        let answer = match why {
            TurnedAway::Full => &self.full,
            TurnedAway::TooMany => &self.too_many,
        };
        // Whoever is gone already need not be told.
        drop(tell(stream, answer));
    }

    fn say(&self, peer: IpAddr, why: TurnedAway) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|said| said.elapsed() >= SAY_AGAIN) {
            *said = Some(Instant::now());
            match why {
                TurnedAway::Full => tracing::warn!(
                    connections = self.terms.connections,
                    "all connections are taken; new ones are answered 503 for now"
                ),
                TurnedAway::TooMany => tracing::warn!(
                    %peer,
                    per_address = self.terms.per_address,
                    "an address has all the connections that one may have; if it is a proxy, name it in trusted_proxies"
                ),
            }
        }
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, u32>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose connection it is: an IPv4 address, or an IPv6 network of 64 bits, because one subscriber has all of that.
#[must_use]
pub fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// An answer as it stands on the wire, after which the connection closes.
fn whole_answer(problem: &Problem) -> Box<[u8]> {
    let body = problem.to_json();
    let (status, text) = (&body["status"], body.to_string());
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\nRetry-After: {}\r\n\
         Connection: close\r\n\r\n{text}",
        if status == 429 { "Too Many Requests" } else { "Service Unavailable" },
        text.len(),
        FULL_MS / 1_000,
    )
    .into_bytes()
    .into()
}

/// Writes what fits into an empty socket at once, and closes it.
fn tell(stream: TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut stream = stream.into_std()?;
    stream.write_all(answer)?;
    stream.shutdown(Shutdown::Write)?;
    // Closing with a request unread would have the client see a reset instead.
    let mut unread = [0; 4_096];
    drop(stream.read(&mut unread));
    Ok(())
}

/// A connection in the count of open ones.
pub(super) struct Counted {
    gate: Arc<Gate>,
    address: Option<IpAddr>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.gate.traffic.connections.fetch_sub(1, Ordering::Relaxed);
        if let Some(address) = self.address {
            let mut addresses = self.gate.addresses();
            if let Some(open) = addresses.get_mut(&address) {
                *open -= 1;
                if *open == 0 {
                    addresses.remove(&address);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ipv6_subscriber_has_one_share_and_what_ends_is_forgotten() {
        let terms = Terms { connections: 3, per_address: 1, ..Terms::default() };
        let gate = Gate::new(terms, Arc::default());
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = gate.admit(ip("2001:db8::1")).ok().unwrap();
        assert_eq!(gate.admit(ip("2001:db8::2")).err(), Some(TurnedAway::TooMany));
        let second = gate.admit(ip("2001:db8:0:1::1")).ok().unwrap();
        let third = gate.admit(ip("192.0.2.1")).ok().unwrap();
        assert_eq!(gate.admit(ip("192.0.2.2")).err(), Some(TurnedAway::Full));
        drop((first, second, third));
        assert_eq!(gate.traffic.connections(), 0);
        assert!(gate.addresses().is_empty());
    }

    #[test]
    fn whoever_is_turned_away_gets_a_whole_answer() {
        let gate = Gate::new(Terms::default(), Arc::default());
        for (answer, status) in [(&gate.full, "503"), (&gate.too_many, "429")] {
            let text = std::str::from_utf8(answer).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
            assert!(head.contains("Retry-After: 5"), "{head}");
        }
    }
}
