//! What people and other systems are to be told: messages, and their delivery over each channel.

use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};

/// How long an address that got mail about a booking without money gets no other about the same event: a day.
pub const MAILED_FOR_MS: i64 = 24 * 3_600_000;

/// Deliveries of a channel that are replayed at once, so that nobody waits for it.
pub const REPLAYED_AT_ONCE: u64 = 500;

/// Something to tell. Its id is the same however often it is told, so that receivers can drop repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id; a message with an id that is known already is dropped.
    pub id: String,
    /// What it is about, such as `booking_confirmed`.
    pub kind: String,
    /// The event.
    pub event: EventId,
    /// The booking, if it is about one.
    pub booking: Option<BookingId>,
    /// When it happened.
    pub at: Time,
    /// The facts as JSON, without anything that names a person.
    pub body: String,
    /// Over which channels: `mail`, or `webhook:<name>`.
    pub channels: Vec<String>,
}

/// A message to be delivered over one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What to tell (`channels` is empty here).
    pub message: Message,
    /// Attempts so far.
    pub attempts: u32,
    /// When the first attempt could have been made.
    pub since: Time,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It arrived, or nobody is to be told any more.
    Done,
    /// It did not arrive; try again.
    Again {
        /// When.
        at: Time,
        /// What went wrong.
        error: String,
    },
    /// It was not tried: what it hangs on has not ended. That counts as no attempt.
    Waits {
        /// Until when.
        at: Time,
        /// For what.
        error: String,
    },
    /// It did not arrive, and it is given up.
    Dead {
        /// When.
        at: Time,
        /// What went wrong.
        error: String,
    },
}

impl Delivered {
    /// How many attempts it counts as.
    pub(crate) const fn attempts(&self) -> u32 {
        match self {
            Self::Done | Self::Again { .. } | Self::Dead { .. } => 1,
            Self::Waits { .. } => 0,
        }
    }
}

/// A delivery that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The message (`channels` is empty here).
    pub message: Message,
    /// The channel.
    pub channel: String,
    /// Attempts.
    pub attempts: u32,
    /// When it was given up.
    pub died_at: Time,
    /// What went wrong last.
    pub error: String,
}
