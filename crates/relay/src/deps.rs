//! What couriers work with.

use onrush_base::auth::link::BookingLinks;
use onrush_base::tickets::TicketSigner;
use onrush_ledger::Ledger;
use onrush_store::Engine;
use onrush_store::embedded::Clock;
use std::sync::Arc;

/// What couriers work with.
#[derive(Clone)]
pub struct RelayDeps {
    /// Where the outbox is.
    pub ledger: Arc<dyn Ledger>,
    /// What knows the events.
    pub engine: Arc<dyn Engine>,
    /// What makes tickets.
    pub tickets: Arc<TicketSigner>,
    /// What makes the links of bookings.
    pub links: Arc<BookingLinks>,
    /// The time.
    pub clock: Clock,
}
