//! A rate limit per address, in a fixed amount of memory.

use crate::auth::random;
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};

/// How many addresses are told apart. Two that fall into one slot share its allowance.
const SLOTS: usize = 1 << 16;

/// Allows each address so many a minute, and as many at once.
///
/// Each slot keeps one number: the time at which its allowance would be full again (the generic cell rate algorithm).
pub struct AddressLimiter {
    slots: Box<[AtomicI64]>,
    key: u64,
    interval_us: i64,
    burst_us: i64,
}

impl AddressLimiter {
    /// Allows `per_min` a minute.
    #[must_use]
    pub fn new(per_min: u32) -> Self {
        let interval_us = (60_000_000 / i64::from(per_min.max(1))).max(1);
        Self {
            slots: (0..SLOTS).map(|_| AtomicI64::new(0)).collect(),
            key: u64::from_le_bytes(random()),
            interval_us,
            burst_us: interval_us * i64::from(per_min.max(1)),
        }
    }

    /// Takes one from the address's allowance at `now_us`.
    ///
    /// # Errors
    /// How long to wait, in milliseconds.
    pub fn take(&self, address: IpAddr, now_us: i64) -> Result<(), u32> {
        let slot = &self.slots[self.slot(address)];
        let mut full_at = slot.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now_us) + self.interval_us;
            let early_us = next - now_us - self.burst_us;
            if early_us > 0 {
                return Err(u32::try_from(early_us / 1_000 + 1).unwrap_or(u32::MAX));
            }
            match slot.compare_exchange_weak(full_at, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(current) => full_at = current,
            }
        }
    }

    /// Gives back what [`Self::take`] took.
    pub fn give_back(&self, address: IpAddr) {
        self.slots[self.slot(address)].fetch_sub(self.interval_us, Ordering::Relaxed);
    }

    /// The slot of an IPv4 address, or of an IPv6 network of 64 bits: one subscriber has all of that.
    fn slot(&self, address: IpAddr) -> usize {
        let bits = match address.to_canonical() {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
        };
        // The key keeps an attacker from choosing whom to share a slot with.
        let mut mixed = (bits ^ self.key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^= mixed >> 29;
        mixed = mixed.wrapping_add(self.key.rotate_left(32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 48) as usize
    }
}

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

/// Who is asking, behind the proxies we trust: the last address in `X-Forwarded-For` that is not one of them.
///
/// What stands further left was written by the client, who may write anything.
#[must_use]
pub fn client_address(peer: IpAddr, forwarded_for: Option<&str>, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer;
    for hop in forwarded_for.unwrap_or_default().rsplit(',') {
        if !is_trusted(client) {
            break;
        }
        match hop.trim().parse() {
            Ok(address) => client = address,
            Err(_) => break,
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_allowance_of_a_minute_can_be_taken_at_once_and_then_comes_back_evenly() {
        let limiter = AddressLimiter::new(60);
        for _ in 0..60 {
            assert_eq!(limiter.take(ip("192.0.2.1"), 1_000_000), Ok(()));
        }
        assert!(limiter.take(ip("192.0.2.1"), 1_000_000).is_err());
        assert_eq!(limiter.take(ip("192.0.2.1"), 2_000_000), Ok(()));
        assert!(limiter.take(ip("192.0.2.1"), 2_000_000).is_err());
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let limiter = AddressLimiter::new(1);
        for _ in 0..3 {
            assert_eq!(limiter.take(ip("192.0.2.1"), 1_000_000), Ok(()));
            assert!(limiter.take(ip("192.0.2.1"), 1_000_000).is_err());
            limiter.give_back(ip("192.0.2.1"));
        }
    }

    #[test]
    fn addresses_of_one_ipv6_subscriber_share_one_allowance() {
        let limiter = AddressLimiter::new(1);
        assert_eq!(limiter.take(ip("2001:db8::1"), 1), Ok(()));
        assert!(limiter.take(ip("2001:db8::2"), 1).is_err());
    }

    #[test]
    fn forwarded_for_is_believed_only_from_trusted_proxies() {
        let trusted: Vec<Network> = vec!["10.0.0.0/8".parse().unwrap()];
        let header = Some("203.0.113.9, 198.51.100.7, 10.1.1.1");
        assert_eq!(client_address(ip("10.2.2.2"), header, &trusted), ip("198.51.100.7"));
        assert_eq!(client_address(ip("192.0.2.1"), header, &trusted), ip("192.0.2.1"));
        assert_eq!(client_address(ip("10.2.2.2"), None, &trusted), ip("10.2.2.2"));
        assert_eq!(client_address(ip("10.2.2.2"), Some("forged"), &trusted), ip("10.2.2.2"));
    }

    #[test]
    fn networks_parse_or_say_why_not() {
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(ip("192.0.2.1")) && !all.contains(ip("2001:db8::1")));
        assert!("fd00::/8".parse::<Network>().unwrap().contains(ip("fd12::1")));
        assert_eq!("10.0.0.0/33".parse::<Network>(), Err(NotANetwork));
    }
}
