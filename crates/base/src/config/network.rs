//! Networks: whose word about addresses is believed, and who has no limit.

use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network such as `10.0.0.0/8` or `fd00::/8`; a single address without a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    bits: u128,
    mask: u128,
}

impl Network {
    /// Whether the address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        as_v6_bits(address) & self.mask == self.bits
    }

    /// Whether every IPv4 address, or every IPv6 address, is in it.
    #[must_use]
    pub fn is_everybody(&self) -> bool {
        let has_both = |first: IpAddr, last: IpAddr| self.contains(first) && self.contains(last);
        has_both(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into())
            || has_both(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from_bits(u128::MAX).into())
    }
}

fn as_v6_bits(address: IpAddr) -> u128 {
    let v6: Ipv6Addr = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    v6.to_bits()
}

/// The text is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANetwork;

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("use a network such as 10.0.0.0/8 or fd00::/8")
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let widest: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            Some(length) => length.parse().ok().filter(|length| *length <= widest),
            None => Some(widest),
        };
        let host_bits = widest - length.ok_or(NotANetwork)?;
        let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
        Ok(Self { bits: as_v6_bits(address) & mask, mask })
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_parse_or_say_why_not() {
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(ip("192.0.2.1")) && !all.contains(ip("2001:db8::1")));
        assert!("fd00::/8".parse::<Network>().unwrap().contains(ip("fd12::1")));
        assert_eq!("10.0.0.0/33".parse::<Network>(), Err(NotANetwork));
    }

    #[test]
    fn a_network_of_all_addresses_of_a_kind_is_everybody() {
        for (text, is_everybody) in [
            ("0.0.0.0/0", true),
            ("192.0.2.1/0", true),
            ("::/0", true),
            ("::ffff:0.0.0.0/96", true),
            ("0.0.0.0/1", false),
            ("128.0.0.0/1", false),
            ("::/1", true),
            ("8000::/1", false),
            ("10.0.0.0/8", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(text.parse::<Network>().unwrap().is_everybody(), is_everybody, "{text}");
        }
    }
}
