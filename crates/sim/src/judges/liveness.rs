//! Liveness: whoever waits is admitted, and whatever has an end comes to it, in a bound of time.
//!
//! Time counts while the sale is open and the engine is there. The bound of a place is what the
//! people ahead of it may take: each slot turns over within a session and the life of its holds. It
//! stands still while those inside may take everything there is.

use super::aside::Aside;
use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use onrush_core::change::VisitorChange;
use onrush_core::change::{
    BookingChange, ClaimChange, HoldChange, QueueChange, SaleChange, SetupChange,
};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, ClaimId, PlaceId};
use onrush_core::settings::Settings;
use onrush_core::{Change, Command, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How late a tick may come in a run.
const TICK_SLACK_MS: i64 = 300_000;

/// Follows who waits, who is in, and what is held, by the time at which they must have ended.
#[derive(Debug, Default)]
pub(super) struct LivenessJudge {
    settings: Option<Box<Settings>>,
    /// By number: when a place took its bound, and the bound.
    waiting: BTreeMap<PlaceId, Time>,
    inside: BTreeMap<PlaceId, Time>,
    live: BTreeMap<BookingId, Time>,
    is_open: bool,
    stock: Stock,
    /// The earliest of all bounds, so that most commands need no look at the others.
    earliest: Option<Time>,
}

/// What is free, by the changes alone.
#[derive(Debug, Default)]
struct Stock {
    is_there: bool,
    free: i64,
    /// What each booking takes, as long as it is known.
    of_booking: BTreeMap<BookingId, Arc<HoldTerms>>,
    of_claim: BTreeMap<ClaimId, i64>,
    aside: Aside,
}

impl Stock {
    fn add(&mut self, units: i64) {
        self.is_there = true;
        self.free += units;
    }

    fn follow(&mut self, change: &Change) {
        match change {
            Change::Setup(change) => self.follow_setup(change),
            Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                self.of_booking.insert(terms.booking.clone(), Arc::clone(terms));
                // What is wrong with it is the stock judge's to say.
                self.free -= self.aside.take(terms).unwrap_or(0);
            }
            Change::Hold(
                HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
            )
            | Change::Booking(BookingChange::ConfirmedCancelled { booking, .. }) => {
                if let Some(terms) = self.of_booking.get(booking) {
                    self.free += self.aside.give_back(terms);
                }
            }
            Change::Booking(BookingChange::HoldConfirmedLate { booking, .. }) => {
                if let Some(terms) = self.of_booking.get(booking) {
                    self.free -= self.aside.take_again(terms);
                }
            }
            Change::Hold(HoldChange::HoldForgotten { booking }) => {
                self.of_booking.remove(booking);
            }
            Change::Claim(ClaimChange::Claimed { claim, quantity, .. }) => {
                self.of_claim.insert(claim.clone(), i64::from(*quantity));
                self.free -= i64::from(*quantity);
            }
            Change::Claim(ClaimChange::ClaimedAdjusted { amount, .. }) => self.free -= amount,
            Change::Claim(ClaimChange::Declaimed { claim, .. }) => {
                self.free += self.of_claim.remove(claim).unwrap_or(0);
            }
            Change::Sale(_)
            | Change::Queue(_)
            | Change::Visitor(_)
            | Change::Hold(HoldChange::HoldExtended { .. })
            | Change::Booking(
                BookingChange::PayerNamed { .. }
                | BookingChange::PaymentBegun { .. }
                | BookingChange::PaymentFailed { .. }
                | BookingChange::LatePaymentFailed { .. }
                | BookingChange::HoldConfirmed { .. }
                | BookingChange::CheckedIn { .. },
            )
            | Change::Claim(ClaimChange::ClaimForgotten { .. }) => {}
        }
    }

    fn follow_setup(&mut self, change: &SetupChange) {
        match change {
            SetupChange::PoolAdded { spec } => self.add(i64::from(spec.capacity)),
            SetupChange::CapacityAdjusted { before, after, .. } => {
                self.add(i64::from(*after) - i64::from(*before));
            }
            SetupChange::SeatsAdded { seats, .. } => {
                self.add(i64::try_from(seats.len()).unwrap_or(i64::MAX));
            }
            SetupChange::UnitsBlocked { lines, .. } => self.add(-i64::from(lines.units())),
            SetupChange::UnitsUnblocked { lines, .. } => self.add(i64::from(lines.units())),
            SetupChange::UnitsAllotted { lines, from, to, .. } => {
                let units = i64::from(lines.units());
                match (from, to) {
                    (None, Some(_)) => self.add(-units),
                    (Some(_), None) => self.add(units),
                    (Some(_), Some(_)) | (None, None) => {}
                }
                let _said_by_the_stock_judge = self.aside.allot(lines, from.as_ref(), to.as_ref());
            }
            SetupChange::ChannelReleased { channel, into, .. } => {
                self.free += self.aside.release(channel, into.as_ref());
            }
            SetupChange::EventCreated { .. }
            | SetupChange::SettingsChanged { .. }
            | SetupChange::ChannelSet { .. }
            | SetupChange::PriceChanged { .. }
            | SetupChange::TypesSet { .. } => {}
        }
    }
}

impl LivenessJudge {
    /// How long one slot may be somebody's.
    fn turn_ms(&self) -> i64 {
        let Some(it) = &self.settings else { return 0 };
        let session_ms = it.room.as_ref().map_or(0, |room| room.session_ms);
        session_ms + self.hold_ms() + TICK_SLACK_MS
    }

    /// How long one hold may live.
    fn hold_ms(&self) -> i64 {
        let Some(it) = &self.settings else { return 0 };
        it.hold_max_ms + 60_000 * (i64::from(it.payment_attempts) + 1) + TICK_SLACK_MS
    }

    /// When the last of so many people must be in.
    fn admitted_by(&self, at: Time, people: usize) -> Time {
        let Some(room) = self.settings.as_ref().and_then(|it| it.room.as_ref()) else { return at };
        let people = i64::try_from(people).unwrap_or(i64::MAX);
        // One person's places are served one after the other.
        let rounds = people / i64::from(room.capacity) + i64::from(room.places_per_user) + 2;
        let outflow_ms =
            room.outflow_per_min.map_or(0, |n| people * 60_000 / i64::from(n) + 60_000);
        let from = at.max(self.last_hold_ends());
        from.plus_ms(rounds.saturating_mul(self.turn_ms()).saturating_add(outflow_ms))
    }

    /// When the last hold must have ended: it may be older than a session, and keeps its slot.
    fn last_hold_ends(&self) -> Time {
        self.live.values().max().copied().unwrap_or(Time::MIN)
    }

    /// When a session that begins at `at` must have freed its slot.
    fn freed_by(&self, at: Time) -> Time {
        at.max(self.last_hold_ends()).plus_ms(self.turn_ms())
    }

    /// Gives all who wait a new bound: the rules, the sale or the room have changed.
    fn begin_anew(&mut self, at: Time) {
        let people = self.waiting.len() + self.inside.len();
        let by = self.admitted_by(at, people);
        self.waiting.values_mut().for_each(|bound| *bound = by);
        let ends_at = self.freed_by(at);
        self.inside.values_mut().for_each(|bound| *bound = (*bound).max(ends_at));
        let ends_at = at.plus_ms(self.hold_ms());
        self.live.values_mut().for_each(|bound| *bound = (*bound).max(ends_at));
    }

    /// Whether people are let in: the sale is open, and something is left even if everybody inside
    /// takes what is reckoned for one.
    fn lets_in(&self) -> bool {
        let room = self.settings.as_ref().and_then(|it| it.room.as_ref());
        let each = room.map_or(1, |room| i64::from(room.units_per_visitor));
        let inside = i64::try_from(self.inside.len()).unwrap_or(i64::MAX);
        self.is_open && (!self.stock.is_there || self.stock.free >= each * (inside + 1))
    }

    fn follow(&mut self, at: Time, change: &Change) {
        let let_in = self.lets_in();
        self.stock.follow(change);
        self.follow_people(at, change);
        if self.lets_in() && !let_in {
            self.begin_anew(at);
        }
    }

    fn follow_people(&mut self, at: Time, change: &Change) {
        match change {
            Change::Setup(
                SetupChange::EventCreated { settings } | SetupChange::SettingsChanged { settings },
            ) => {
                // What was begun under longer times may last as long.
                let before = self.turn_ms();
                self.settings = Some(settings.clone());
                self.begin_anew(at.plus_ms(before));
            }
            Change::Sale(SaleChange::SaleOpened { .. } | SaleChange::SaleResumed) => {
                self.is_open = true;
            }
            Change::Sale(
                SaleChange::SalePaused | SaleChange::SaleClosed | SaleChange::EventArchived { .. },
            ) => self.is_open = false,
            Change::Sale(SaleChange::Resumed { gap_ms }) => {
                let later = |bound: &mut Time| *bound = bound.plus_ms(*gap_ms);
                self.waiting.values_mut().for_each(later);
                self.inside.values_mut().for_each(later);
                self.live.values_mut().for_each(later);
            }
            Change::Queue(QueueChange::PlaceTaken { place, .. }) => {
                let people = self.waiting.len() + self.inside.len() + 1;
                self.waiting.insert(*place, self.admitted_by(at, people));
            }
            Change::Queue(QueueChange::PlaceLeft { place, .. }) => drop(self.waiting.remove(place)),
            Change::Queue(QueueChange::Admitted { place, .. }) => {
                self.waiting.remove(place);
                self.inside.insert(*place, self.freed_by(at));
            }
            Change::Visitor(VisitorChange::SlotFreed { place, .. }) => {
                self.inside.remove(place);
            }
            Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                let ends_at = at.plus_ms(self.hold_ms());
                self.live.insert(terms.booking.clone(), ends_at);
            }
            Change::Hold(
                HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
            )
            | Change::Booking(BookingChange::HoldConfirmed { booking, .. }) => {
                self.live.remove(booking);
            }
            Change::Setup(
                SetupChange::PoolAdded { .. }
                | SetupChange::CapacityAdjusted { .. }
                | SetupChange::ChannelSet { .. }
                | SetupChange::UnitsAllotted { .. }
                | SetupChange::ChannelReleased { .. }
                | SetupChange::PriceChanged { .. }
                | SetupChange::TypesSet { .. }
                | SetupChange::SeatsAdded { .. }
                | SetupChange::UnitsBlocked { .. }
                | SetupChange::UnitsUnblocked { .. },
            )
            | Change::Sale(SaleChange::PrequeueOpened)
            | Change::Queue(QueueChange::PlaceSeen { .. } | QueueChange::PrequeueClosed { .. })
            | Change::Visitor(
                VisitorChange::Arrived { .. }
                | VisitorChange::SessionEnded { .. }
                | VisitorChange::VisitorRemoved { .. }
                | VisitorChange::VisitorUnbanned { .. },
            )
            | Change::Hold(HoldChange::HoldExtended { .. } | HoldChange::HoldForgotten { .. })
            | Change::Booking(
                BookingChange::PayerNamed { .. }
                | BookingChange::PaymentBegun { .. }
                | BookingChange::PaymentFailed { .. }
                | BookingChange::LatePaymentFailed { .. }
                | BookingChange::HoldConfirmedLate { .. }
                | BookingChange::ConfirmedCancelled { .. }
                | BookingChange::CheckedIn { .. },
            )
            | Change::Claim(_) => {}
        }
    }

    /// Who is late.
    fn late(&self, bound: Time) -> String {
        let waits = self.waiting.iter().find(|(_, by)| self.lets_in() && **by == bound);
        let inside = self.inside.iter().find(|(_, by)| **by == bound);
        let held = self.live.iter().find(|(_, by)| **by == bound);
        match (waits, inside, held) {
            (Some((place, _)), _, _) => format!("place {place} should be admitted by {bound}"),
            (_, Some((place, _)), _) => format!("the slot of {place} should be free by {bound}"),
            (_, _, Some((booking, _))) => format!("{booking} should have ended by {bound}"),
            (None, None, None) => format!("somebody should be through by {bound}"),
        }
    }

    fn first_bound(&self) -> Option<Time> {
        let waiting = self.waiting.values().filter(|_| self.lets_in());
        waiting.chain(self.inside.values()).chain(self.live.values()).min().copied()
    }
}

impl Judge for LivenessJudge {
    fn name(&self) -> &'static str {
        "liveness"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        let Deal::Command { command, changes, .. } = &asked.deal else { return Ok(()) };
        let at = asked.at;
        // An outage is over: whoever was late by it is so no more.
        let recovers = matches!(command, Command::Recover { .. });
        if let Some(bound) = self.earliest.filter(|bound| *bound < at && !recovers) {
            return Err(self.late(bound));
        }
        if !changes.is_empty() {
            changes.iter().for_each(|change| self.follow(at, change));
            self.earliest = self.first_bound();
        }
        Ok(())
    }
}
