//! The ledger in one SQLite file.
//!
//! ```text
//! callers ─► mailbox ─► writer thread ─► callers        one transaction a batch, fsync, then the answers
//!        └─► mailbox ─► report threads ─► callers       long lists, each from a connection of its own
//! ```
//!
//! Short reads go through the writer too: they see all that was asked before them, and what they
//! tell of is durable. A transaction that fails changes nothing and is answered with
//! [`LedgerError::Unavailable`]; the next one is tried.

mod access;
mod actions;
mod backlog;
mod bookings;
mod browsers;
mod buyers;
mod catalogue;
mod copy;
mod database;
mod deliveries;
mod desk;
mod error;
#[cfg(feature = "testing")]
mod faults;
mod health;
#[cfg(test)]
mod interleavings;
mod mailbox;
mod mailed;
mod migrations;
mod money;
mod projection;
mod query;
mod reader;
mod receipts;
mod reports;
mod requests;
mod retention;
mod sagas;
mod statements;
mod stepped;
mod still;
mod sync;
mod writer;

pub use copy::{HeldLedger, look_over};
pub use error::OpenError;
pub use reader::LedgerReader;
pub use stepped::SteppedLedger;

use crate::access::CarryCode;
use crate::action::{Action, ActionFilter};
use crate::backlog::Backlog;
use crate::booking::{Booking, BookingFilter, Buyer, BuyerOf, Correction};
use crate::delivery::{DeadLetter, Delivered, Delivery, Message, REPLAYED_AT_ONCE};
use crate::desk::{DeskEntry, DeskFilter, Settled};
use crate::money::{OpenMoney, Payment, PaymentFilter, Refund, Totals};
use crate::projection::{CatalogueText, FeedPosition, Projection};
use crate::receipt::{
    Receipt, ReceiptBasis, ReceiptDraft, ReceiptFilter, ReceiptRule, Series, Taking,
};
use crate::request::{Begun, RequestKey, StoredAnswer};
use crate::retention::{ERASED_AT_ONCE, Whom};
use crate::saga::{Saga, SagaFilter, SagaNote, SagaRecord, Transition};
use crate::session::{BrowserSession, SessionsOf};
use crate::{Ledger, LedgerError, Page, Pending};
use health::{Check, Health};
use mailbox::{Answer, Fault, Job, Lane, Mailbox, NotTaken, job, portions};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use onrush_sqlite::Lock;
use reports::Reporter;
use statements::Statements;
use std::future::{Future, ready};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use still::Still;

#[cfg(feature = "testing")]
use faults::Faults;
#[cfg(feature = "testing")]
use std::sync::atomic::Ordering;

/// What may be waiting to be written before callers are told to come again later.
const CAPACITY: usize = 16_384;
/// Reports that may be waiting.
const REPORT_CAPACITY: usize = 256;
/// Threads for reports: a long one shall not delay all others.
const REPORT_THREADS: usize = 2;

/// The ledger in one SQLite file, `ledger.db`. Dropping it closes it, as [`SqliteLedger::close`] does.
pub struct SqliteLedger {
    writing: Arc<Mailbox>,
    reporting: Arc<Mailbox>,
    threads: Vec<sync::JoinHandle<()>>,
    /// Moves pages beside the writer.
    checkpointer: Option<thread::JoinHandle<()>>,
    health: Health,
    /// Runs while the start did not wait for its end.
    _check: Option<Check>,
    #[cfg(feature = "testing")]
    faults: Arc<Faults>,
    /// Held as long as the ledger is open.
    _lock: Lock,
}

impl SqliteLedger {
    /// Opens the ledger in the directory `dir`; what is missing is created, and older tables are
    /// brought up to date.
    ///
    /// # Errors
    /// See [`OpenError`]; the file is not changed then.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let mut still = Still::open(dir)?;
        let (checkpointer, thread) = database::start_checkpointer(&still.writer.path)?;
        still.writer.checkpointer = Some(checkpointer);
        still.ledger.checkpointer = Some(thread);
        still.run().map_err(OpenError::io(dir))
    }

    fn reporter(&self, path: &Path) -> Reporter {
        Reporter {
            path: path.to_owned(),
            mailbox: self.reporting.clone(),
            health: self.health.clone(),
            #[cfg(feature = "testing")]
            faults: self.faults.clone(),
        }
    }

    /// How far the ledger in the directory `dir` has followed its journal, also if a version before
    /// wrote it; nothing if there is none. It is not changed, so that this can be asked before a
    /// start that may be refused.
    ///
    /// # Errors
    /// See [`OpenError`]: a file that is there and is no ledger, or one that cannot be read.
    pub fn followed(dir: &Path) -> Result<Option<FeedPosition>, OpenError> {
        let path = database::path_in(dir);
        if !database::exists(&path)? {
            return Ok(None);
        }
        let (connection, version) = database::open_as_it_is(&path)?;
        let position = projection::position_of(&connection, version);
        position.map(Some).map_err(OpenError::sqlite(&path))
    }

    /// Waits until a page of the file turns out not to be what was written, and says what is wrong.
    /// The process should end then: what the ledger says is not to be believed any more.
    pub fn damaged(&self) -> impl Future<Output = String> + Send + use<> {
        let mut health = self.health.watch();
        async move {
            let found = health.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
            match found {
                Some(why) => why,
                // The ledger was closed and was whole until then.
                None => std::future::pending().await,
            }
        }
    }

    /// Lets nothing more in, does and answers what is waiting, and ends the threads.
    pub fn close(self) {}

    /// Makes everything that is asked from now on fail as if the disk were gone, or work again.
    #[cfg(feature = "testing")]
    pub fn break_for_tests(&self, broken: bool) {
        self.faults.broken.store(broken, Ordering::Release);
    }

    /// Makes the file unable to grow from now on, as if the disk were full, or able again.
    #[cfg(feature = "testing")]
    pub fn fill_for_tests(&self, full: bool) {
        self.faults.full.store(full, Ordering::Release);
    }

    /// Makes everything that is written from now on fail for whoever asked, or be answered again.
    #[cfg(feature = "testing")]
    pub fn unheard_for_tests(&self, unheard: bool) {
        self.faults.unheard.store(unheard, Ordering::Release);
    }

    fn ask<T, F>(mailbox: &Mailbox, lane: Lane, run: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Statements<'_>) -> Result<T, Fault> + Send + 'static,
    {
        Self::put(mailbox, lane, job(run))
    }

    fn put<T: Send + 'static>(
        mailbox: &Mailbox,
        lane: Lane,
        (job, answer): (Box<dyn Job>, Answer<T>),
    ) -> Pending<T> {
        let unavailable = |why: &str| LedgerError::Unavailable(why.to_owned());
        match mailbox.put(job, lane) {
            Ok(()) => Box::pin(async move {
                answer.await.unwrap_or_else(|_| Err(unavailable("it has stopped")))
            }),
            Err(NotTaken::Full) => {
                Box::pin(ready(Err(unavailable("it is asked too much at once"))))
            }
            Err(NotTaken::Closed) => Box::pin(ready(Err(unavailable("it is closed")))),
        }
    }

    /// Has something done by the writer, unless too much is waiting.
    fn ask_writer<T, F>(&self, mut run: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        Self::ask(&self.writing, Lane::Bounded, move |db| Ok(run(db)?))
    }

    /// Has something done by the writer, however much is waiting.
    fn tell_writer<T, F>(&self, run: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Statements<'_>) -> Result<T, Fault> + Send + 'static,
    {
        Self::ask(&self.writing, Lane::Always, run)
    }

    /// Has rows changed or forgotten by the writer, `at_once` by each transaction, until there are no
    /// more; says how many.
    fn in_portions<F>(&self, at_once: u64, run: F) -> Pending<u64>
    where
        F: FnMut(&Statements<'_>) -> rusqlite::Result<u64> + Send + 'static,
    {
        Self::put(&self.writing, Lane::Bounded, portions(&self.writing, at_once, run))
    }

    /// Has something read beside the writer.
    fn report<T, F>(&self, mut run: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        Self::ask(&self.reporting, Lane::Bounded, move |db| Ok(run(db)?))
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        self.writing.close();
        self.reporting.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the ledger panicked");
            }
        }
        if let Some(thread) = self.checkpointer.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that moves the ledger's pages panicked");
        }
    }
}

impl Ledger for SqliteLedger {
    fn saga_record(&self, booking: &BookingId) -> Pending<Option<SagaRecord>> {
        let booking = booking.clone();
        self.ask_writer(move |db| sagas::record(db, &booking))
    }

    fn advance(&self, transition: Transition) -> Pending<()> {
        self.tell_writer(move |db| sagas::advance(db, &transition))
    }

    fn due(&self, at: Time, limit: usize) -> Pending<Vec<BookingId>> {
        self.ask_writer(move |db| sagas::due(db, at, limit))
    }

    fn next_due(&self) -> Pending<Option<Time>> {
        self.ask_writer(sagas::next_due)
    }

    fn project(&self, projection: Projection) -> Pending<()> {
        self.tell_writer(move |db| projection::project(db, &projection))
    }

    fn cursor(&self) -> Pending<u64> {
        self.ask_writer(projection::cursor)
    }

    fn position(&self) -> Pending<FeedPosition> {
        self.ask_writer(projection::position)
    }

    fn follow(&self, position: FeedPosition) -> Pending<()> {
        self.tell_writer(move |db| Ok(projection::follow(db, &position)?))
    }

    fn begin(&self, key: RequestKey, body_hash: [u8; 32], owner: u64, at: Time) -> Pending<Begun> {
        self.ask_writer(move |db| requests::begin(db, &key, &body_hash, owner, at))
    }

    fn known(
        &self,
        key: RequestKey,
        body_hash: [u8; 32],
        owner: u64,
        at: Time,
    ) -> Pending<Option<Begun>> {
        self.ask_writer(move |db| requests::known(db, &key, &body_hash, owner, at))
    }

    fn finish(&self, key: RequestKey, answer: Option<StoredAnswer>) -> Pending<()> {
        self.tell_writer(move |db| Ok(requests::finish(db, &key, answer.as_ref())?))
    }

    fn leave_behind(&self, key: RequestKey, owner: u64) -> Pending<()> {
        self.tell_writer(move |db| Ok(requests::leave_behind(db, &key, owner)?))
    }

    fn forget_answers(&self, before: Time) -> Pending<u64> {
        self.in_portions(requests::FORGOTTEN_AT_ONCE, move |db| requests::forget(db, before))
    }

    fn set_buyer(&self, booking: &BookingId, user: &UserId, buyer: Buyer) -> Pending<()> {
        let (booking, user) = (booking.clone(), user.clone());
        self.ask_writer(move |db| db.overwriting(|| buyers::set(db, &booking, &user, &buyer)))
    }

    fn correct_buyer(&self, correction: Correction) -> Pending<bool> {
        let correct = move |db: &Statements<'_>| {
            let is_news = db.overwriting(|| buyers::correct(db, &correction))?;
            is_news.ok_or(Fault::Conflict)
        };
        Self::ask(&self.writing, Lane::Bounded, correct)
    }

    fn buyer(&self, booking: &BookingId) -> Pending<Option<Buyer>> {
        let booking = booking.clone();
        self.ask_writer(move |db| buyers::find(db, &booking))
    }

    fn user_of(&self, booking: &BookingId) -> Pending<Option<UserId>> {
        let booking = booking.clone();
        self.ask_writer(move |db| buyers::user_of(db, &booking))
    }

    fn unset_buyer(&self, booking: &BookingId, email: &str) -> Pending<bool> {
        let (booking, email) = (booking.clone(), email.to_owned());
        self.ask_writer(move |db| db.overwriting(|| buyers::remove(db, &booking, &email)))
    }

    fn erase_buyer(&self, whose: BuyerOf) -> Pending<u64> {
        let is_event = matches!(whose, BuyerOf::Event(_));
        let erase = move |db: &Statements<'_>| db.overwriting(|| buyers::erase(db, &whose));
        if is_event { self.in_portions(ERASED_AT_ONCE, erase) } else { self.ask_writer(erase) }
    }

    fn bookings_of(
        &self,
        whose: BuyerOf,
        after: Option<BookingId>,
        limit: usize,
    ) -> Pending<Vec<BookingId>> {
        self.ask_writer(move |db| buyers::bookings_of(db, &whose, after.as_ref(), limit))
    }

    fn tell(&self, message: Message) -> Pending<()> {
        self.ask_writer(move |db| deliveries::put(db, &message))
    }

    fn messages_about(&self, bookings: Vec<BookingId>) -> Pending<Vec<Message>> {
        self.report(move |db| deliveries::about(db, &bookings))
    }

    fn events_not_over(&self, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>> {
        self.report(move |db| retention::not_over(db, after.as_ref(), limit))
    }

    fn note_over(&self, events: Vec<EventId>, at: Time) -> Pending<()> {
        self.ask_writer(move |db| retention::note_over(db, &events, at))
    }

    fn events_over(&self, by: Time, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>> {
        self.report(move |db| retention::over(db, by, after.as_ref(), limit))
    }

    fn erase_buyers_of(&self, event: &EventId) -> Pending<u64> {
        let event = event.clone();
        self.ask_writer(move |db| db.overwriting(|| retention::erase(db, &event, Whom::AtRest)))
    }

    fn link_generation(&self, booking: &BookingId) -> Pending<u32> {
        let booking = booking.clone();
        self.ask_writer(move |db| access::generation(db, &booking))
    }

    fn withdraw_link(&self, booking: &BookingId) -> Pending<u32> {
        let booking = booking.clone();
        self.ask_writer(move |db| access::withdraw(db, &booking))
    }

    fn keep_code(&self, code: CarryCode, at: Time) -> Pending<()> {
        self.ask_writer(move |db| access::keep(db, &code, at))
    }

    fn take_code(&self, hash: [u8; 32], at: Time) -> Pending<Option<UserId>> {
        self.ask_writer(move |db| access::take(db, &hash, at))
    }

    fn booking(&self, booking: &BookingId) -> Pending<Option<Booking>> {
        let booking = booking.clone();
        self.ask_writer(move |db| bookings::find(db, &booking))
    }

    fn bookings(
        &self,
        filter: BookingFilter,
        limit: usize,
    ) -> Pending<Page<(Booking, Option<Buyer>)>> {
        self.report(move |db| bookings::list(db, &filter, limit))
    }

    fn payments(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Payment>> {
        self.report(move |db| money::payments(db, &filter, limit))
    }

    fn refunds(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Refund>> {
        self.report(move |db| money::refunds(db, &filter, limit))
    }

    fn sagas(&self, filter: SagaFilter, limit: usize) -> Pending<Page<Saga>> {
        self.report(move |db| sagas::list(db, &filter, limit))
    }

    fn history(&self, booking: &BookingId) -> Pending<Vec<SagaNote>> {
        let booking = booking.clone();
        self.report(move |db| sagas::history(db, &booking))
    }

    fn issue_receipts(
        &self,
        series: Series,
        at: Time,
        drafts: Vec<ReceiptDraft>,
    ) -> Pending<Vec<Receipt>> {
        self.ask_writer(move |db| receipts::issue(db, &series, at, &drafts))
    }

    fn receipt_basis(&self, bookings: Vec<BookingId>) -> Pending<Vec<ReceiptBasis>> {
        self.report(move |db| receipts::basis(db, &bookings))
    }

    fn receipts(&self, filter: ReceiptFilter, limit: usize) -> Pending<Page<Receipt>> {
        self.report(move |db| receipts::list(db, &filter, limit))
    }

    fn takings(
        &self,
        rule: ReceiptRule,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<Taking>> {
        self.report(move |db| receipts::takings(db, rule, after.as_deref(), limit))
    }

    fn open_money(&self, event: &EventId, rule: ReceiptRule) -> Pending<OpenMoney> {
        let event = event.clone();
        self.report(move |db| money::open_money(db, &event, rule))
    }

    fn totals(&self) -> Pending<Totals> {
        self.report(money::totals)
    }

    fn backlog(&self) -> Pending<Backlog> {
        self.report(backlog::backlog)
    }

    fn currency_of(&self, event: &EventId) -> Pending<Option<Currency>> {
        let event = event.clone();
        self.ask_writer(move |db| catalogue::currency_of(db, &event))
    }

    fn settings_of(&self, event: &EventId) -> Pending<Option<Settings>> {
        let event = event.clone();
        self.ask_writer(move |db| catalogue::settings_of(db, &event))
    }

    fn set_text(&self, event: &EventId, language: &str, text: CatalogueText) -> Pending<()> {
        let (event, language) = (event.clone(), language.to_owned());
        self.ask_writer(move |db| catalogue::put_text(db, &event, &language, &text))
    }

    fn texts(&self, event: &EventId) -> Pending<Vec<(String, CatalogueText)>> {
        let event = event.clone();
        self.ask_writer(move |db| catalogue::texts(db, &event))
    }

    fn deliveries(&self, channel: &str, at: Time, limit: usize) -> Pending<Vec<Delivery>> {
        let channel = channel.to_owned();
        self.ask_writer(move |db| deliveries::due(db, &channel, at, limit))
    }

    fn next_delivery(&self, channel: &str) -> Pending<Option<Time>> {
        let channel = channel.to_owned();
        self.ask_writer(move |db| deliveries::next(db, &channel))
    }

    fn delivered(&self, channel: &str, outcomes: Vec<(String, Delivered)>) -> Pending<()> {
        let channel = channel.to_owned();
        self.tell_writer(move |db| Ok(deliveries::delivered(db, &channel, &outcomes)?))
    }

    fn dead_letters(
        &self,
        channel: Option<String>,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<DeadLetter>> {
        self.report(move |db| deliveries::dead(db, channel.as_deref(), after.as_deref(), limit))
    }

    fn replay(&self, channel: &str, message: Option<String>, at: Time) -> Pending<u64> {
        let (channel, mut newest) = (channel.to_owned(), None);
        self.in_portions(REPLAYED_AT_ONCE, move |db| {
            deliveries::replay(db, &channel, message.as_deref(), at, &mut newest)
        })
    }

    fn may_mail(
        &self,
        address: [u8; 32],
        event: &EventId,
        message: &str,
        at: Time,
    ) -> Pending<bool> {
        let (event, message) = (event.clone(), message.to_owned());
        self.ask_writer(move |db| mailed::may(db, &address, &event, &message, at))
    }

    fn forget_mailed(&self, before: Time) -> Pending<u64> {
        self.in_portions(mailed::FORGOTTEN_AT_ONCE, move |db| mailed::forget(db, before))
    }

    fn note_desk(&self, entry: DeskEntry, message: Option<Message>) -> Pending<bool> {
        self.tell_writer(move |db| Ok(desk::note(db, &entry, message.as_ref())?))
    }

    fn settle_desk(
        &self,
        entry: &str,
        seen: Option<Time>,
        settled: Settled,
    ) -> Pending<Option<DeskEntry>> {
        let entry = entry.to_owned();
        let settle = move |db: &Statements<'_>| desk::settle(db, &entry, seen, &settled);
        Self::ask(&self.writing, Lane::Bounded, settle)
    }

    fn desk(&self, filter: DeskFilter, limit: usize) -> Pending<Page<DeskEntry>> {
        self.report(move |db| desk::list(db, &filter, limit))
    }

    fn note_action(&self, action: Action) -> Pending<()> {
        self.tell_writer(move |db| Ok(actions::note(db, &action)?))
    }

    fn actions(&self, filter: ActionFilter, limit: usize) -> Pending<Page<Action>> {
        self.report(move |db| actions::list(db, &filter, limit))
    }

    fn forget_actions(&self, before: Time) -> Pending<u64> {
        self.in_portions(actions::FORGOTTEN_AT_ONCE, move |db| actions::forget(db, before))
    }

    fn begin_session(&self, session: BrowserSession, idle_ms: i64) -> Pending<()> {
        self.ask_writer(move |db| browsers::begin(db, &session, idle_ms))
    }

    fn use_session(&self, id: &str, at: Time, idle_ms: i64) -> Pending<Option<BrowserSession>> {
        let id = id.to_owned();
        self.ask_writer(move |db| browsers::used(db, &id, at, idle_ms))
    }

    fn live_sessions(&self, at: Time, idle_ms: i64) -> Pending<Vec<BrowserSession>> {
        self.ask_writer(move |db| browsers::list(db, at, idle_ms))
    }

    fn end_sessions(&self, which: SessionsOf) -> Pending<u64> {
        self.tell_writer(move |db| Ok(browsers::end(db, &which)?))
    }
}
