//! The clerk: issues the receipts and credit notes that are missing, beside the payments.
//!
//! What is missing follows from the ledger's rows alone. So nothing that was paid or given back
//! costs more for it, and whatever was left when the process died is issued at the next start.

use super::receipts::{is_receipted, missing, paid_with, prices_by_amount};
use super::sagas::Sagas;
use onrush_base::config::{GatewayName, SellerSettings};
use onrush_core::Refusal;
use onrush_core::costs::{When, unit_prices};
use onrush_core::ids::{BookingId, EventId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::question::{AvailabilityNow, EventNow, SeatsNow};
use onrush_core::settings::Settings;
use onrush_core::view::AvailabilityView;
use onrush_ledger::LedgerError;
use onrush_ledger::booking::Booking;
use onrush_ledger::money::{Payment, Refund, RefundStatus};
use onrush_ledger::receipt::{
    RECEIPTS_AT_ONCE, ReceiptBasis, ReceiptDraft, ReceiptRule, Seller, Series,
};
use onrush_ledger::saga::Transition;
use onrush_store::{Ask, Engine, Failure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Payments looked at in one go.
const PAGE: usize = 1_024;
/// How long to wait for a ledger or an engine that does not answer; twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest such wait: every payment is looked at each time.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How often everything is looked at where another node may have died with work undone.
const LOOK_AGAIN: Duration = Duration::from_secs(600);
/// Events whose seats are remembered.
const EVENTS: usize = 16;

/// Who issues, in which series, and for which payments.
#[derive(Clone, Debug)]
pub struct Issuer {
    seller: Seller,
    series: Series,
    rule: ReceiptRule,
}

impl Issuer {
    /// As it is configured, beside this gateway.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn of(settings: &SellerSettings, gateway: GatewayName) -> Result<Self, String> {
        let with_sandbox = match gateway {
            GatewayName::Sandbox => true,
            GatewayName::None | GatewayName::Stripe => false,
        };
        let rule = ReceiptRule { with_sandbox, from: settings.starts_at()? };
        let SellerSettings { name, address, tax_id, series, from: _ } = settings;
        let series = series.parse().map_err(|error| format!("seller.series: {error}"))?;
        let (name, address, tax_id) = (name.clone(), address.clone(), tax_id.clone());
        Ok(Self { seller: Seller { name, address, tax_id }, series, rule })
    }

    /// For which payments it issues.
    #[must_use]
    pub const fn rule(&self) -> ReceiptRule {
        self.rule
    }
}

/// What the clerk is told, and works with.
pub(super) struct Clerk {
    issuer: Issuer,
    told: Mutex<Vec<BookingId>>,
    bell: Notify,
}

impl Clerk {
    pub(super) fn new(issuer: Issuer) -> Self {
        Self { issuer, told: Mutex::default(), bell: Notify::new() }
    }

    /// Which payments have documents.
    pub(super) const fn rule(&self) -> ReceiptRule {
        self.issuer.rule
    }

    /// Says which bookings were confirmed, or had money taken or go back.
    pub(super) fn tell(&self, bookings: impl IntoIterator<Item = BookingId>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = told.len();
        told.extend(bookings);
        if told.len() > before {
            self.bell.notify_one();
        }
    }

    fn take(&self) -> Vec<BookingId> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sagas {
    /// Writes a transition down, and tells the clerk of money that was taken or went back.
    ///
    /// A payment that the ledger had lost is found after the follower told of its booking. To be told
    /// once too often does the clerk no harm.
    pub(super) async fn advance_and_tell_clerk(
        &self,
        transition: Transition,
    ) -> Result<(), LedgerError> {
        let taken = |payment: &Payment| payment.captured_minor > 0;
        let done = |refund: &Refund| refund.status == RefundStatus::Done;
        let moved = transition.payments.iter().any(taken) || transition.refunds.iter().any(done);
        let booking = moved.then(|| transition.saga.booking.clone());
        self.ledger.advance(transition).await?;
        if let Some(clerk) = &self.clerk {
            clerk.tell(booking);
        }
        Ok(())
    }
}

/// Issues what is missing until everything stops: all of it at the start, and then what it is told of.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    let Some(clerk) = &sagas.clerk else { return };
    let mut work = Work::new(&sagas, &clerk.issuer);
    let (mut looks_at_all, mut pause) = (true, PAUSE);
    // Outside of the loop: whoever is told of something time and again looks at everything as often.
    let mut next_look = Instant::now();
    while !sagas.is_stopping() {
        let told = clerk.take();
        work.hopeless.clear();
        let done = match looks_at_all {
            true => work.issue_all().await,
            false => work.issue(&told).await,
        };
        match done {
            Ok(()) => {
                if let Some((event, bookings)) = work.not_told() {
                    let why = "what their lines cost is not known any more";
                    tracing::warn!(%event, bookings, why, "archived events lack receipts for good");
                }
                if looks_at_all {
                    next_look = Instant::now() + LOOK_AGAIN;
                }
                (looks_at_all, pause) = (false, PAUSE);
            }
            Err(why) => {
                tracing::warn!(why, "receipts are missing for now");
                // Some of it may be issued: all of it is looked for again.
                looks_at_all = true;
                tokio::select! {
                    biased;
                    () = sagas.stopped() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
        }
        let alone = sagas.cluster.is_none();
        tokio::select! {
            biased;
            () = sagas.stopped() => return,
            () = tokio::time::sleep_until(next_look), if !alone => looks_at_all = true,
            () = clerk.bell.notified() => {}
        }
    }
}

/// What is known while something is issued.
struct Work<'a> {
    sagas: &'a Sagas,
    issuer: &'a Issuer,
    /// The categories of seats, by event: they never change.
    categories: HashMap<EventId, HashMap<SeatId, Arc<str>>>,
    /// Bookings of archived events whose receipts cannot be made, as far as this go has met them.
    hopeless: BTreeMap<EventId, u64>,
    /// Events of which the log has told that.
    told_hopeless: BTreeSet<EventId>,
}

impl<'a> Work<'a> {
    fn new(sagas: &'a Sagas, issuer: &'a Issuer) -> Self {
        let (categories, hopeless) = (HashMap::new(), BTreeMap::new());
        Self { sagas, issuer, categories, hopeless, told_hopeless: BTreeSet::new() }
    }

    /// How many receipts the last go found that cannot be made, of events that the log has not told of
    /// yet, and the first of these events.
    fn not_told(&mut self) -> Option<(EventId, u64)> {
        let met = std::mem::take(&mut self.hopeless);
        let mut new = met.into_iter().filter(|(event, _)| self.told_hopeless.insert(event.clone()));
        let (first, bookings) = new.next()?;
        Some((first, new.map(|(_, more)| more).sum::<u64>() + bookings))
    }

    /// Looks at every payment that took money, the earliest first, and issues what is missing.
    async fn issue_all(&mut self) -> Result<(), String> {
        let (mut after, mut done) = (None, Ok(()));
        loop {
            let page = self.sagas.ledger.takings(self.issuer.rule, after, PAGE).await;
            let page = page.map_err(sentence)?;
            let missing = page.rows.into_iter().filter(|taking| taking.is_missing);
            let missing = missing.map(|taking| taking.booking).collect::<Vec<_>>();
            done = done.and(self.issue(&missing).await);
            after = page.next;
            if after.is_none() || self.sagas.is_stopping() {
                return done;
            }
        }
    }

    /// Issues what these bookings lack. An event that nobody tells of keeps no other from its
    /// receipts: the first trouble is told in the end.
    async fn issue(&mut self, bookings: &[BookingId]) -> Result<(), String> {
        let mut done = Ok(());
        for some in bookings.chunks(RECEIPTS_AT_ONCE) {
            let ledger = &self.sagas.ledger;
            let found = ledger.receipt_basis(some.to_vec()).await.map_err(sentence)?;
            let mut drafts = Vec::new();
            let mut events = BTreeMap::new();
            for basis in &found {
                match self.drafts(basis, &mut events).await {
                    Ok(some) => drafts.extend(some),
                    Err(why) => done = done.and(Err(why)),
                }
            }
            if !drafts.is_empty() {
                self.issue_drafts(drafts).await?;
            }
        }
        done
    }

    async fn issue_drafts(&self, drafts: Vec<ReceiptDraft>) -> Result<(), String> {
        let mut asked: BTreeSet<_> = drafts.iter().map(of_draft).collect();
        let issued =
            self.sagas.ledger.issue_receipts(self.issuer.series.clone(), self.sagas.now(), drafts);
        for receipt in issued.await.map_err(sentence)? {
            let (number, booking) = (&receipt.number, &receipt.booking);
            tracing::debug!(%number, %booking, kind = <&str>::from(receipt.kind()), "issued");
            let refund = receipt.corrects.map(|corrects| corrects.refund);
            asked.remove(&(receipt.booking, refund));
        }
        // Another node's clerk issued a credit note after these were drafted: what is missing now is
        // something else.
        if let Some(clerk) = &self.sagas.clerk {
            clerk.tell(asked.into_iter().map(|(booking, _)| booking));
        }
        Ok(())
    }

    /// What is missing of one booking; nothing, and a line in the log, if it does not add up.
    async fn drafts(
        &mut self,
        basis: &ReceiptBasis,
        events: &mut BTreeMap<EventId, Arc<Settings>>,
    ) -> Result<Vec<ReceiptDraft>, String> {
        let Issuer { seller, rule, .. } = self.issuer;
        if paid_with(basis, *rule).is_none() {
            return Ok(Vec::new());
        }
        let (event, booking) = (&basis.booking.event, &basis.booking.booking);
        if is_receipted(basis) {
            // What is given back of it follows from the receipt, whatever became of the event.
            let drafts = missing(basis, *rule, seller, None);
            return Ok(drafts.unwrap_or_else(|why| refuse(booking, &why)));
        }
        let settings = match events.get(event) {
            Some(known) => known.clone(),
            None => match self.settings(event).await.map_err(sentence)? {
                Ok(settings) => {
                    let settings = Arc::new(settings);
                    events.insert(event.clone(), settings.clone());
                    settings
                }
                Err(why) => return self.without_receipt(&basis.booking, why),
            },
        };
        let prices_minor = match self.prices(&basis.booking).await {
            Ok(prices_minor) => prices_minor,
            Err(why) => return self.without_receipt(&basis.booking, why),
        };
        let sold = Some((&*settings, prices_minor.as_slice()));
        let drafts = missing(basis, *rule, seller, sold);
        Ok(drafts.unwrap_or_else(|why| refuse(booking, &why)))
    }

    /// The engine does not tell what is needed: nothing is issued, or an error if it may tell later.
    fn without_receipt(
        &mut self,
        booking: &Booking,
        why: Failure,
    ) -> Result<Vec<ReceiptDraft>, String> {
        match why {
            // There may be many of them, at each look.
            Failure::Refused(Refusal::EventArchived { .. }) => {
                *self.hopeless.entry(booking.event.clone()).or_default() += 1;
                Ok(Vec::new())
            }
            Failure::Refused(refusal) => Ok(refuse(&booking.booking, &refusal.to_string())),
            failure => Err(failure.to_string()),
        }
    }

    /// What an organiser set. The engine tells no more of an event that was archived, and the ledger
    /// does.
    async fn settings(&self, event: &EventId) -> Result<Result<Settings, Failure>, LedgerError> {
        match self.sagas.engine.ask(event.clone(), EventNow).await {
            Ok(answer) => Ok(Ok(answer.value.settings)),
            Err(why @ Failure::Refused(Refusal::EventArchived { .. })) => {
                Ok(self.sagas.ledger.settings_of(event).await?.ok_or(why))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// The price of one unit of each line. Those that a booking does not keep the engine knows, and
    /// once the event was archived only its amount tells.
    async fn prices(&mut self, booking: &Booking) -> Result<Vec<i64>, Failure> {
        if !booking.prices_minor.is_empty() {
            return Ok(booking.prices_minor.clone());
        }
        match self.first_prices(&booking.event, &booking.lines).await {
            Err(why @ Failure::Refused(Refusal::EventArchived { .. })) => {
                prices_by_amount(booking).ok_or(why)
            }
            answered => answered,
        }
    }

    /// The first price of one unit of each line: those of a booking that keeps no others.
    async fn first_prices(&mut self, event: &EventId, lines: &Lines) -> Result<Vec<i64>, Failure> {
        let engine = self.sagas.engine.clone();
        let left = engine.ask(event.clone(), AvailabilityNow).await?.value;
        let categories = self.categories(&engine, event, lines.seats()).await?;
        prices(lines, &categories, &left)
    }

    async fn categories(
        &mut self,
        engine: &Arc<dyn Engine>,
        event: &EventId,
        seats: &[SeatId],
    ) -> Result<Vec<Arc<str>>, Failure> {
        let known = |known: &HashMap<SeatId, Arc<str>>| {
            seats.iter().map(|seat| known.get(seat).cloned()).collect::<Option<Vec<_>>>()
        };
        if seats.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(found) = self.categories.get(event).and_then(known) {
            return Ok(found);
        }
        let views = engine.ask(event.clone(), SeatsNow).await?.value;
        let by_seat = views.into_iter().map(|view| (view.seat, view.category)).collect();
        let found = known(&by_seat);
        if self.categories.len() >= EVENTS {
            self.categories.clear();
        }
        self.categories.insert(event.clone(), by_seat);
        found.ok_or_else(|| Refusal::SeatNotFound { seat: seats[0].clone() }.into())
    }
}

/// Says why nothing is issued of a booking.
fn refuse(booking: &BookingId, why: &str) -> Vec<ReceiptDraft> {
    tracing::error!(%booking, why, "no receipt is issued");
    Vec::new()
}

/// What a draft is about: of each there is one document.
fn of_draft(draft: &ReceiptDraft) -> (BookingId, Option<String>) {
    (draft.booking.clone(), draft.refund.clone())
}

fn prices(
    lines: &Lines,
    categories: &[Arc<str>],
    left: &AvailabilityView,
) -> Result<Vec<i64>, Failure> {
    Ok(unit_prices(lines, categories, left, When::First)?)
}

fn sentence(error: LedgerError) -> String {
    error.to_string()
}

// Beside this file, and not in a folder of its own: whoever imports the clerk is in this one.
#[cfg(test)]
#[path = "clerk_tests.rs"]
mod tests;
