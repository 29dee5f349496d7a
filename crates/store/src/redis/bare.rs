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
    /// The command after which no node need run the event: otherwise a hold is answered `away` 30 s after
    /// the last tick, and nothing is held.
    pub unattended: [String; 4],
    /// The command that counts the event's bookings.
    pub count: [String; 2],
}

impl BareHold {
    /// The function for holds of this event.
    ///
    /// Its arguments are `0 0 '' <request id, 32 digits> '' <booking> <user>
    /// {"pools":{"<pool>":<n>}} <pool> <n>`.
    #[must_use]
    pub fn new(event: &EventId) -> Self {
        let keys = EventKeys::new(event);
        let library = scripts::HOLD_POOL.library.as_ref().expect("every script has one");
        Self {
            library: &library.text,
            name: &library.name,
            keys: keys.all().map(str::to_owned).collect(),
            unattended: ["HSET", keys.meta(), "alive_ms", "0"].map(str::to_owned),
            count: ["HLEN", keys.holds()].map(str::to_owned),
        }
    }
}
