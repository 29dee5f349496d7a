//! For how long people are known.

use serde::Deserialize;

/// For how long what names people is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// For how many days after an event is over it is known who bought; 0 is until somebody erases
    /// them.
    pub buyers_days: u32,
}
