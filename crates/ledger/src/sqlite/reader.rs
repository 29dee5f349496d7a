//! Reading a ledger from outside, for audits.

use super::database;
use super::error::OpenError;
use super::statements::Statements;
use super::{bookings, desk, money, projection, receipts, sagas};
use crate::booking::Booking;
use crate::desk::{DeskEntry, DeskFilter};
use crate::money::{Payment, Refund, Totals};
use crate::projection::FeedPosition;
use crate::receipt::{Receipt, ReceiptFilter};
use crate::saga::{Saga, SagaNote, SagaRecord};
use crate::{LedgerError, Page};
use onrush_core::ids::BookingId;
use rusqlite::Connection;
use std::path::Path;

/// A ledger as it was when the reader was opened, also beside a running server.
///
/// Lists are in the order of the bookings' ids, so that they can be compared row by row. What
/// `next` says is to be given as `after`. While a reader lives, the ledger's write-ahead log grows:
/// do not keep it. Its methods block.
pub struct LedgerReader {
    connection: Connection,
}

impl LedgerReader {
    /// Opens the ledger in `dir` for reading.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let path = database::path_in(dir);
        let connection = database::open_alone(&path)?;
        // The first look at a table within the transaction fixes what is seen.
        connection
            .execute_batch("BEGIN; SELECT seq FROM feed_cursor;")
            .map_err(OpenError::sqlite(&path))?;
        Ok(Self { connection })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        read(&Statements::new(&self.connection))
            .map_err(|error| LedgerError::Unavailable(error.to_string()))
    }

    /// How far the feed was followed.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] if the file cannot be read, here and below.
    pub fn cursor(&self) -> Result<u64, LedgerError> {
        self.read(projection::cursor)
    }

    /// What is wrong with the file's pages and indexes, a few lines; nothing if it is whole. Reads all of it.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn faults(&self) -> Result<Vec<String>, LedgerError> {
        self.read(|db| onrush_sqlite::faults(db.connection(), "integrity_check(20)"))
    }

    /// How far which journal was followed.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn position(&self) -> Result<FeedPosition, LedgerError> {
        self.read(projection::position)
    }

    /// Sums over everything.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn totals(&self) -> Result<Totals, LedgerError> {
        self.read(money::totals)
    }

    /// Everything about one booking's money; `None` if there is no saga.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn saga_record(&self, booking: &BookingId) -> Result<Option<SagaRecord>, LedgerError> {
        self.read(|db| sagas::record(db, booking))
    }

    /// What the gateway's own desk did, the latest first.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn desk(&self, filter: &DeskFilter, limit: usize) -> Result<Page<DeskEntry>, LedgerError> {
        self.read(|db| desk::list(db, filter, limit))
    }

    /// Receipts and credit notes, by number.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn receipts(
        &self,
        filter: &ReceiptFilter,
        limit: usize,
    ) -> Result<Page<Receipt>, LedgerError> {
        self.read(|db| receipts::list(db, filter, limit))
    }

    /// What happened to one saga, oldest first.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn history(&self, booking: &BookingId) -> Result<Vec<SagaNote>, LedgerError> {
        self.read(|db| sagas::history(db, booking))
    }

    /// One booking as projected.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn booking(&self, booking: &BookingId) -> Result<Option<Booking>, LedgerError> {
        self.read(|db| bookings::find(db, booking))
    }

    /// All sagas.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn sagas(&self, after: Option<&str>, limit: usize) -> Result<Page<Saga>, LedgerError> {
        self.read(|db| sagas::all(db, after, limit))
    }

    /// All payments.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn payments(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Payment>, LedgerError> {
        self.read(|db| money::all_payments(db, after, limit))
    }

    /// All refunds.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn refunds(&self, after: Option<&str>, limit: usize) -> Result<Page<Refund>, LedgerError> {
        self.read(|db| money::all_refunds(db, after, limit))
    }

    /// All bookings.
    ///
    /// # Errors
    /// As for [`LedgerReader::cursor`].
    pub fn bookings(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Booking>, LedgerError> {
        self.read(|db| bookings::all(db, after, limit))
    }
}
