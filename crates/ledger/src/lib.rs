//! The ledger: what must be remembered about money, beside the engine's journal of stock.
//!
//! It has the catalogue and the bookings as projections of the feed, and as truths of its own the
//! sagas, payments, refunds, receipts, buyers, answers to requests with a key, and what people are
//! to be told. [`Ledger`] is the seam; it knows no particular database.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod access;
pub mod action;
pub mod backlog;
pub mod booking;
pub mod delivery;
pub mod desk;
mod lists;
pub mod money;
#[cfg(feature = "cluster")]
pub mod postgres;
pub mod projection;
pub mod receipt;
pub mod request;
pub mod retention;
mod rows;
pub mod saga;
pub mod session;
pub mod sqlite;
mod words;

use access::CarryCode;
use action::{Action, ActionFilter};
use backlog::Backlog;
use booking::{Booking, BookingFilter, Buyer, BuyerOf, Correction};
use delivery::{DeadLetter, Delivered, Delivery, Message};
use desk::{DeskEntry, DeskFilter, Settled};
use money::{OpenMoney, Payment, PaymentFilter, Refund, Totals};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, PaymentId, UserId};
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use projection::{CatalogueText, FeedPosition, Projection};
use receipt::{Receipt, ReceiptBasis, ReceiptDraft, ReceiptFilter, ReceiptRule, Series, Taking};
use request::{Begun, RequestKey, StoredAnswer};
use saga::{Saga, SagaFilter, SagaNote, SagaRecord, Transition};
use session::{BrowserSession, SessionsOf};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Why the ledger did not do what it was asked to; nothing was changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// The row has changed since it was read: read it again.
    #[error("somebody else changed it meanwhile; read it again")]
    Conflict,
    /// It cannot be read or written now. What it holds is unknown: if the process ends before it
    /// can be asked again, even this write may turn out to have been made.
    #[error("the ledger cannot be used: {0}")]
    Unavailable(String),
}

/// A future answer. What it tells of is durable by then. Dropping it does not undo what was asked.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send>>;

/// One page of a list, and where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// What to ask for to go on; `None` at the end. Opaque, and short enough for a URL; nothing
    /// comes after a text that is no `next` of the same list.
    pub next: Option<String>,
}

/// What remembers money. Every write is atomic and durable before it is answered; what was answered
/// is seen by every later read.
///
/// ```
/// use onrush_core::Time;
/// use onrush_core::saga::Step;
/// use onrush_ledger::saga::{Saga, Transition};
/// use onrush_ledger::sqlite::SqliteLedger;
/// use onrush_ledger::{Ledger, LedgerError};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let dir = tempfile::tempdir()?;
/// let ledger = SqliteLedger::open(dir.path())?;
/// let saga = Saga {
///     saga_id: "7f3a".into(),
///     booking: "gala.1".parse()?,
///     event: "gala".parse()?,
///     user: "ann".parse()?,
///     amount_minor: 5_000,
///     currency: "EUR".parse()?,
///     step: Step::ReserveSent,
///     reserve_completed_at: None,
///     payment_completed_at: None,
///     updated_at: Time(1_780_000_000_000),
///     version: 1,
///     payment: None,
///     next_at: Some(Time(1_780_000_030_000)),
///     tries: 0,
///     stuck: None,
/// };
/// let asked = Transition {
///     saga: saga.clone(),
///     payments: vec![],
///     refunds: vec![],
///     buyer: None,
///     note: "the units are asked for".into(),
///     messages: vec![],
/// };
/// ledger.advance(asked.clone()).await?;
/// assert_eq!(ledger.saga_record(&saga.booking).await?.map(|record| record.saga), Some(saga));
///
/// // Somebody else wrote this version: what is known here is old.
/// assert!(matches!(ledger.advance(asked).await, Err(LedgerError::Conflict)));
/// # Ok(())
/// # }
/// ```
pub trait Ledger: Send + Sync + 'static {
    /// Everything about one booking's money; `None` if there is no saga.
    fn saga_record(&self, booking: &BookingId) -> Pending<Option<SagaRecord>>;

    /// Writes one transition of one saga, all of it or nothing. Rows of payments and refunds are
    /// added or replaced.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] unless the stored saga's version is one less than the new one's
    /// (none stored: version 1).
    fn advance(&self, transition: Transition) -> Pending<()>;

    /// Sagas whose time to be looked at has come, the most overdue first; none that are stuck.
    /// Where several nodes share a ledger, they stay with this node for a while from then on: it is
    /// told of them again, the others are not.
    fn due(&self, at: Time, limit: usize) -> Pending<Vec<BookingId>>;

    /// When the next saga is to be looked at, stuck ones apart; one that is with another node not
    /// before it may come free.
    fn next_due(&self) -> Pending<Option<Time>>;

    /// Follows the feed: see [`Projection`]. After an error, [`Ledger::cursor`] says where to go on.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if it does not begin at the cursor.
    fn project(&self, projection: Projection) -> Pending<()>;

    /// How far the feed was followed: the number of the last decision that was projected, 0 at first.
    fn cursor(&self) -> Pending<u64>;

    /// The same, with the journal that was followed, as far as that was said.
    fn position(&self) -> Pending<FeedPosition>;

    /// Says which journal is followed, and from where on, whatever was known of that before.
    fn follow(&self, position: FeedPosition) -> Pending<()>;

    /// Says that a request with a key begins. `owner` names this run of the process: what another
    /// run left unfinished begins anew, unless it comes with another body, or is the run of another
    /// node that lives. What began 24 hours ago or earlier counts no more, whatever became of it.
    fn begin(&self, key: RequestKey, body_hash: [u8; 32], owner: u64, at: Time) -> Pending<Begun>;

    /// What is known of a request, which does not begin by this; `None` if it would begin.
    fn known(
        &self,
        key: RequestKey,
        body_hash: [u8; 32],
        owner: u64,
        at: Time,
    ) -> Pending<Option<Begun>>;

    /// Keeps the answer to a request that began, until 24 hours after its beginning; `None` forgets
    /// that it began. An answer that is kept already stays. The oldest go before their time where
    /// one scope or one asker has more than [`request::KEPT_PER_SCOPE`] or
    /// [`request::KEPT_PER_ASKER`].
    fn finish(&self, key: RequestKey, answer: Option<StoredAnswer>) -> Pending<()>;

    /// Says that nobody is at a request, which may have begun in this run of the process although
    /// [`Self::begin`] failed, or whose outcome is unknown. If it did, or will yet, and has no answer, it
    /// counts as left unfinished, in every run. Whoever says so is at no other request with this key. As
    /// many of one scope and of one asker are kept as answers; what goes before its time is as good as
    /// new.
    fn leave_behind(&self, key: RequestKey, owner: u64) -> Pending<()>;

    /// Forgets requests that began before `before`, with their answers; says how many.
    fn forget_answers(&self, before: Time) -> Pending<u64>;

    /// Says who pays for a booking of this visitor's, whoever was known. If another address was, the
    /// links that went there are withdrawn with it, in one write.
    fn set_buyer(&self, booking: &BookingId, user: &UserId, buyer: Buyer) -> Pending<()>;

    /// The same in the place of the one who was read, and of nobody else. Says whether that is news: what
    /// is written already is no conflict.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if another address is known by now, or none.
    fn correct_buyer(&self, correction: Correction) -> Pending<bool>;

    /// Who pays for a booking, if it is known.
    fn buyer(&self, booking: &BookingId) -> Pending<Option<Buyer>>;

    /// Whose a booking is, if it is known: also of one that nothing is known of but its buyer.
    fn user_of(&self, booking: &BookingId) -> Pending<Option<UserId>>;

    /// Takes back that a buyer with this address pays for a booking, if another one does not by now, and
    /// nothing else: its links go on, and what was issued stays as it is. Says whether there was one.
    fn unset_buyer(&self, booking: &BookingId, email: &str) -> Pending<bool>;

    /// Forgets who a person is, wherever they bought and on whatever was issued to them, and
    /// withdraws the links of those bookings; says for how many somebody was known. By booking,
    /// visitor or event, the names of earlier buyers go too. Those of an event go
    /// [`retention::ERASED_AT_ONCE`] bookings at a time: after an error, the first may be gone.
    fn erase_buyer(&self, whose: BuyerOf) -> Pending<u64>;

    /// Bookings that a person has to do with, by id, after one of them: those of a visitor, or of
    /// buyers with an address.
    fn bookings_of(
        &self,
        whose: BuyerOf,
        after: Option<BookingId>,
        limit: usize,
    ) -> Pending<Vec<BookingId>>;

    /// Writes down something to tell that no decision and no payment tells of, due at once over each of
    /// its channels. One whose id is known is dropped.
    fn tell(&self, message: Message) -> Pending<()>;

    /// What was to be told of bookings, the earliest first; `channels` are those over which that is
    /// still to be done, or was given up. It is looked for among all messages there are.
    fn messages_about(&self, bookings: Vec<BookingId>) -> Pending<Vec<Message>>;

    /// Events of the catalogue that were not seen to be over, by id, after one of them.
    fn events_not_over(&self, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>>;

    /// Notes that events were seen to be over at `at`; for one that is known, the earlier time stays.
    fn note_over(&self, events: Vec<EventId>, at: Time) -> Pending<()>;

    /// Events that were seen to be over at `by` or earlier, by id, after one of them.
    fn events_over(&self, by: Time, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>>;

    /// Erases people who bought at an event, as [`Self::erase_buyer`] does for each of its bookings,
    /// but for those with a payment, a refund or something for an operator to do under way; says for
    /// how many. They are [`retention::ERASED_AT_ONCE`] at most: where it was as many, there may be
    /// more.
    fn erase_buyers_of(&self, event: &EventId) -> Pending<u64>;

    /// Which generation of links opens a booking: 0 until one is withdrawn.
    fn link_generation(&self, booking: &BookingId) -> Pending<u32>;

    /// Withdraws the links that open a booking; says which generation does from now on.
    fn withdraw_link(&self, booking: &BookingId) -> Pending<u32>;

    /// Keeps a code from `at` on, in the place of the same visitor's earlier one; those that are
    /// over are forgotten.
    fn keep_code(&self, code: CarryCode, at: Time) -> Pending<()>;

    /// Takes the code with this hash, if it is not over at `at`, and says whom it carries. Of
    /// several that take it at once, on whatever node, one gets it.
    fn take_code(&self, hash: [u8; 32], at: Time) -> Pending<Option<UserId>>;

    /// One booking as projected.
    fn booking(&self, booking: &BookingId) -> Pending<Option<Booking>>;

    /// Bookings, the latest first.
    fn bookings(
        &self,
        filter: BookingFilter,
        limit: usize,
    ) -> Pending<Page<(Booking, Option<Buyer>)>>;

    /// Payments, the latest first.
    fn payments(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Payment>>;

    /// Refunds, the latest first.
    fn refunds(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Refund>>;

    /// Sagas, the longest unchanged first.
    fn sagas(&self, filter: SagaFilter, limit: usize) -> Pending<Page<Saga>>;

    /// What happened to one saga, oldest first.
    fn history(&self, booking: &BookingId) -> Pending<Vec<SagaNote>>;

    /// Issues receipts and credit notes, all of them or none, with the next numbers of a series. One
    /// that was issued before, for the same booking and refund, is answered as it is. A credit note
    /// that was drafted from what is not so any more ([`ReceiptDraft::noted_minor`]) is left out, and
    /// the others are issued: its booking has to be looked at again.
    ///
    /// Numbers have no gap, also if the process dies, and whoever else issues at once.
    fn issue_receipts(
        &self,
        series: Series,
        at: Time,
        drafts: Vec<ReceiptDraft>,
    ) -> Pending<Vec<Receipt>>;

    /// What the documents of these bookings are made of, in their order; nothing for a booking that
    /// has no saga, or is not projected yet.
    fn receipt_basis(&self, bookings: Vec<BookingId>) -> Pending<Vec<ReceiptBasis>>;

    /// Receipts and credit notes, the last number first unless it is asked otherwise.
    fn receipts(&self, filter: ReceiptFilter, limit: usize) -> Pending<Page<Receipt>>;

    /// Payments that took money, the earliest first, and whether documents about them are missing by
    /// this rule.
    fn takings(
        &self,
        rule: ReceiptRule,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<Taking>>;

    /// What is still to come of one event's money, documents by this rule.
    fn open_money(&self, event: &EventId, rule: ReceiptRule) -> Pending<OpenMoney>;

    /// Sums over everything.
    fn totals(&self) -> Pending<Totals>;

    /// What waits, for instruments: cheap, however much there is.
    fn backlog(&self) -> Pending<Backlog>;

    /// The currency of an event's prices, if the event is in the catalogue.
    fn currency_of(&self, event: &EventId) -> Pending<Option<Currency>>;

    /// An event's settings as the feed told them last, if the event is in the catalogue: also of one
    /// that was archived since, of which the engine tells no more.
    fn settings_of(&self, event: &EventId) -> Pending<Option<Settings>>;

    /// Texts about an event in one language, replaced.
    fn set_text(&self, event: &EventId, language: &str, text: CatalogueText) -> Pending<()>;

    /// Texts about an event by language.
    fn texts(&self, event: &EventId) -> Pending<Vec<(String, CatalogueText)>>;

    /// Deliveries over `channel` that are due, the most overdue first. They stay with this node as sagas do.
    fn deliveries(&self, channel: &str, at: Time, limit: usize) -> Pending<Vec<Delivery>>;

    /// For how long deliveries that were taken up stay with a node; `None` where there is one node.
    fn keeps_for(&self) -> Option<Duration> {
        None
    }

    /// Has deliveries that were taken up stay with this node as long again; says which are its own
    /// still. Another node may have been given the rest.
    fn keep_deliveries(&self, _channel: &str, messages: Vec<String>) -> Pending<Vec<String>> {
        Box::pin(std::future::ready(Ok(messages)))
    }

    /// When the next delivery over `channel` is due.
    fn next_delivery(&self, channel: &str) -> Pending<Option<Time>>;

    /// What became of deliveries, by message id. Each counts one attempt more, unless it waits; one
    /// that is not known is passed over.
    fn delivered(&self, channel: &str, outcomes: Vec<(String, Delivered)>) -> Pending<()>;

    /// Deliveries that were given up, the latest first, of all channels or one.
    fn dead_letters(
        &self,
        channel: Option<String>,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<DeadLetter>>;

    /// Has given-up deliveries tried again from `at` on: one message's, or all of a channel's. Says
    /// how many. They begin anew, with no attempts and `since` at `at`: else the next failure would
    /// be the last again. Those of a channel do [`delivery::REPLAYED_AT_ONCE`] at a time, as an
    /// event's buyers are erased.
    fn replay(&self, channel: &str, message: Option<String>, at: Time) -> Pending<u64>;

    /// Whether `message` may be mailed to an address (a hash of it) although no money stands behind
    /// it: if no other was for the same address and event in the [`delivery::MAILED_FOR_MS`] before
    /// `at`. It counts from then on; the same message may be tried again.
    fn may_mail(
        &self,
        address: [u8; 32],
        event: &EventId,
        message: &str,
        at: Time,
    ) -> Pending<bool>;

    /// Forgets addresses that [`Self::may_mail`] was asked about at `before` or earlier; says of how
    /// many messages.
    fn forget_mailed(&self, before: Time) -> Pending<u64>;

    /// Writes down what the gateway's own desk did, with what others are to be told of it; false if
    /// it is no news. Which of the gateway's payments it is about is learned also then, by an entry that
    /// does not know.
    fn note_desk(&self, entry: DeskEntry, message: Option<Message>) -> Pending<bool>;

    /// Writes down what an operator did about an entry of the desk; the entry as it is then, if there
    /// is one. Where `seen` says when it was last news as they read it, it is
    /// [`LedgerError::Conflict`] if there was other news since.
    fn settle_desk(
        &self,
        entry: &str,
        seen: Option<Time>,
        settled: Settled,
    ) -> Pending<Option<DeskEntry>>;

    /// What the gateway's own desk did, the latest first.
    fn desk(&self, filter: DeskFilter, limit: usize) -> Pending<Page<DeskEntry>>;

    /// Writes down what was done with a key.
    fn note_action(&self, action: Action) -> Pending<()>;

    /// What was done with keys, the latest first.
    fn actions(&self, filter: ActionFilter, limit: usize) -> Pending<Page<Action>>;

    /// Forgets what was done with keys before `before`; says how many rows went.
    fn forget_actions(&self, before: Time) -> Pending<u64>;

    /// Writes a browser's session down. Those that are over, unused for `idle_ms` by then, or too
    /// many of one key ([`session::MAX_PER_KEY`]), go.
    fn begin_session(&self, session: BrowserSession, idle_ms: i64) -> Pending<()>;

    /// The session of this id, if it is not over at `at` and was used in the `idle_ms` before; it is
    /// used then.
    fn use_session(&self, id: &str, at: Time, idle_ms: i64) -> Pending<Option<BrowserSession>>;

    /// Sessions that are not over at `at` and were used in the `idle_ms` before, the latest used first.
    fn live_sessions(&self, at: Time, idle_ms: i64) -> Pending<Vec<BrowserSession>>;

    /// Ends sessions; says how many.
    fn end_sessions(&self, which: SessionsOf) -> Pending<u64>;
}

/// The booking that a payment is for: a payment's id is the booking's, a dot and 12 digits.
#[must_use]
pub fn booking_of(payment: &PaymentId) -> Option<BookingId> {
    payment.as_str().rsplit_once('.')?.0.parse().ok()
}
