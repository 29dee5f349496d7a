//! The names of all keys in Redis. docs/design/redis-keys.md draws what is in them.

use onrush_core::ids::{EventId, UserId};

/// All events by when they were created: a sorted set.
pub(super) const EVENTS: &str = "onrush:events";

/// What each event is kept in, in the order in which every script is given them.
///
/// The event stands in braces, so that Redis Cluster keeps all of an event in one slot. Scripts have
/// the order from here too (`lua/include/shared.lua`).
pub(super) const PARTS: [&str; 25] = [
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
    "segments",
    "segments_free",
    "segments_open",
    "access",
    "channels",
    "payers",
    "extended",
];

/// The keys of one event.
#[derive(Clone, Debug)]
pub(super) struct EventKeys {
    keys: [Box<str>; PARTS.len()],
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        impl EventKeys {
            $($(#[$doc])*
            pub(super) fn $name(&self) -> &str {
                const POSITION: usize = position(stringify!($name));
                &self.keys[POSITION]
            })+
        }
    };
}

// The scripts in lua/rebuild/ are given it before the others.
const _: () = assert!(position("meta") == 0);

/// Where a part stands among [`PARTS`].
const fn position(part: &str) -> usize {
    let mut position = 0;
    while !same(PARTS[position], part) {
        position += 1;
    }
    position
}

/// Whether two texts are the same; `==` cannot be asked at compile time.
const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

parts! {
    /// Hash: where the event stands, and its settings.
    meta;
    /// Hash: pool → its counts.
    pools;
    /// Hash: pool and reason, or pool or category and channel → blocked units.
    blocked;
    /// Hash: seat → its state.
    seats;
    /// Hash: price category → its counts.
    categories;
    /// Hash: booking → everything about it.
    holds;
    /// Hash: user → units, places and bookings.
    users;
    /// Hash: user → session.
    sessions;
    /// Sorted set: those who wait and may be admitted, in order.
    queue;
    /// Sorted set: those who wait while they are in the room with another place.
    parked;
    /// Sorted set: those who wait by when they were last seen.
    lapses;
    /// Sorted set: everything else that is due at some time.
    deadlines;
    /// Hash: claim → everything about it.
    claims;
    /// Stream: the decisions, until they are archived.
    feed;
    /// Hash: user → since when they are banned, by whom and why.
    bans;
    /// Sorted set: places that are gone, by until when they are known.
    gone;
    /// Sorted set: seats side by side, by the position of the first.
    segments;
    /// Hash: the first seat's position → which of a segment's seats are free.
    segments_free;
    /// Sorted set: segments with free seats, by how many are side by side, then by rank.
    segments_open;
    /// Hash: seat → whom it is kept for, where that is somebody.
    access;
    /// Hash: channel → what it is, and what is taken through it.
    channels;
    /// Hash: payer → units of their bookings.
    payers;
    /// Hash: booking → the names of its extensions, where some had one.
    extended;
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
