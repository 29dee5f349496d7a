//! Addresses: who asks behind proxies, and which of them are one subscriber's.

use crate::config::Network;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whose allowance an address uses: an IPv4 address, or an IPv6 network of 64 bits, since one
/// subscriber has all of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subscriber(u64);

impl From<IpAddr> for Subscriber {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            // No IPv6 network that is in use begins with 32 zeros.
            IpAddr::V4(v4) => Self(u64::from(v4.to_bits())),
            IpAddr::V6(v6) => Self((v6.to_bits() >> 64) as u64),
        }
    }
}

/// Who is asking, behind the proxies we trust: the last address in the lines of `X-Forwarded-For`,
/// taken together, that is not one of them. An address may come with a port.
///
/// What stands further left was written by the client, who may write anything.
pub fn client_address<'a>(
    peer: IpAddr,
    lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    trusted: &[Network],
) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer;
    for hop in lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b',')) {
        if !is_trusted(client) {
            break;
        }
        match parse_hop(hop) {
            Some(address) => client = address.to_canonical(),
            None => break,
        }
    }
    client
}

/// Says once that somebody who is not trusted sends `X-Forwarded-For`, and once that somebody who is
/// sends none. Behind a proxy that was not named, or that does not tell, all visitors are one address,
/// and its limits are those of the whole sale.
#[derive(Debug, Default)]
pub struct Forwarding {
    untrusted_was_said: AtomicBool,
    missing_was_said: AtomicBool,
}

impl Forwarding {
    /// Looks at a request, which has the header or not.
    pub fn look(&self, peer: IpAddr, has_header: bool, trusted: &[Network]) {
        let was_said = if has_header { &self.untrusted_was_said } else { &self.missing_was_said };
        if was_said.load(Ordering::Relaxed) {
            return;
        }
        let is_trusted = trusted.iter().any(|network| network.contains(peer));
        if is_trusted == has_header || was_said.swap(true, Ordering::Relaxed) {
            return;
        }
        if has_header {
            tracing::warn!(
                %peer,
                "X-Forwarded-For is not believed of this peer: if it is a proxy of yours, name its network \
                 in trusted_proxies, or all visitors share the limits of one address; this is said once"
            );
        } else {
            tracing::warn!(
                %peer,
                "no X-Forwarded-For comes from this peer, which trusted_proxies names: if visitors come \
                 through it, have it append to that header, or they share the limits of its one address; \
                 this is said once"
            );
        }
    }
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop.trim_ascii()).ok()?;
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).or_else(bracketed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_testkit::Log;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_of_one_ipv6_subscriber_are_one() {
        let of = |text| Subscriber::from(ip(text));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn forwarding_by_somebody_who_is_not_trusted_is_said_once() {
        let (log, _guard) = Log::begin(tracing::Level::WARN);
        let trusted: Vec<Network> = vec!["10.0.0.0/8".parse().unwrap()];
        let forwarding = Forwarding::default();
        forwarding.look(ip("10.2.2.2"), true, &trusted);
        assert_eq!(log.text(), "");
        for peer in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
            forwarding.look(ip(peer), true, &trusted);
        }
        assert_eq!((log.count("trusted_proxies"), log.count("peer=192.0.2.1")), (1, 1));
        Forwarding::default().look(ip("192.0.2.2"), true, &[]);
        assert_eq!(log.count("peer=192.0.2.2"), 1, "without any that is trusted, too");
    }

    #[test]
    fn trusted_proxy_that_tells_no_address_is_named_once() {
        let (log, _guard) = Log::begin(tracing::Level::WARN);
        let trusted: Vec<Network> = vec!["10.0.0.0/8".parse().unwrap()];
        let forwarding = Forwarding::default();
        forwarding.look(ip("192.0.2.1"), false, &trusted);
        forwarding.look(ip("192.0.2.1"), false, &[]);
        forwarding.look(ip("10.2.2.2"), true, &trusted);
        assert_eq!(log.text(), "");
        for peer in ["10.2.2.2", "10.2.2.2", "10.3.3.3"] {
            forwarding.look(ip(peer), false, &trusted);
        }
        assert_eq!((log.count("no X-Forwarded-For"), log.count("peer=10.2.2.2")), (1, 1));
        forwarding.look(ip("192.0.2.1"), true, &trusted);
        assert_eq!(log.count("is not believed"), 1, "one does not keep the other from being said");
    }

    #[test]
    fn forwarded_for_is_believed_only_from_trusted_proxies() {
        let trusted: Vec<Network> = vec!["10.0.0.0/8".parse().unwrap()];
        let behind = |peer: &str, lines: &[&str]| {
            client_address(ip(peer), lines.iter().map(|line| line.as_bytes()), &trusted)
        };
        let line = "203.0.113.9, 198.51.100.7, 10.1.1.1";
        assert_eq!(behind("10.2.2.2", &[line]), ip("198.51.100.7"));
        assert_eq!(behind("192.0.2.1", &[line]), ip("192.0.2.1"));
        assert_eq!(behind("10.2.2.2", &[]), ip("10.2.2.2"));
        assert_eq!(behind("10.2.2.2", &["forged"]), ip("10.2.2.2"));
        // The nearest proxy may write a line of its own, under what the client wrote.
        assert_eq!(behind("10.2.2.2", &["203.0.113.9", "198.51.100.7"]), ip("198.51.100.7"));
        assert_eq!(behind("10.2.2.2", &["203.0.113.9", "10.1.1.1"]), ip("203.0.113.9"));
        assert_eq!(behind("10.2.2.2", &["203.0.113.9", "forged", "10.1.1.1"]), ip("10.1.1.1"));
    }

    #[test]
    fn a_forwarded_address_may_have_a_port() {
        let trusted: Vec<Network> = vec!["10.0.0.0/8".parse().unwrap()];
        for (text, address) in [
            ("192.0.2.1:4711", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            (" 192.0.2.1 ", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:", "10.0.0.1"),
            ("[192.0.2.1]", "10.0.0.1"),
            ("unknown", "10.0.0.1"),
        ] {
            let lines = std::iter::once(text.as_bytes());
            assert_eq!(client_address(ip("10.0.0.1"), lines, &trusted), ip(address), "{text}");
        }
    }
}
