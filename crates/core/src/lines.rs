//! What a booking wants: seats, and units of pools.

use crate::ids::{PoolId, SeatId};
use crate::limits::{MAX_LINES_PER_HOLD, MAX_UNITS_PER_HOLD};
use crate::refusal::Refusal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// Some units of one pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolLine {
    /// The pool.
    pub pool: PoolId,
    /// How many units; at least 1.
    pub quantity: u32,
}

/// Seats and units of pools, in one canonical order, so that equal wishes compare equal.
///
/// Written as `{"pools": {"ga": 2}, "seats": ["A-1"]}`; what is empty is left out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Lines {
    pools: Vec<PoolLine>,
    seats: Vec<SeatId>,
}

impl Lines {
    /// Sorts the lines and adds up those of one pool.
    ///
    /// # Errors
    /// `INVALID_QUANTITY` if there is nothing in them, or a quantity is not 1 to [`MAX_UNITS_PER_HOLD`];
    /// `INVALID_LINES` if a seat stands twice, or there are more than [`MAX_LINES_PER_HOLD`] lines or
    /// [`MAX_UNITS_PER_HOLD`] units together.
    pub fn new(mut pools: Vec<PoolLine>, mut seats: Vec<SeatId>) -> Result<Self, Refusal> {
        if pools.len() + seats.len() > MAX_LINES_PER_HOLD {
            return Err(Refusal::InvalidLines { field: None, why: "use at most 400 lines".into() });
        }
        if pools.is_empty() && seats.is_empty()
            || pools.iter().any(|line| !(1..=MAX_UNITS_PER_HOLD).contains(&line.quantity))
        {
            return Err(Refusal::InvalidQuantity);
        }
        if pools.len() > 1 {
            pools.sort_unstable();
            pools.dedup_by(|later, first| {
                let same = later.pool == first.pool;
                if same {
                    first.quantity = first.quantity.saturating_add(later.quantity);
                }
                same
            });
        }
        seats.sort_unstable();
        if seats.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Refusal::InvalidLines {
                field: Some("seats".into()),
                why: "name each seat once".into(),
            });
        }
        let lines = Self { pools, seats };
        if lines.wide_units() <= u64::from(MAX_UNITS_PER_HOLD) {
            Ok(lines)
        } else {
            Err(Refusal::InvalidLines {
                field: None,
                why: "use at most 1000 units together".into(),
            })
        }
    }

    /// The pools' lines, by pool id, each pool once.
    #[must_use]
    pub fn pools(&self) -> &[PoolLine] {
        &self.pools
    }

    /// The seats, by id, each once.
    #[must_use]
    pub fn seats(&self) -> &[SeatId] {
        &self.seats
    }

    /// Units altogether: seats plus quantities; 1 to [`MAX_UNITS_PER_HOLD`].
    #[must_use]
    pub fn units(&self) -> u32 {
        u32::try_from(self.wide_units()).unwrap_or(u32::MAX)
    }

    fn wide_units(&self) -> u64 {
        let stock: u64 = self.pools.iter().map(|line| u64::from(line.quantity)).sum();
        stock + self.seats.len() as u64
    }
}

/// The pools' half as a map, which reads well in the journal.
struct PoolMap<'a>(&'a [PoolLine]);

impl Serialize for PoolMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|line| (&line.pool, line.quantity)))
    }
}

#[derive(Default)]
struct PoolList(Vec<PoolLine>);

impl<'de> Deserialize<'de> for PoolList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PoolList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of pool ids to quantities")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<PoolList, A::Error> {
                let mut pools = Vec::new();
                while let Some((pool, quantity)) = map.next_entry()? {
                    pools.push(PoolLine { pool, quantity });
                }
                Ok(PoolList(pools))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let parts = usize::from(!self.pools.is_empty()) + usize::from(!self.seats.is_empty());
        let mut out = serializer.serialize_struct("Lines", parts)?;
        if !self.pools.is_empty() {
            out.serialize_field("pools", &PoolMap(&self.pools))?;
        }
        if !self.seats.is_empty() {
            out.serialize_field("seats", &self.seats)?;
        }
        out.end()
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Raw {
            #[serde(default)]
            pools: PoolList,
            #[serde(default)]
            seats: Vec<SeatId>,
        }
        let raw = Raw::deserialize(deserializer)?;
        Lines::new(raw.pools.0, raw.seats).map_err(de::Error::custom)
    }
}
