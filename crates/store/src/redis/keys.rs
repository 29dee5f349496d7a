//! The names of all keys in Redis. docs/design/redis-keys.md draws what is in them.

use onrush_core::ids::{EventId, UserId};

/// All events by when they were created: a sorted set.
pub(super) const EVENTS: &str = "onrush:events";

/// What each event is kept in, in the order in which every script is given them.
///
/// The event stands in braces, so that Redis Cluster keeps all of an event in one slot.
const PARTS: [&str; 18] = [
    "meta",
    "pools",
    "blocked",
    "seats",
    "categories",
    "holds",
    "users",
    "sessions",
    "queue",
    "parked",
    "lapses",
    "deadlines",
    "claims",
    "feed",
    "recent0",
    "recent1",
    "bans",
    "gone",
];

/// The keys of one event.
#[derive(Clone, Debug)]
pub(super) struct EventKeys {
    keys: [Box<str>; PARTS.len()],
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident = $position:literal;)+) => {
        impl EventKeys {
            $($(#[$doc])*
            pub(super) fn $name(&self) -> &str {
                &self.keys[$position]
            })+
        }
    };
}

parts! {
    /// Hash: where the event stands, and its settings.
    meta = 0;
    /// Hash: pool → its counts.
    pools = 1;
    /// Hash: pool and reason → blocked units.
    blocked = 2;
    /// Hash: seat → its state.
    seats = 3;
    /// Hash: price category → its counts.
    categories = 4;
    /// Hash: booking → everything about it.
    holds = 5;
    /// Hash: user → units, places and bookings.
    users = 6;
    /// Hash: user → session.
    sessions = 7;
    /// Sorted set: those who wait and may be admitted, in order.
    queue = 8;
    /// Sorted set: those who wait while they are in the room with another place.
    parked = 9;
    /// Sorted set: those who wait by when they were last seen.
    lapses = 10;
    /// Sorted set: everything else that is due at some time.
    deadlines = 11;
    /// Hash: claim → everything about it.
    claims = 12;
    /// Stream: the decisions, until they are archived.
    feed = 13;
    /// Hash: user → since when they are banned, by whom and why.
    bans = 16;
    /// Sorted set: places that are gone, by until when they are known.
    gone = 17;
}

impl EventKeys {
    pub(super) fn new(event: &EventId) -> Self {
        let keys = PARTS.map(|part| format!("onrush:{{{event}}}:{part}").into());
        Self { keys }
    }

    /// All of them, as scripts are given them.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.iter().map(AsRef::as_ref)
    }
}

/// The stream of a user's places in an event, oldest first; only where several places a user
/// are allowed.
pub(super) fn places_of(event: &EventId, user: &UserId) -> String {
    format!("stream:event:{{{event}}}:user:{user}")
}
