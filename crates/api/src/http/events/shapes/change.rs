//! Members that a change may leave out.

use crate::json::whole::Whole;
use serde::{Deserialize, Deserializer};

pub(in crate::http) fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

pub(in crate::http) fn whole<T>(number: Option<Whole<T>>) -> Option<T> {
    number.map(|number| number.0)
}

/// Tells a member that is `null` (`Some(None)`) from one that is left out (`None`, by `default`).
pub(in crate::http) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
