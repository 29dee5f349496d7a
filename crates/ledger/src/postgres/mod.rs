//! The ledger on PostgreSQL, for many nodes at once.

mod commons;
mod error;
mod options;

pub use commons::{ArchivedRow, Flags, RowToArchive};
pub use error::PgOpenError;
pub use options::PgOptions;

use crate::booking::{Booking, BookingFilter, Buyer, BuyerOf};
use crate::delivery::{DeadLetter, Delivered, Delivery};
use crate::money::{Payment, PaymentFilter, Refund, Totals};
use crate::projection::{CatalogueText, Projection};
use crate::request::{Begun, RequestKey, StoredAnswer};
use crate::saga::{File, Saga, SagaFilter, SagaNote, Transition};
use crate::{Ledger, LedgerError, Page, Pending};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId};

/// The ledger in one PostgreSQL database, shared by any number of nodes.
pub struct PgLedger {
    options: PgOptions,
}

fn unbuilt<T: Send + 'static>() -> Pending<T> {
    Box::pin(std::future::ready(Err(LedgerError::Unavailable("not built yet".into()))))
}

impl PgLedger {
    /// Opens the ledger at `url`, such as `postgres://user:password@host:5432/onrush`; tables are made or brought up to date.
    /// Must be called within a tokio runtime, which does the ledger's work as long as it is open.
    ///
    /// # Errors
    /// See [`PgOpenError`].
    pub async fn open(url: &str, options: PgOptions) -> Result<Self, PgOpenError> {
        let _ = url;
        let this = Self { options };
        match this.options.pool_size {
            0 => Ok(this),
            1.. => Err(PgOpenError::Unreachable("not built yet".into())),
        }
    }

    /// Lets nothing more in, does and answers what is waiting, and gives back what was claimed.
    pub async fn close(self) {}
}

impl Ledger for PgLedger {
    fn file(&self, booking: &BookingId) -> Pending<Option<File>> {
        let _ = (booking,);
        unbuilt()
    }

    fn advance(&self, transition: Transition) -> Pending<()> {
        let _ = (transition,);
        unbuilt()
    }

    fn due(&self, at: Time, limit: usize) -> Pending<Vec<BookingId>> {
        let _ = (at, limit);
        unbuilt()
    }

    fn next_due(&self) -> Pending<Option<Time>> {
        let _ = ();
        unbuilt()
    }

    fn project(&self, projection: Projection) -> Pending<()> {
        let _ = (projection,);
        unbuilt()
    }

    fn cursor(&self) -> Pending<u64> {
        let _ = ();
        unbuilt()
    }

    fn begin(&self, key: RequestKey, body_hash: [u8; 32], owner: u64, at: Time) -> Pending<Begun> {
        let _ = (key, body_hash, owner, at);
        unbuilt()
    }

    fn finish(&self, key: RequestKey, answer: Option<StoredAnswer>) -> Pending<()> {
        let _ = (key, answer);
        unbuilt()
    }

    fn forget_answers(&self, before: Time) -> Pending<u64> {
        let _ = (before,);
        unbuilt()
    }

    fn set_buyer(&self, booking: &BookingId, buyer: Buyer) -> Pending<()> {
        let _ = (booking, buyer);
        unbuilt()
    }

    fn buyer(&self, booking: &BookingId) -> Pending<Option<Buyer>> {
        let _ = (booking,);
        unbuilt()
    }

    fn erase_buyer(&self, whose: BuyerOf) -> Pending<u64> {
        let _ = (whose,);
        unbuilt()
    }

    fn booking(&self, booking: &BookingId) -> Pending<Option<Booking>> {
        let _ = (booking,);
        unbuilt()
    }

    fn bookings(
        &self,
        filter: BookingFilter,
        limit: usize,
    ) -> Pending<Page<(Booking, Option<Buyer>)>> {
        let _ = (filter, limit);
        unbuilt()
    }

    fn payments(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Payment>> {
        let _ = (filter, limit);
        unbuilt()
    }

    fn refunds(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Refund>> {
        let _ = (filter, limit);
        unbuilt()
    }

    fn sagas(&self, filter: SagaFilter, limit: usize) -> Pending<Page<Saga>> {
        let _ = (filter, limit);
        unbuilt()
    }

    fn history(&self, booking: &BookingId) -> Pending<Vec<SagaNote>> {
        let _ = (booking,);
        unbuilt()
    }

    fn totals(&self) -> Pending<Totals> {
        let _ = ();
        unbuilt()
    }

    fn set_text(&self, event: &EventId, language: &str, text: CatalogueText) -> Pending<()> {
        let _ = (event, language, text);
        unbuilt()
    }

    fn texts(&self, event: &EventId) -> Pending<Vec<(String, CatalogueText)>> {
        let _ = (event,);
        unbuilt()
    }

    fn deliveries(&self, channel: &str, at: Time, limit: usize) -> Pending<Vec<Delivery>> {
        let _ = (channel, at, limit);
        unbuilt()
    }

    fn next_delivery(&self, channel: &str) -> Pending<Option<Time>> {
        let _ = (channel,);
        unbuilt()
    }

    fn delivered(&self, channel: &str, outcomes: Vec<(String, Delivered)>) -> Pending<()> {
        let _ = (channel, outcomes);
        unbuilt()
    }

    fn dead_letters(
        &self,
        channel: Option<String>,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<DeadLetter>> {
        let _ = (channel, after, limit);
        unbuilt()
    }

    fn replay(&self, channel: &str, message: Option<String>, at: Time) -> Pending<u64> {
        let _ = (channel, message, at);
        unbuilt()
    }
}
