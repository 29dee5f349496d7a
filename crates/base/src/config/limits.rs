//! How often visitors and addresses may ask.

use super::network::Network;
use serde::{Deserialize, Deserializer, de};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// So many a minute, and as many at once; or as many as anybody likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerMin(Option<NonZeroU32>);

impl PerMin {
    /// No limit.
    pub const OFF: Self = Self(None);

    /// So many a minute; 0 is no limit that makes sense, and becomes 1.
    #[must_use]
    pub const fn of(per_min: u32) -> Self {
        match NonZeroU32::new(per_min) {
            Some(per_min) => Self(Some(per_min)),
            None => Self(Some(NonZeroU32::MIN)),
        }
    }

    /// How many, unless it is off.
    #[must_use]
    pub const fn get(self) -> Option<NonZeroU32> {
        self.0
    }
}

impl FromStr for PerMin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::OFF),
            number => number.parse().map(|per_min| Self(Some(per_min))).map_err(|_| HOW),
        }
    }
}

const HOW: &str = "use a number of at least 1, or \"off\"";

impl<'de> Deserialize<'de> for PerMin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrOff;

        impl de::Visitor<'_> for NumberOrOff {
            type Value = PerMin;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of at least 1, or \"off\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PerMin, E> {
                let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
                number.map(|per_min| PerMin(Some(per_min))).ok_or_else(|| E::custom(HOW))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<PerMin, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(0))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerMin, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(NumberOrOff)
    }
}

/// What a visitor, and what an address (IPv6: one `/64`) may ask for in a minute, and at once. Each
/// process counts by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Requests of one visitor that change something.
    pub user_writes_per_min: PerMin,
    /// Requests of one visitor that look at what is theirs: positions, bookings, tickets.
    pub user_reads_per_min: PerMin,
    /// Requests of all visitors of one address that change something.
    pub address_writes_per_min: PerMin,
    /// Requests of all visitors of one address that look at what is theirs.
    pub address_reads_per_min: PerMin,
    /// Places in queues that one address asks for.
    pub address_joins_per_min: PerMin,
    /// Wrong keys that one address tries.
    pub address_wrong_keys_per_min: PerMin,
    /// Networks whose addresses have no limit as addresses, such as those of the shop's own
    /// servers; their visitors have theirs, and wrong keys are limited everywhere.
    pub exempt_networks: Vec<Network>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            user_writes_per_min: PerMin::of(120),
            user_reads_per_min: PerMin::of(300),
            address_writes_per_min: PerMin::of(6_000),
            address_reads_per_min: PerMin::of(60_000),
            address_joins_per_min: PerMin::of(300),
            address_wrong_keys_per_min: PerMin::of(10),
            exempt_networks: Vec::new(),
        }
    }
}

impl LimitSettings {
    /// No limits on visitors and their addresses, for a crowd that a test or a demonstration plays.
    /// Wrong keys are limited all the same.
    #[must_use]
    pub fn off() -> Self {
        Self {
            user_writes_per_min: PerMin::OFF,
            user_reads_per_min: PerMin::OFF,
            ..Self::without_addresses()
        }
    }

    /// No limits on visitors' addresses, for a crowd that all comes from one.
    #[must_use]
    pub fn without_addresses() -> Self {
        Self {
            address_writes_per_min: PerMin::OFF,
            address_reads_per_min: PerMin::OFF,
            address_joins_per_min: PerMin::OFF,
            ..Self::default()
        }
    }
}
