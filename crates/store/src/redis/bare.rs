//! A hold as any client of Redis can run it, to measure what the function costs without us.

use super::keys::EventKeys;
use super::scripts;
use onrush_core::ids::EventId;

/// The function that holds units of one pool.
#[derive(Clone, Debug)]
pub struct BareHold {
    /// The library that it is in.
    pub library: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The event's keys, in the order it is given them.
    pub keys: Vec<String>,
}

impl BareHold {
    /// The function for holds of this event.
    ///
    /// Its arguments are `0 0 '' <request id, 32 digits> '' <booking> <user>
    /// {"pools":{"<pool>":<n>}} <pool> <n>`.
    #[must_use]
    pub fn new(event: &EventId) -> Self {
        let keys = EventKeys::new(event).all().map(str::to_owned).collect();
        let library = scripts::HOLD_POOL.library.as_ref().expect("every script has one");
        Self { library: &library.text, name: &library.name, keys }
    }
}
