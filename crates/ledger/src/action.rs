//! What people and services did with their keys: a row for each, also for what was refused.

use onrush_core::Time;
use onrush_core::ids::EventId;

/// One thing that was done, or tried. No body is in it, and nothing that names a buyer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The id of the request: the answer had it too.
    pub request: String,
    /// When.
    pub at: Time,
    /// Whose key; nobody's if it was a wrong one.
    pub name: Option<String>,
    /// From which address.
    pub address: String,
    /// The method.
    pub method: String,
    /// The path, with what it was about, but without users.
    pub path: String,
    /// The event, if the path names one.
    pub event: Option<EventId>,
    /// The status of the answer.
    pub status: u16,
    /// Why not; `None` if it was done.
    pub code: Option<String>,
}

/// Which actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionFilter {
    /// With this key.
    pub name: Option<String>,
    /// About this event.
    pub event: Option<EventId>,
    /// Where the page begins: the `next` of the one before.
    pub after: Option<String>,
}
