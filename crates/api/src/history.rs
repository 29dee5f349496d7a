//! Why a unit is what it is: what happened to a seat or a pool, read from the feed.
//!
//! No index is kept for it: the feed is read from its beginning, which takes a few seconds for each
//! million decisions. That is what an organiser's question once in a while is worth, and no
//! visitor's. One is answered at a time.

mod channels;
pub mod person;
mod prices;
mod types;

pub use channels::ChannelChange;
pub use prices::PriceChange;
pub use types::TypesChange;

use crate::broken::Broken;
use crate::feed_page::next_page;
use crate::json::ids::{IdText, TimeMs};
use onrush_base::tickets::{Unit, units};
use onrush_core::change::{
    BookingChange, ClaimChange, DeclaimedHow, HoldChange, SetupChange, VisitorChange,
};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, ChannelId, ClaimId, EventId, PoolId, SeatId, UserId};
use onrush_core::lines::Lines;
use onrush_core::spec::Reason;
use onrush_core::{Change, Time};
use onrush_store::{Engine, FeedEntry, Seq};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use utoipa::ToSchema;

/// Steps that are told; earlier ones are left out.
const MAX_STEPS: usize = 500;

/// Whose history it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A seat's.
    Seat(SeatId),
    /// A pool's.
    Pool(PoolId),
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StepKind)]
pub enum What {
    /// It is there from now on.
    Added,
    /// It went off sale.
    Blocked,
    /// It came back on sale.
    Unblocked,
    /// It went to a channel, or from one to everybody.
    Allotted,
    /// A booking holds it.
    Held,
    /// The hold has more time.
    Extended,
    /// A payment for the hold began.
    Paying,
    /// The payment failed.
    PaymentFailed,
    /// It is sold.
    Confirmed,
    /// The hold was given back.
    Released,
    /// The hold or claim ran out.
    Expired,
    /// The sold booking was taken back.
    Cancelled,
    /// The owner of its ticket was let in.
    CheckedIn,
    /// The pool has another capacity.
    Capacity,
    /// Units were claimed at once.
    Claimed,
    /// Claimed units were given back.
    Returned,
    /// A service changed the claimed units.
    Adjusted,
}

/// One thing that happened to a seat or a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Step {
    /// The decision's number in the feed.
    pub seq: u64,
    /// When it was decided.
    #[schema(value_type = TimeMs)]
    pub at: Time,
    /// What happened.
    pub what: What,
    /// How many units of a pool; of `capacity` and `adjusted` how many more, or fewer if negative.
    /// Missing for a seat.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub units: Option<i64>,
    /// The booking.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub booking: Option<BookingId>,
    /// Whose booking or claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub user: Option<UserId>,
    /// Who of the organiser's did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub by: Option<Box<str>>,
    /// Why, as that one or the payment gateway said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub why: Option<Box<str>>,
    /// The channel it went to; missing where that was everybody's stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pub channel: Option<ChannelId>,
    /// The pool's capacity before, or its claimed units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub before: Option<u32>,
    /// The same from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub after: Option<u32>,
}

/// Reads histories.
pub struct Histories {
    engine: Arc<dyn Engine>,
    turn: tokio::sync::Mutex<()>,
}

impl Histories {
    /// Histories of this engine's events.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, turn: tokio::sync::Mutex::default() }
    }

    /// What happened to a seat or a pool up to now: the latest 500 steps, oldest first; empty if
    /// there is no such thing.
    ///
    /// # Errors
    /// The feed cannot be read.
    pub async fn of(&self, event: &EventId, subject: Subject) -> Result<Vec<Step>, Broken> {
        let mut history = History::new(subject);
        self.read(event, |entry| history.note(entry)).await?;
        Ok(history.steps.into())
    }

    /// What `told` says of the changes of an event up to now: the latest [`MAX_STEPS`], oldest first.
    async fn latest<T>(
        &self,
        event: &EventId,
        told: impl Fn(&FeedEntry, &Change) -> Option<T>,
    ) -> Result<Vec<T>, Broken> {
        let mut latest = VecDeque::new();
        let note = |entry: &FeedEntry| {
            for it in entry.changes.iter().filter_map(|change| told(entry, change)) {
                if latest.len() == MAX_STEPS {
                    latest.pop_front();
                }
                latest.push_back(it);
            }
        };
        self.read(event, note).await?;
        Ok(latest.into())
    }

    /// Shows every decision of an event up to now.
    async fn read(&self, event: &EventId, mut show: impl FnMut(&FeedEntry)) -> Result<(), Broken> {
        let of_event = |entry: &FeedEntry| {
            if entry.event == *event {
                show(entry);
            }
        };
        self.read_all(of_event).await
    }

    /// Shows every decision up to now.
    async fn read_all(&self, mut show: impl FnMut(&FeedEntry)) -> Result<(), Broken> {
        let _turn = self.turn.lock().await;
        let committed = self.engine.committed();
        let (mut feed, mut cursor) = (self.engine.subscribe(Seq::default()), Seq::default());
        // The feed waits for more at its end, so it is asked only while there is some.
        while cursor < committed {
            let Some(page) = next_page(&mut *feed).await? else { break };
            cursor = page.last().map_or(committed, |last| last.seq);
            page.iter().for_each(|entry| show(entry));
        }
        Ok(())
    }
}

/// A history as far as it was read.
struct History {
    subject: Subject,
    steps: VecDeque<Step>,
    /// Bookings about the subject that may still change.
    bookings: HashMap<BookingId, Known>,
    /// Claims of the pool that may still be given back.
    claims: HashMap<ClaimId, UserId>,
    /// Channels that units of it have been in.
    channels: BTreeSet<ChannelId>,
}

struct Known {
    terms: Arc<HoldTerms>,
    units: Option<i64>,
    /// Whether money may come after it ran out.
    was_paying: bool,
}

impl Subject {
    fn is_pool(&self, pool: &PoolId) -> bool {
        matches!(self, Self::Pool(own) if own == pool)
    }

    /// Whether the lines are about it, and how many units of it they have if it is a pool.
    fn units_in(&self, lines: &Lines) -> Option<Option<i64>> {
        match self {
            Self::Seat(seat) => lines.seats().binary_search(seat).ok().map(|_| None),
            Self::Pool(pool) => {
                let line = lines.pools().iter().find(|line| line.pool == *pool)?;
                Some(Some(line.quantity.into()))
            }
        }
    }
}

/// Why the organiser removed a visitor, if this decision did so: what it releases was released for that.
fn removal_in(entry: &FeedEntry) -> Option<&Reason> {
    entry.changes.iter().find_map(|change| {
        let Change::Visitor(VisitorChange::VisitorRemoved { reason, .. }) = change else {
            return None;
        };
        Some(reason)
    })
}

impl History {
    fn new(subject: Subject) -> Self {
        let (steps, bookings, claims, channels) = Default::default();
        Self { subject, steps, bookings, claims, channels }
    }

    fn note(&mut self, entry: &FeedEntry) {
        entry.changes.iter().for_each(|change| self.note_change(entry, change));
    }

    fn note_change(&mut self, entry: &FeedEntry, change: &Change) {
        match change {
            Change::Setup(change) => match change {
                SetupChange::PoolAdded { spec } => {
                    if self.subject.is_pool(&spec.pool) {
                        let units = Some(spec.capacity.into());
                        self.add(Step { units, ..step(entry, What::Added) });
                    }
                }
                SetupChange::CapacityAdjusted { pool, before, after, reason } => {
                    if self.subject.is_pool(pool) {
                        let more = i64::from(*after) - i64::from(*before);
                        let step = step(entry, What::Capacity).because(reason);
                        self.add(step.counted(more, *before, *after));
                    }
                }
                SetupChange::SeatsAdded { categories: _, seats } => {
                    if let Subject::Seat(own) = &self.subject
                        && seats.iter().any(|spec| spec.seat == *own)
                    {
                        self.add(step(entry, What::Added));
                    }
                }
                SetupChange::UnitsBlocked { lines, reason } => {
                    if let Some(units) = self.subject.units_in(lines) {
                        self.add(Step { units, ..step(entry, What::Blocked).because(reason) });
                    }
                }
                SetupChange::UnitsUnblocked { lines, reason } => {
                    if let Some(units) = self.subject.units_in(lines) {
                        self.add(Step { units, ..step(entry, What::Unblocked).because(reason) });
                    }
                }
                SetupChange::UnitsAllotted { .. } | SetupChange::ChannelReleased { .. } => {
                    self.note_channel(entry, change);
                }
                SetupChange::EventCreated { .. }
                | SetupChange::SettingsChanged { .. }
                | SetupChange::ChannelSet { .. }
                | SetupChange::PriceChanged { .. }
                | SetupChange::TypesSet { .. } => {}
            },
            Change::Hold(change) => match change {
                HoldChange::HoldPlaced { terms, until: _ } => {
                    if let Some(units) = self.subject.units_in(&terms.lines) {
                        let known = Known { terms: terms.clone(), units, was_paying: false };
                        self.bookings.insert(terms.booking.clone(), known);
                        self.add_about(entry, What::Held, &terms.booking);
                    }
                }
                HoldChange::HoldExtended { booking, until: _, extension: _ } => {
                    self.add_about(entry, What::Extended, booking);
                }
                HoldChange::HoldReleased { booking } => {
                    if let Some(about) = self.about(entry, What::Released, booking) {
                        self.add(match removal_in(entry) {
                            Some(reason) => about.because(reason),
                            None => about,
                        });
                    }
                    self.bookings.remove(booking);
                }
                HoldChange::HoldExpired { booking } => {
                    self.add_about(entry, What::Expired, booking);
                    if self.bookings.get(booking).is_some_and(|known| !known.was_paying) {
                        self.bookings.remove(booking);
                    }
                }
                HoldChange::HoldForgotten { booking } => drop(self.bookings.remove(booking)),
            },
            Change::Booking(change) => match change {
                BookingChange::PayerNamed { .. } => {}
                BookingChange::PaymentBegun { booking, payment: _, until: _ } => {
                    if let Some(known) = self.bookings.get_mut(booking) {
                        known.was_paying = true;
                    }
                    self.add_about(entry, What::Paying, booking);
                }
                BookingChange::PaymentFailed { booking, payment: _, why, until: _ } => {
                    self.payment_failed(entry, booking, why);
                }
                BookingChange::LatePaymentFailed { booking, payment: _, why } => {
                    self.payment_failed(entry, booking, why);
                    self.bookings.remove(booking);
                }
                BookingChange::HoldConfirmed { booking, .. }
                | BookingChange::HoldConfirmedLate { booking, .. } => {
                    self.add_about(entry, What::Confirmed, booking);
                }
                BookingChange::ConfirmedCancelled { booking, reason, refund_minor: _ } => {
                    if let Some(about) = self.about(entry, What::Cancelled, booking) {
                        self.add(about.because(reason));
                    }
                    self.bookings.remove(booking);
                }
                BookingChange::CheckedIn { booking, ticket, scan: _ } => {
                    self.checked_in(entry, booking, *ticket)
                }
            },
            Change::Claim(change) => match change {
                ClaimChange::Claimed { claim, user, pool, quantity, until: _, before, after } => {
                    if self.subject.is_pool(pool) {
                        self.claims.insert(claim.clone(), user.clone());
                        let claimed =
                            Step { user: Some(user.clone()), ..step(entry, What::Claimed) };
                        self.add(claimed.counted((*quantity).into(), *before, *after));
                    }
                }
                ClaimChange::Declaimed { claim, how, before, after } => {
                    if let Some(user) = self.claims.remove(claim) {
                        let what = match how {
                            DeclaimedHow::Returned => What::Returned,
                            DeclaimedHow::Expired => What::Expired,
                        };
                        let fewer = i64::from(*before) - i64::from(*after);
                        let step = Step { user: Some(user), ..step(entry, what) };
                        self.add(step.counted(fewer, *before, *after));
                    }
                }
                ClaimChange::ClaimedAdjusted { claim: _, pool, amount, before, after, reason } => {
                    if self.subject.is_pool(pool) {
                        let step = step(entry, What::Adjusted).because(reason);
                        self.add(step.counted(*amount, *before, *after));
                    }
                }
                ClaimChange::ClaimForgotten { claim } => drop(self.claims.remove(claim)),
            },
            Change::Sale(_) | Change::Queue(_) | Change::Visitor(_) => {}
        }
    }

    fn payment_failed(&mut self, entry: &FeedEntry, booking: &BookingId, why: &str) {
        if let Some(about) = self.about(entry, What::PaymentFailed, booking) {
            self.add(Step { why: Some(why.into()), ..about });
        }
    }

    /// A ticket is for one unit of its booking, which may be another one than the subject.
    fn checked_in(&mut self, entry: &FeedEntry, booking: &BookingId, ticket: u32) {
        let Some(known) = self.bookings.get(booking) else { return };
        let unit = units(&known.terms.lines).find(|(number, _)| *number == ticket);
        let units = match (&self.subject, unit) {
            (Subject::Seat(own), Some((_, Unit::Seat(seat)))) if *own == seat => None,
            (Subject::Pool(own), Some((_, Unit::Pool(pool)))) if *own == pool => Some(1),
            (Subject::Seat(_) | Subject::Pool(_), _) => return,
        };
        if let Some(about) = self.about(entry, What::CheckedIn, booking) {
            self.add(Step { units, ..about });
        }
    }

    /// A step about one of the subject's bookings.
    fn about(&self, entry: &FeedEntry, what: What, booking: &BookingId) -> Option<Step> {
        let Known { terms, units, .. } = self.bookings.get(booking)?;
        Some(Step {
            units: *units,
            booking: Some(booking.clone()),
            user: Some(terms.user.clone()),
            ..step(entry, what)
        })
    }

    fn add_about(&mut self, entry: &FeedEntry, what: What, booking: &BookingId) {
        if let Some(about) = self.about(entry, what, booking) {
            self.add(about);
        }
    }

    fn add(&mut self, step: Step) {
        if self.steps.len() == MAX_STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }
}

/// A step of which no more is known than when it was.
fn step(entry: &FeedEntry, what: What) -> Step {
    let FeedEntry { seq: Seq(seq), at, .. } = entry;
    Step {
        seq: *seq,
        at: *at,
        what,
        units: None,
        booking: None,
        user: None,
        by: None,
        why: None,
        channel: None,
        before: None,
        after: None,
    }
}

impl Step {
    fn because(self, Reason { by, why }: &Reason) -> Self {
        Self { by: Some(by.clone()), why: Some(why.clone()), ..self }
    }

    fn counted(self, units: i64, before: u32, after: u32) -> Self {
        Self { units: Some(units), before: Some(before), after: Some(after), ..self }
    }
}

mod tests;
