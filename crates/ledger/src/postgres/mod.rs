//! The ledger on PostgreSQL, for any number of nodes at once.
//!
//! ```text
//! advance, begin, finish, delivered ─► writer ─┐                   one transaction a batch, then the answers
//!                            append ─► writer ─┼─► PostgreSQL
//!           other writes, and reads ─► pool ───┘      │
//!         newest, flags ◄── listener ◄────── NOTIFY ──┘            a connection of its own
//! ```
//!
//! What is answered is committed. A call that PostgreSQL does not answer in time fails as
//! [`LedgerError::Unavailable`]; connections come back by themselves. Whether they are encrypted,
//! [`Protection`] says.

mod access;
mod actions;
mod archive;
mod audits;
mod backlog;
mod bookings;
mod browsers;
mod buyers;
mod catalogue;
mod claims;
mod cluster_store;
mod database;
mod deliveries;
mod desk;
mod error;
mod fault;
mod files;
mod history;
mod lengthy;
mod mailed;
mod migrations;
mod money;
mod news;
mod nodes;
mod options;
mod projection;
mod query;
mod receipts;
mod requests;
mod retention;
mod room_nights;
mod rows;
mod sagas;
mod shared;
mod way;
mod writer;
mod writes;

pub use archive::{Appended, ArchiveHead, ArchivedRow, RowToArchive};
pub use error::PgOpenError;
pub use files::InventoryRow;
pub use history::{FeedReader, HeldHistory, HistoryFile, Hold, LEDGER, LastDecision};
pub use options::{PgOptions, Protection};
pub use shared::Flags;

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
use crate::retention::ERASED_AT_ONCE;
use crate::saga::{Saga, SagaFilter, SagaNote, SagaRecord, Transition};
use crate::session::{BrowserSession, SessionsOf};
use crate::{Ledger, LedgerError, Page, Pending, lists};
use archive::Append;
use claims::{Claimant, EngineTime};
use database::{Ask, Database};
use fault::Fault;
use lengthy::Lengthy;
use news::News;
use nodes::{Leave, Membership, Name};
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use query::{POSTGRES, PageOf};
use requests::{Beginning, Finishing, Leaving};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Config;
use way::Way;
use writer::{Answer, Lane, Slot, Writer};
use writes::Write;

/// How many times as long as anything else a page of the feed may take: it may be a long one.
const PROJECTING: u32 = 4;

/// The ledger in one PostgreSQL database, shared by any number of nodes. Dropping it lets nothing
/// more in; what is waiting is still done as long as the runtime lives. [`PgLedger::close`] waits
/// for it.
pub struct PgLedger {
    runtime: Handle,
    database: Arc<Database>,
    lengthy: Lengthy,
    writes: Writer<Write>,
    appends: Writer<Append>,
    claimant: Claimant,
    engine_time: EngineTime,
    membership: Arc<Membership>,
    news: News,
    /// For connections of one's own.
    way: Way,
    /// Tells the listener to end by being dropped.
    listening: watch::Sender<()>,
    tasks: Vec<JoinHandle<()>>,
    /// Whether one of them has panicked.
    fallen: watch::Sender<bool>,
}

/// A task that says so if it panics.
fn watched(task: JoinHandle<()>, fallen: &watch::Sender<bool>) -> JoinHandle<()> {
    let fallen = fallen.clone();
    tokio::spawn(async move {
        if let Err(error) = task.await {
            tracing::error!(%error, "a task of the ledger panicked");
            fallen.send_replace(true);
        }
    })
}

impl PgLedger {
    /// Opens the ledger at `url`, such as `postgres://user:password@host:5432/onrush`; tables are
    /// made or brought up to date. Must be called within a tokio runtime, which does the ledger's
    /// work as long as it is open.
    ///
    /// # Errors
    /// See [`PgOpenError`].
    pub async fn open(url: &str, options: PgOptions) -> Result<Self, PgOpenError> {
        let config: Config =
            url.parse().map_err(|error| PgOpenError::Address(fault::sentence(&error)))?;
        let unreachable = |fault: Fault| PgOpenError::Unreachable(fault.to_string());
        let way = Way::new(config, &options.protection).map_err(unreachable)?;
        let database = Arc::new(Database::new(&way, &options).map_err(unreachable)?);
        migrations::run(&way, database.patience()).await?;
        let deadline = Instant::now() + database.patience();
        let node: Arc<str> = database.ask_until(&Name, deadline).await.map_err(unreachable)?.into();
        let membership = Arc::new(Membership::of(node.clone()));
        let (listening, stop) = watch::channel(());
        let (news, listener) =
            news::listen(way.clone(), database.clone(), membership.clone(), stop)
                .await
                .map_err(unreachable)?;
        // However many read, what is gathered has connections of its own.
        let two = PgOptions { pool_size: 2, ..options.clone() };
        let batches = Arc::new(Database::new(&way, &two).map_err(unreachable)?);
        let (writes, writing) = Writer::start(batches.clone());
        let (appends, appending) = Writer::start(batches);
        let fallen = watch::Sender::new(false);
        Ok(Self {
            runtime: Handle::current(),
            lengthy: Lengthy::new(database.clone(), options.pool_size),
            database,
            writes,
            appends,
            claimant: Claimant { node, claim_ms: f64::from(options.claim_ms) },
            engine_time: EngineTime::default(),
            membership,
            news,
            way,
            listening,
            tasks: [listener, writing, appending].map(|task| watched(task, &fallen)).into(),
            fallen,
        })
    }

    /// Waits until a task of the ledger has panicked, and says so. The process should end then:
    /// nothing more would be written by it.
    pub fn fallen(&self) -> impl Future<Output = String> + Send + use<> {
        let mut fallen = self.fallen.subscribe();
        async move {
            if fallen.wait_for(|fallen| *fallen).await.is_err() {
                // It was closed, and all went well until then.
                std::future::pending::<()>().await;
            }
            "a task of the ledger has panicked".to_owned()
        }
    }

    /// Lets nothing more in, does and answers what is waiting, and gives back what this node took up.
    pub async fn close(self) {
        let Self { database, writes, appends, claimant, membership, listening, tasks, .. } = self;
        drop((writes, appends, listening));
        for task in tasks {
            drop(task.await);
        }
        if let Err(error) = database.ask(&Leave(claimant, membership)).await {
            tracing::warn!(%error, "what this node took up comes free only with time");
        }
        database.close();
    }

    /// Until when a caller who asks now is told something.
    fn until(&self) -> Instant {
        Instant::now() + self.database.patience()
    }

    /// What comes of a job.
    fn answer<T: Send + 'static>(&self, answer: Answer<T>, until: Instant) -> Pending<T> {
        let unavailable = |why: &str| Err(LedgerError::Unavailable(why.to_owned()));
        Box::pin(async move {
            match timeout_at(until, answer).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => unavailable("it has stopped"),
                Err(_) => unavailable("PostgreSQL does not answer in time"),
            }
        })
    }

    /// Has something written together with what else there is to write.
    fn gather<T: Send + 'static>(
        &self,
        lane: Lane,
        write: impl FnOnce(Slot<T>) -> Write,
    ) -> Pending<T> {
        let (slot, answer) = Slot::new();
        let until = self.until();
        self.writes.put(write(slot), lane, until);
        self.answer(answer, until)
    }

    /// Has something read.
    fn read<T: Send + 'static>(&self, what: impl Ask<T> + 'static) -> Pending<T> {
        let database = self.database.clone();
        Box::pin(async move { database.ask(&what).await })
    }

    /// Has rows changed or forgotten, `at_once` by each statement, until there are no more; says how
    /// many.
    fn in_portions(&self, at_once: u64, what: impl Ask<u64> + 'static) -> Pending<u64> {
        let database = self.database.clone();
        self.spawn(async move {
            let mut done = 0;
            loop {
                let rows = database.ask(&what).await?;
                done += rows;
                if rows < at_once {
                    return Ok(done);
                }
            }
        })
    }

    /// Has something written by itself, whether or not the caller waits for it.
    fn write<T: Send + 'static>(&self, what: impl Ask<T> + 'static) -> Pending<T> {
        let database = self.database.clone();
        self.spawn(async move { database.ask(&what).await })
    }

    /// Has something done to its end, whether or not the caller waits for it.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LedgerError>> + Send + 'static,
    ) -> Pending<T> {
        let task = self.runtime.spawn(work);
        Box::pin(async move {
            task.await.unwrap_or_else(|_| Err(LedgerError::Unavailable("it has stopped".into())))
        })
    }
}

impl Ledger for PgLedger {
    fn saga_record(&self, booking: &BookingId) -> Pending<Option<SagaRecord>> {
        self.read(sagas::RecordOf(booking.clone()))
    }

    fn advance(&self, transition: Transition) -> Pending<()> {
        self.gather(Lane::Always, |slot| Write::Advance(Box::new(transition), slot))
    }

    fn due(&self, at: Time, limit: usize) -> Pending<Vec<BookingId>> {
        self.engine_time.is(at);
        self.read(sagas::Due { claimant: self.claimant.clone(), at, limit })
    }

    fn next_due(&self) -> Pending<Option<Time>> {
        let now = self.engine_time.now();
        self.read(sagas::NextDue { claimant: self.claimant.clone(), now })
    }

    fn project(&self, projection: Projection) -> Pending<()> {
        let database = self.database.clone();
        let until = Instant::now() + database.patience() * PROJECTING;
        let project = projection::Project(projection, until);
        self.spawn(async move { Ok(database.ask_until(&project, until).await?) })
    }

    fn cursor(&self) -> Pending<u64> {
        self.read(projection::Cursor)
    }

    fn position(&self) -> Pending<FeedPosition> {
        self.read(projection::Position)
    }

    fn follow(&self, position: FeedPosition) -> Pending<()> {
        self.write(projection::Follow(position))
    }

    fn begin(&self, key: RequestKey, body_hash: [u8; 32], owner: u64, at: Time) -> Pending<Begun> {
        let beginning = Beginning { key, body_hash, owner, at };
        let membership = self.membership.clone();
        self.gather(Lane::Bounded, |slot| Write::Begin(beginning, membership, slot))
    }

    fn known(
        &self,
        key: RequestKey,
        body_hash: [u8; 32],
        _: u64,
        at: Time,
    ) -> Pending<Option<Begun>> {
        self.read(requests::Known { key, body_hash, at })
    }

    fn finish(&self, key: RequestKey, answer: Option<StoredAnswer>) -> Pending<()> {
        self.gather(Lane::Always, |slot| Write::Finish(Finishing { key, answer }, slot))
    }

    fn leave_behind(&self, key: RequestKey, owner: u64) -> Pending<()> {
        self.gather(Lane::Always, |slot| Write::Leave(Leaving { key, owner }, slot))
    }

    fn forget_answers(&self, before: Time) -> Pending<u64> {
        self.in_portions(requests::FORGOTTEN_AT_ONCE, requests::Forget(before))
    }

    fn set_buyer(&self, booking: &BookingId, user: &UserId, buyer: Buyer) -> Pending<()> {
        self.write(buyers::SetBuyer(booking.clone(), user.clone(), buyer))
    }

    fn correct_buyer(&self, correction: Correction) -> Pending<bool> {
        self.write(buyers::CorrectBuyer(correction))
    }

    fn buyer(&self, booking: &BookingId) -> Pending<Option<Buyer>> {
        self.read(buyers::FindBuyer(booking.clone()))
    }

    fn user_of(&self, booking: &BookingId) -> Pending<Option<UserId>> {
        self.read(buyers::UserOf(booking.clone()))
    }

    fn unset_buyer(&self, booking: &BookingId, email: &str) -> Pending<bool> {
        self.write(buyers::UnsetBuyer(booking.clone(), email.to_owned()))
    }

    fn erase_buyer(&self, whose: BuyerOf) -> Pending<u64> {
        match &whose {
            BuyerOf::Event(_) => self.in_portions(ERASED_AT_ONCE, buyers::EraseBuyer(whose)),
            BuyerOf::Booking(_) | BuyerOf::User(_) | BuyerOf::Email(_) => {
                self.write(buyers::EraseBuyer(whose))
            }
        }
    }

    fn bookings_of(
        &self,
        whose: BuyerOf,
        after: Option<BookingId>,
        limit: usize,
    ) -> Pending<Vec<BookingId>> {
        self.read(buyers::BookingsOf { whose, after, limit })
    }

    fn tell(&self, message: Message) -> Pending<()> {
        self.write(deliveries::Tell(message))
    }

    fn messages_about(&self, bookings: Vec<BookingId>) -> Pending<Vec<Message>> {
        self.read(deliveries::About(bookings))
    }

    fn events_not_over(&self, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>> {
        self.read(retention::NotOver(after, limit))
    }

    fn note_over(&self, events: Vec<EventId>, at: Time) -> Pending<()> {
        self.write(retention::NoteOver(events, at))
    }

    fn events_over(&self, by: Time, after: Option<EventId>, limit: usize) -> Pending<Vec<EventId>> {
        self.read(retention::Over { by, after, limit })
    }

    fn erase_buyers_of(&self, event: &EventId) -> Pending<u64> {
        self.write(retention::EraseOf(event.clone()))
    }

    fn link_generation(&self, booking: &BookingId) -> Pending<u32> {
        self.read(access::Generation(booking.clone()))
    }

    fn withdraw_link(&self, booking: &BookingId) -> Pending<u32> {
        self.write(access::Withdraw(booking.clone()))
    }

    fn keep_code(&self, code: CarryCode, at: Time) -> Pending<()> {
        self.write(access::KeepCode(code, at))
    }

    fn take_code(&self, hash: [u8; 32], at: Time) -> Pending<Option<UserId>> {
        self.write(access::TakeCode(hash, at))
    }

    fn booking(&self, booking: &BookingId) -> Pending<Option<Booking>> {
        self.read(bookings::Find(booking.clone()))
    }

    fn bookings(
        &self,
        filter: BookingFilter,
        limit: usize,
    ) -> Pending<Page<(Booking, Option<Buyer>)>> {
        Box::pin(bookings::list(self.database.clone(), self.lengthy.clone(), filter, limit))
    }

    fn payments(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Payment>> {
        self.read(PageOf::rows(lists::payments(&POSTGRES, &filter, limit)))
    }

    fn refunds(&self, filter: PaymentFilter, limit: usize) -> Pending<Page<Refund>> {
        self.read(PageOf::rows(lists::refunds(&POSTGRES, &filter, limit)))
    }

    fn sagas(&self, filter: SagaFilter, limit: usize) -> Pending<Page<Saga>> {
        self.read(PageOf::rows(lists::sagas(&POSTGRES, &filter, limit)))
    }

    fn history(&self, booking: &BookingId) -> Pending<Vec<SagaNote>> {
        self.read(sagas::History(booking.clone()))
    }

    fn issue_receipts(
        &self,
        series: Series,
        at: Time,
        drafts: Vec<ReceiptDraft>,
    ) -> Pending<Vec<Receipt>> {
        self.write(receipts::Issue { series, at, drafts })
    }

    fn receipt_basis(&self, bookings: Vec<BookingId>) -> Pending<Vec<ReceiptBasis>> {
        self.read(receipts::Basis(bookings))
    }

    fn receipts(&self, filter: ReceiptFilter, limit: usize) -> Pending<Page<Receipt>> {
        self.read(PageOf::rows(lists::receipts(&POSTGRES, &filter, limit)))
    }

    fn takings(
        &self,
        rule: ReceiptRule,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<Taking>> {
        self.read(receipts::takings(rule, after.as_deref(), limit))
    }

    fn open_money(&self, event: &EventId, rule: ReceiptRule) -> Pending<OpenMoney> {
        let (lengthy, until) = (self.lengthy.clone(), self.lengthy.until());
        let open = money::Open(event.clone(), rule, until);
        Box::pin(async move { lengthy.read(open, until).await })
    }

    fn totals(&self) -> Pending<Totals> {
        self.read(money::Sums)
    }

    fn backlog(&self) -> Pending<Backlog> {
        self.read(backlog::Waiting)
    }

    fn currency_of(&self, event: &EventId) -> Pending<Option<Currency>> {
        self.read(catalogue::CurrencyOf(event.clone()))
    }

    fn settings_of(&self, event: &EventId) -> Pending<Option<Settings>> {
        self.read(catalogue::SettingsOf(event.clone()))
    }

    fn set_text(&self, event: &EventId, language: &str, text: CatalogueText) -> Pending<()> {
        self.write(catalogue::SetText(event.clone(), language.to_owned(), text))
    }

    fn texts(&self, event: &EventId) -> Pending<Vec<(String, CatalogueText)>> {
        self.read(catalogue::Texts(event.clone()))
    }

    fn deliveries(&self, channel: &str, at: Time, limit: usize) -> Pending<Vec<Delivery>> {
        self.engine_time.is(at);
        let (claimant, channel) = (self.claimant.clone(), channel.to_owned());
        self.read(deliveries::Due { claimant, channel, at, limit })
    }

    fn keeps_for(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.claimant.claim_ms as u64))
    }

    fn keep_deliveries(&self, channel: &str, messages: Vec<String>) -> Pending<Vec<String>> {
        let (claimant, channel) = (self.claimant.clone(), channel.to_owned());
        self.read(deliveries::Keep { claimant, channel, messages })
    }

    fn next_delivery(&self, channel: &str) -> Pending<Option<Time>> {
        let (claimant, channel) = (self.claimant.clone(), channel.to_owned());
        self.read(deliveries::Next { claimant, channel, now: self.engine_time.now() })
    }

    fn delivered(&self, channel: &str, outcomes: Vec<(String, Delivered)>) -> Pending<()> {
        let channel = channel.to_owned();
        self.gather(Lane::Always, |slot| Write::Delivered { channel, outcomes, slot })
    }

    fn dead_letters(
        &self,
        channel: Option<String>,
        after: Option<String>,
        limit: usize,
    ) -> Pending<Page<DeadLetter>> {
        self.read(deliveries::dead(channel.as_deref(), after.as_deref(), limit))
    }

    fn replay(&self, channel: &str, message: Option<String>, at: Time) -> Pending<u64> {
        self.in_portions(REPLAYED_AT_ONCE, deliveries::Replay::of(channel, message, at))
    }

    fn may_mail(
        &self,
        address: [u8; 32],
        event: &EventId,
        message: &str,
        at: Time,
    ) -> Pending<bool> {
        let (event, message) = (event.clone(), message.to_owned());
        self.write(mailed::MayMail { address, event, message, at })
    }

    fn forget_mailed(&self, before: Time) -> Pending<u64> {
        self.in_portions(mailed::FORGOTTEN_AT_ONCE, mailed::Forget(before))
    }

    fn note_desk(&self, entry: DeskEntry, message: Option<Message>) -> Pending<bool> {
        self.write(desk::Note(entry, message))
    }

    fn settle_desk(
        &self,
        entry: &str,
        seen: Option<Time>,
        settled: Settled,
    ) -> Pending<Option<DeskEntry>> {
        self.write(desk::Settle { entry: entry.to_owned(), seen, settled })
    }

    fn desk(&self, filter: DeskFilter, limit: usize) -> Pending<Page<DeskEntry>> {
        self.read(PageOf::rows(lists::desk(&POSTGRES, &filter, limit)))
    }

    fn note_action(&self, action: Action) -> Pending<()> {
        self.write(actions::Note(action))
    }

    fn actions(&self, filter: ActionFilter, limit: usize) -> Pending<Page<Action>> {
        self.read(PageOf::rows(lists::actions(&POSTGRES, &filter, limit)))
    }

    fn forget_actions(&self, before: Time) -> Pending<u64> {
        self.in_portions(actions::FORGOTTEN_AT_ONCE, actions::Forget(before))
    }

    fn begin_session(&self, session: BrowserSession, idle_ms: i64) -> Pending<()> {
        self.write(browsers::Begin(session, idle_ms))
    }

    fn use_session(&self, id: &str, at: Time, idle_ms: i64) -> Pending<Option<BrowserSession>> {
        self.write(browsers::Used { id: id.to_owned(), at, idle_ms })
    }

    fn live_sessions(&self, at: Time, idle_ms: i64) -> Pending<Vec<BrowserSession>> {
        self.read(browsers::Live(at, idle_ms))
    }

    fn end_sessions(&self, which: SessionsOf) -> Pending<u64> {
        self.write(browsers::End(which))
    }
}
