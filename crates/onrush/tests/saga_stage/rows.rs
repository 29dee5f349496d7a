//! What the ledger has in the end, wherever it is.

use super::shared::SharedLedger;
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_ledger::booking::{Booking, BookingFilter};
use onrush_ledger::money::Totals;
use onrush_ledger::saga::{Saga, SagaFilter};
use onrush_ledger::sqlite::LedgerReader;
use std::path::Path;

/// More rows than any story makes.
const ROWS: usize = 10;

pub(super) enum Rows<'a> {
    Files(LedgerReader),
    Shared(&'a SharedLedger),
}

impl Rows<'_> {
    pub(super) fn in_files(data: &Path) -> Option<Self> {
        LedgerReader::open(data).ok().map(Self::Files)
    }

    pub(super) fn booking(&self, booking: &BookingId) -> Option<Booking> {
        match self {
            Self::Files(reader) => reader.booking(booking).expect("it can be read"),
            Self::Shared(ledger) => ledger.ask(|ledger| ledger.booking(booking)),
        }
    }

    /// How many there are.
    pub(super) fn bookings(&self) -> usize {
        match self {
            Self::Files(reader) => reader.bookings(None, ROWS).expect("it can be read").rows.len(),
            Self::Shared(ledger) => {
                ledger.ask(|ledger| ledger.bookings(BookingFilter::default(), ROWS)).rows.len()
            }
        }
    }

    pub(super) fn totals(&self) -> Totals {
        match self {
            Self::Files(reader) => reader.totals().expect("it can be read"),
            Self::Shared(ledger) => ledger.ask(Ledger::totals),
        }
    }

    pub(super) fn sagas(&self) -> Vec<Saga> {
        match self {
            Self::Files(reader) => reader.sagas(None, ROWS).expect("it can be read").rows,
            Self::Shared(ledger) => {
                ledger.ask(|ledger| ledger.sagas(SagaFilter::default(), ROWS)).rows
            }
        }
    }
}
