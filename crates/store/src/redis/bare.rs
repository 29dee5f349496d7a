//! A hold as any client of Redis can run it, to measure what the script costs without us.

use super::keys::EventKeys;
use super::scripts;
use onrush_core::ids::EventId;

/// The script that holds units of one pool.
#[derive(Clone, Debug)]
pub struct BareHold {
    /// Its text.
    pub text: &'static str,
    /// The event's keys, in the order the script is given them.
    pub keys: Vec<String>,
}

impl BareHold {
    /// The script for holds of this event.
    ///
    /// Its arguments are `0 0 '' <request id, 32 digits> '' <booking> <user>
    /// {"pools":{"<pool>":<n>}} <pool> <n>`.
    #[must_use]
    pub fn new(event: &EventId) -> Self {
        let keys = EventKeys::new(event).all().map(str::to_owned).collect();
        Self { text: &scripts::HOLD_POOL.text, keys }
    }
}
