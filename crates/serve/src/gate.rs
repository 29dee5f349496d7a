//! The gate of a listener: how many connections there may be, in all and from one address.

use super::bodies::BodyTerms;
use super::files::Share;
use super::traffic::Traffic;
use super::wire::Wire;
use crate::pressure::SentAway;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use onrush_base::config::{Config, Network};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a client may accept nothing of what waits for it, unless it is configured.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections to the operator's listener: they live on files that visitors cannot have.
const OPERATORS: u32 = 64;
/// The log has at most one line in this time about connections that were turned away.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// On what terms a listener serves.
pub struct Terms {
    /// Connections at a time.
    pub connections: u32,
    /// Connections from one address (IPv6: one `/64`).
    pub per_address: u32,
    /// Networks whose connections carry many clients each: one address may have any number, and leave
    /// them idle for longer.
    pub proxies: Vec<Network>,
    /// How long a client may accept nothing of what waits for it.
    pub answer_timeout: Duration,
    /// How bodies are read.
    pub bodies: Arc<BodyTerms>,
    /// What those are told who are not served.
    pub unserved: Unserved,
}

/// What those are told who are not served.
pub struct Unserved {
    /// When all connections are taken: a whole answer, as it stands on the wire.
    pub full: Box<[u8]>,
    /// When all that one address may have are taken: the same.
    pub too_many: Box<[u8]>,
    /// When more is asked than can be done.
    pub busy: fn(SentAway) -> Response<Body>,
}

impl Default for Unserved {
    /// No more than that they are not: a listener whose connections have no end never says it.
    fn default() -> Self {
        let busy = |_| {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            answer
        };
        Self { full: Box::default(), too_many: Box::default(), busy }
    }
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
            unserved: Unserved::default(),
        }
    }
}

impl Terms {
    /// The public listener's.
    #[must_use]
    pub fn public(config: &Config, unserved: Unserved) -> Self {
        let share = Share::of_this_process(config);
        Self {
            connections: share.connections,
            per_address: share.per_address,
            proxies: config.trusted_proxies.clone(),
            answer_timeout: Duration::from_millis(config.connections.answer_timeout_ms.into()),
            bodies: Arc::new(BodyTerms::new(&config.connections)),
            unserved,
        }
    }

    /// The operator's listener's.
    #[must_use]
    pub fn operator(unserved: Unserved) -> Self {
        Self { connections: OPERATORS, unserved, ..Self::default() }
    }
}

/// Counts connections, and turns away those that are too many.
pub(super) struct Gate {
    pub(super) terms: Terms,
    pub(super) traffic: Arc<Traffic>,
    addresses: Mutex<HashMap<IpAddr, u32>>,
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
        Arc::new(Self { terms, traffic, addresses: Mutex::default(), said: Mutex::default() })
    }

    /// Counts a connection in, until what it gets is dropped.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<Counted, TurnedAway> {
        if self.traffic.connections() >= self.terms.connections.into() {
            return Err(TurnedAway::Full);
        }
        let address =
            (!self.is_proxy(peer) && self.terms.per_address < u32::MAX).then(|| subscriber(peer));
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

    /// Whether connections from there carry many clients each.
    pub(super) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.terms.proxies.iter().any(|network| network.contains(peer))
    }

    /// Tells a client why it is not let in, as far as that takes no time, and closes.
    pub(super) fn turn_away(&self, wire: impl Wire, peer: IpAddr, why: TurnedAway) {
        self.traffic.turned_away.fetch_add(1, Ordering::Relaxed);
        self.say(peer, why);
        let answer = match why {
            TurnedAway::Full => &self.terms.unserved.full,
            TurnedAway::TooMany => &self.terms.unserved.too_many,
        };
        // Whoever is gone already need not be told.
        drop(wire.turn_away(answer));
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
                    "an address has all the connections that one may have; if it is a proxy, name \
                     it in trusted_proxies"
                ),
            }
        }
    }

    fn addresses(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, u32>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose connection it is: an IPv4 address, or an IPv6 network of 64 bits, because one subscriber
/// has all of that.
#[must_use]
pub fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
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
}
