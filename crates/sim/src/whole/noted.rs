//! What is noted of a sale by those around the server, for the judges: tickets and scans, receipts,
//! what the organiser asked for, and what the box office took.

use onrush_core::ids::{BookingId, EventId};
use serde_json::Value;
use tokio::time::Instant;

/// A ticket as somebody shows it.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) booking: BookingId,
    pub(super) number: u32,
    pub(super) code: String,
    /// What it says it is for, and of which type.
    pub(super) unit: String,
    /// How often the server had begun again from before, when it was bought.
    pub(super) restores: u64,
}

/// A receipt or credit note that a buyer was shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) document: Value,
    /// How often a ledger had been lost or put back by then.
    pub(super) losses: u64,
}

/// What a scanner said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    In,
    /// They were in already.
    Again,
    /// Their booking is not confirmed, or not known any more.
    Refused,
    /// What the scanner asked is not what a scanner may ask.
    Misunderstood,
    Unknown,
}

/// One scan.
#[derive(Clone, Debug)]
pub(super) struct Scanned {
    pub(super) booking: BookingId,
    pub(super) number: u32,
    /// The key under which it was asked, if there was one.
    pub(super) key: Option<String>,
    /// How often the server had begun again from before, when the ticket was bought.
    pub(super) bought: u64,
    /// How often it had by then.
    pub(super) restores: u64,
    pub(super) scan: Scan,
}

/// What the organiser has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Pauses,
    Resumes,
    ChangesCapacity,
    ChangesPrice,
    ChangesTitle,
    SetsTypes,
    Blocks,
    Unblocks,
    Cancels,
    Bans,
    Unbans,
}

/// What is known of something that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It was said to be done.
    Done,
    /// It was said not to be done.
    Refused,
    /// Nobody said.
    Unknown,
}

/// Something that the organiser asked for, under a word of its own.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) event: EventId,
    pub(super) what: What,
    pub(super) word: String,
    /// The booking or the visitor that it is about; nothing if it is about all of the event.
    pub(super) whom: String,
    /// The body of what was asked.
    pub(super) wanted: Value,
    pub(super) at: Instant,
    /// How often the server had begun again from before.
    pub(super) restores: u64,
    pub(super) came: Came,
}

/// Money over the counter, under the number that the till gave it.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) booking: BookingId,
    pub(super) number: String,
    /// How often the server had begun again from before.
    pub(super) restores: u64,
    pub(super) came: Came,
}
