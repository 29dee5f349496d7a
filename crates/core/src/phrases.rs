//! Parts of the sentences that refusals are told in.

use crate::ids::{SeatId, TypeId};
use crate::phase::Phase;
use crate::prices::Priced;
use std::fmt;

/// Why a sale in this phase does not take part.
pub(crate) const fn not_open(phase: Phase) -> &'static str {
    match phase {
        Phase::Scheduled | Phase::Prequeue => "the sale is not open yet; come back when it opens",
        Phase::Open => "the sale is open; this is possible only before",
        Phase::Paused => "the sale is paused; try again when it goes on",
        Phase::Closed => "the sale is over",
    }
}

/// The part of an event that a limit is of; nothing for all of it.
pub(crate) struct Part<'a>(pub(crate) Option<&'a Priced>, pub(crate) Option<&'a TypeId>);

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(of, ticket_type) = self;
        ticket_type.map_or(Ok(()), |ticket_type| write!(f, " of type {ticket_type}"))?;
        of.map_or(Ok(()), |of| write!(f, " of {of}"))
    }
}

/// How many units of a type a booking may have.
pub(crate) struct Bounds(pub(crate) u32, pub(crate) Option<u32>);

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(min, Some(max)) => write!(f, "{min} to {max}, or none"),
            Self(min, None) => write!(f, "at least {min}, or none"),
        }
    }
}

/// Ids, with commas between them.
pub(crate) struct Listed<'a>(pub(crate) &'a [SeatId]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, seat) in self.0.iter().enumerate() {
            write!(f, "{}{seat}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
