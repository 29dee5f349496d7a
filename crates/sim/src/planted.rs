//! Bugs that are planted to see the judges find them: in the rules, the journal and the recovery.

mod payers;
mod types;

use onrush_core::best::BestOrder;
use onrush_core::change::{
    BookingChange, ClaimChange, HoldChange, LeftHow, QueueChange, SaleChange, SessionEnd,
    SetupChange, VisitorChange,
};
use onrush_core::event::{Changes, Decision};
use onrush_core::hold::{HoldState, HoldTerms};
use onrush_core::ids::SeatId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::payers::NamedPayers;
use onrush_core::question::{AvailabilityNow, BookingOf, ChannelsNow, Query, View};
use onrush_core::settings::{Settings, SingleSeats};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::{Access, SeatSpec};
use onrush_core::view::{HoldView, PlaceState, Reply};
use onrush_core::{Change, Command, Event, Refusal, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

macro_rules! bugs {
    ($($name:ident = $text:literal,)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {$(#[doc = $text] $name,)+}

        impl Bug {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// What it does, in words.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {$(Self::$name => $text,)+}
            }
        }
    };
}

bugs! {
    // Rules.
    HoldDoublesAUnit = "a hold takes one unit more than it tells",
    LimitIsIgnored = "nobody minds the limit of units per person",
    LimitsOfPartsAreIgnored = "nobody minds the limits of pools, categories and types",
    LimitsOfPayersAreIgnored = "an e-mail address and a card may pay for any number",
    PayersKeepWhatEnded = "what a payer gave back or lost counts for their limit all the same",
    LateMoneyHasNoPayer = "late money buys whatever its payer has by then",
    ExpiredHoldIsConfirmed = "a hold is confirmed a while after its deadline",
    DeadlineIsEarlier = "a hold runs out a second before the time that was told",
    HeadGoesBack = "whoever is first in line is sent to its end when somebody joins",
    SeatStaysTaken = "a seat is not free again once its hold has run out",
    SlotIsNotFreed = "a session that is over keeps its slot",
    RefundIsDoubled = "twice as much goes back",
    RefundedTwice = "a second cancellation gives the money back again",
    BestForgetsThePrice = "the best seats are chosen as if they might cost anything",
    FirstChoiceIsForgotten = "whoever would rather have certain seats gets the best ones",
    ChannelsAreAnyones = "whoever holds may use all channels there are",
    PlacesAreAnyones = "wheelchair places are sold to anyone",
    CompanionsStayKept = "a companion's seat is kept although its place is sold without it",
    PricesComeLate = "a price that is to come holds a second too late",
    PricesAreForgotten = "a booking does not know what its units cost",
    FirstTypeIsCharged = "a booking costs what the first types cost, whatever it names",
    TypesHaveNoLimits = "a booking may have any number of units of a type",
    TypesOfARetryAreIgnored = "a retry may name other types",
    SingleSeatsAreLeft = "seats are left alone although that is refused",
    AmountIsOff = "the answer to a hold tells another amount",
    RetryHoldsAgain = "the same request to hold is a second hold",
    BanIsForgotten = "who is banned may come in",
    PauseIsIgnored = "a paused sale goes on",
    FeesAreForgotten = "fees are not added",
    TicketWorksTwice = "a ticket is let in twice",
    HalfTheGap = "after an outage deadlines move on by half of it",
    NoShowsAreKept = "whoever does not show up keeps their slot",
    ClaimNeverEnds = "a claim with a deadline has none",
    OneExtensionMore = "a hold is extended once more than it may be",
    SessionIsShorter = "a session is a second shorter than it should be",
    OutflowIsIgnored = "more are admitted a minute than may be",
    OneUnitIsReckoned = "one unit is reckoned for a visitor, whatever the organiser says",
    CodeIsWrong = "whoever waits is told that their session is over",
    PositionIsOff = "a position is one too high",
    DrawIsNotDrawn = "the drawn order is the order of joining",
    PromisesAreForgotten = "a draw that was promised a public value opens without one",
    NoTimeAfterADecline = "a failed payment leaves no minute for the next",
    RoomIsTooSmall = "the room admits one fewer than it may",
    QueueIsTooLong = "one more may wait than may",
    LapsesAreLate = "a place lapses a second late",
    RefusalChanges = "a refused release releases all the same",
    PromisesAreArchived = "an event is archived although what is confirmed of it is still to come",
    ForgetsTooSoon = "an ended booking's id is forgotten at once",
    // Journal.
    LastRowIsLost = "now and then a row is answered and not written",
    RowIsTorn = "only the first change of a decision is written",
    RowIsDoubled = "now and then a row is written twice",
    RowsAreSwapped = "now and then two rows change places",
    TimesAreRounded = "rows have their time in whole seconds",
    AnswersBeforeTheCommit = "answers are given before the commit",
    // Recovery.
    RowIsSkipped = "the first row after a snapshot is not read",
    SnapshotForgetsBans = "a snapshot has no bans",
    SnapshotForgetsSessions = "a snapshot has no sessions",
    SnapshotForgetsGone = "a snapshot does not know gone places",
    SnapshotForgetsAttempts = "a snapshot does not count payments",
    SnapshotForgetsCheckIns = "a snapshot does not know who is in",
    SnapshotForgetsTheOutflow = "a snapshot does not keep the outflow's clock",
    SnapshotForgetsBlockedSeats = "a snapshot frees blocked seats",
    SnapshotForgetsPrices = "a snapshot does not know the prices to come",
    SnapshotForgetsTypes = "a snapshot has no ticket types",
    SnapshotForgetsPayers = "a snapshot does not know who pays",
    SnapshotForgetsLastSeen = "a snapshot has seen everybody just now",
}

/// What comes between the rules and the run.
#[derive(Debug, Default)]
pub(crate) struct Planted {
    bug: Option<Bug>,
    /// Seats that are said to be taken.
    stuck: BTreeSet<SeatId>,
    again: u64,
    kept: payers::Kept,
}

impl Planted {
    pub(crate) fn plant(&mut self, bug: Bug) {
        self.bug = Some(bug);
    }

    pub(crate) fn decide(
        &mut self,
        event: &Event,
        at: Time,
        command: &Command,
    ) -> Result<Decision, Refusal> {
        let decided = event.decide(at, command);
        let Some(bug) = self.bug else { return decided };
        match (bug, command, decided) {
            (Bug::HoldDoublesAUnit, Command::Hold { .. }, Ok(decision)) => {
                each_hold(decision, |terms| one_unit_more(event, at, terms))
            }
            (Bug::ExpiredHoldIsConfirmed, Command::Confirm { .. }, Err(Refusal::HoldExpired)) => {
                event.decide(at.plus_ms(-5_000), command)
            }
            (Bug::SeatStaysTaken, Command::Hold { lines, .. }, Ok(decision)) => {
                let stuck = |seat: &&SeatId| self.stuck.contains(*seat);
                let seats: Vec<_> = lines.seats().iter().filter(stuck).cloned().collect();
                if seats.is_empty() || decision.changes.is_empty() {
                    return Ok(decision);
                }
                Err(Refusal::SeatUnavailable { seats })
            }
            (
                Bug::PromisesAreForgotten,
                Command::OpenSale { seed, .. },
                Err(Refusal::PublicValueMissing { .. }),
            ) => {
                let opened = SaleChange::SaleOpened { seed: *seed, public_value: None };
                let changes = std::iter::once(Change::from(opened)).collect();
                Ok(Decision { reply: Reply::Done, changes })
            }
            (Bug::SlotIsNotFreed, _, Ok(mut decision)) => {
                let frees = |change: &Change| {
                    matches!(change, Change::Visitor(VisitorChange::SlotFreed { .. }))
                };
                if decision.changes.len() > 1 {
                    decision.changes.retain(|change| !frees(change));
                }
                Ok(decision)
            }
            (Bug::RefundIsDoubled, Command::CancelConfirmed { .. }, Ok(decision)) => {
                each(decision, |change| {
                    let Change::Booking(change) = change else { return };
                    if let BookingChange::ConfirmedCancelled { refund_minor, .. } = change {
                        *refund_minor *= 2;
                    }
                })
            }
            (Bug::RefundedTwice, Command::CancelConfirmed { booking, reason, .. }, Ok(mut it)) => {
                if let (true, Reply::Hold(HoldView { state, .. })) =
                    (it.changes.is_empty(), &it.reply)
                    && let HoldState::Cancelled { refund_minor, .. } = state
                {
                    let (booking, reason) = (booking.clone(), reason.clone());
                    let refund_minor = *refund_minor;
                    let again = BookingChange::ConfirmedCancelled { booking, reason, refund_minor };
                    it.changes.push(again.into());
                }
                Ok(it)
            }
            (
                Bug::BestForgetsThePrice | Bug::FirstChoiceIsForgotten,
                Command::HoldBest { order, .. },
                _,
            ) => {
                let best = order.best().clone();
                let best = match bug {
                    Bug::BestForgetsThePrice => best.up_to(None)?,
                    _ => best.rather(Vec::new())?,
                };
                let mut other = command.clone();
                if let Command::HoldBest { order: asked, .. } = &mut other {
                    *asked = Arc::new(BestOrder::new(best, order.beside().cloned())?);
                }
                let asked_for = |terms: &mut HoldTerms| terms.asked = Some(order.clone());
                let mut it = event.decide(at, &other)?;
                if let Reply::Hold(view) = &mut it.reply {
                    asked_for(Arc::make_mut(&mut view.terms));
                }
                each_hold(it, asked_for)
            }
            (Bug::ChannelsAreAnyones, Command::Hold { .. }, decided) => {
                let Ok(all) = event.ask(at, ChannelsNow) else { return decided };
                let mut other = command.clone();
                if let Command::Hold { channels, .. } = &mut other {
                    *channels = all.into_iter().map(|view| view.spec.channel).collect();
                }
                event.decide(at, &other)
            }
            (Bug::CompanionsStayKept, Command::Hold { lines, .. }, Ok(decision)) => {
                let seats = companions_alone(event, lines);
                if seats.is_empty() { Ok(decision) } else { Err(Refusal::CompanionAlone { seats }) }
            }
            (Bug::AmountIsOff, Command::Hold { .. }, Ok(mut decision)) => {
                if let Reply::Hold(view) = &mut decision.reply {
                    Arc::make_mut(&mut view.terms).amount_minor += 1;
                }
                Ok(decision)
            }
            (Bug::RetryHoldsAgain, Command::Hold { .. }, Ok(decision))
                if decision.changes.is_empty() =>
            {
                self.again += 1;
                let mut again = command.clone();
                if let Command::Hold { booking, channels, .. } = &mut again {
                    *booking = format!("{booking}.again{}", self.again).parse().expect("an id");
                    channels.clear();
                }
                let changes = event.decide(at, &again).map(|it| it.changes).unwrap_or_default();
                Ok(Decision { changes, ..decision })
            }
            (Bug::PricesAreForgotten, _, Ok(decision)) => {
                each_hold(decision, |terms| terms.prices_minor.clear())
            }
            (Bug::FirstTypeIsCharged, Command::Hold { .. } | Command::HoldBest { .. }, Ok(it)) => {
                types::charge_the_first(event, at, command, it)
            }
            (Bug::TypesHaveNoLimits, _, Err(Refusal::TypeLimit { .. })) => {
                types::without_limits(event, at, command)
            }
            (Bug::TypesOfARetryAreIgnored, _, Err(Refusal::BookingMismatch)) => {
                types::whatever_types(event, at, command)
            }
            (Bug::PayersKeepWhatEnded, Command::NamePayer { .. }, Ok(decision)) => {
                self.kept.with_them(event, at, command, decision)
            }
            (
                Bug::LateMoneyHasNoPayer,
                Command::Confirm { .. },
                Err(Refusal::PayerLimitExceeded { .. }),
            ) => payers::of_nobody(event, at, command),
            (
                Bug::TicketWorksTwice,
                Command::CheckIn { booking, .. },
                Err(refusal @ Refusal::AlreadyCheckedIn { .. }),
            ) => {
                let question = BookingOf { booking: booking.clone(), user: None };
                let view = event.ask(at, question).map_err(|_| refusal)?;
                Ok(Decision { reply: Reply::Hold(view), changes: Changes::new() })
            }
            (Bug::NoShowsAreKept, Command::Tick, Ok(mut decision)) => {
                let is_no_show = |change: &Change| {
                    matches!(change, Change::Visitor(VisitorChange::SessionEnded { how, .. })
                        if *how == SessionEnd::NoShow)
                };
                if decision.changes.iter().any(is_no_show) {
                    decision.changes.clear();
                }
                Ok(decision)
            }
            (Bug::ClaimNeverEnds, Command::Claim { .. }, Ok(decision)) => {
                each(decision, |change| {
                    if let Change::Claim(ClaimChange::Claimed { until, .. }) = change {
                        *until = None;
                    }
                })
            }
            (Bug::SessionIsShorter, Command::Tick, Ok(decision)) => each(decision, |change| {
                if let Change::Queue(QueueChange::Admitted { until, .. }) = change {
                    *until = until.plus_ms(-1_000);
                }
            }),
            (Bug::CodeIsWrong, _, Err(Refusal::NotYourTurn)) => Err(Refusal::SessionOver),
            (Bug::NoTimeAfterADecline, Command::FailPayment { .. }, Ok(decision)) => {
                each(decision, |change| {
                    if let Change::Booking(BookingChange::PaymentFailed { until, .. }) = change {
                        *until = at.plus_ms(1).max(until.plus_ms(-60_000));
                    }
                })
            }
            (Bug::RefusalChanges, Command::Release { booking, .. }, Err(Refusal::CannotCancel)) => {
                // The refusal is told by the run; the state has lost the hold.
                let question = BookingOf { booking: booking.clone(), user: None };
                let view = event.ask(at, question).map_err(|_| Refusal::CannotCancel)?;
                let released = HoldChange::HoldReleased { booking: booking.clone() };
                let changes = smallvec::smallvec![released.into()];
                Ok(Decision { reply: Reply::Hold(view), changes })
            }
            (
                Bug::PromisesAreArchived,
                Command::Archive { .. },
                Err(Refusal::OtherStepFirst { .. }),
            ) => decide_on(event, at, command, |row| {
                if let SnapshotRow::Event(its) = row {
                    its.settings.starts_at = None;
                }
            }),
            (Bug::ForgetsTooSoon, Command::Release { booking, .. }, Ok(mut decision)) => {
                if !decision.changes.is_empty() {
                    let booking = booking.clone();
                    decision.changes.push(HoldChange::HoldForgotten { booking }.into());
                }
                Ok(decision)
            }
            (_, _, decided) => decided,
        }
    }

    pub(crate) fn evolve(&mut self, event: &mut Event, at: Time, change: &Change) {
        let Some(bug) = self.bug else { return event.evolve(at, change) };
        let mut bent = change.clone();
        match (bug, &mut bent) {
            (Bug::DeadlineIsEarlier, Change::Hold(HoldChange::HoldPlaced { until, .. })) => {
                *until = until.plus_ms(-1_000).max(at);
            }
            (Bug::SeatStaysTaken, Change::Hold(HoldChange::HoldExpired { booking })) => {
                if let Ok(view) = event.ask(at, BookingOf { booking: booking.clone(), user: None })
                {
                    self.stuck.extend(view.terms.lines.seats().iter().cloned());
                }
            }
            (Bug::HeadGoesBack, Change::Queue(QueueChange::PlaceTaken { number, .. })) => {
                event.evolve(at, change);
                return send_the_head_back(event, at, *number);
            }
            (
                Bug::BanIsForgotten,
                Change::Visitor(VisitorChange::VisitorRemoved { banned, .. }),
            ) => {
                *banned = false;
            }
            (Bug::BanIsForgotten, Change::Visitor(VisitorChange::VisitorUnbanned { .. }))
            | (Bug::PauseIsIgnored, Change::Sale(SaleChange::SalePaused)) => return,
            (Bug::PayersKeepWhatEnded, _) => self.kept.follow(event, at, change),
            (Bug::HalfTheGap, Change::Sale(SaleChange::Resumed { gap_ms })) => *gap_ms /= 2,
            (Bug::DrawIsNotDrawn, Change::Sale(SaleChange::SaleOpened { seed, .. })) => {
                *seed = None
            }
            (Bug::PricesComeLate, Change::Setup(SetupChange::PriceChanged { later, .. })) => {
                later.iter_mut().for_each(|step| step.from = step.from.plus_ms(1_000));
            }
            (Bug::PlacesAreAnyones, Change::Setup(SetupChange::SeatsAdded { seats, .. })) => {
                seats.iter_mut().for_each(|seat| seat.access = Access::Anyone);
            }
            (_, Change::Setup(SetupChange::EventCreated { settings }))
            | (_, Change::Setup(SetupChange::SettingsChanged { settings })) => bend(bug, settings),
            (_, _) => {}
        }
        event.evolve(at, &bent);
    }

    pub(crate) fn query(&self, event: &Event, at: Time, query: &Query) -> Result<View, Refusal> {
        let mut shown = event.query(at, query);
        if self.bug == Some(Bug::PositionIsOff)
            && let Ok(View::Place(view)) = &mut shown
            && let PlaceState::Queued { position: Some(position), .. } = &mut view.state
        {
            *position += 1;
        }
        shown
    }

    /// Rows of a snapshot as recovery with this bug reads them.
    pub(crate) fn rows(&self, mut rows: Vec<SnapshotRow>) -> Vec<SnapshotRow> {
        let Some(bug) = self.bug else { return rows };
        let at = rows.iter().find_map(|row| match row {
            SnapshotRow::Event(row) => Some(row.at),
            _ => None,
        });
        rows.retain_mut(|row| {
            match (bug, row) {
                (Bug::SnapshotForgetsPrices, SnapshotRow::Event(event)) => {
                    event.prices.iter_mut().for_each(|ladder| ladder.later.clear());
                }
                (Bug::SnapshotForgetsBans, SnapshotRow::Ban(_))
                | (Bug::SnapshotForgetsSessions, SnapshotRow::Session(_))
                | (Bug::SnapshotForgetsTypes, SnapshotRow::Types(_))
                | (Bug::SnapshotForgetsGone, SnapshotRow::Gone(_)) => return false,
                (Bug::SnapshotForgetsPayers, SnapshotRow::Hold(hold)) => {
                    hold.payers = NamedPayers::default();
                }
                (Bug::SnapshotForgetsAttempts, SnapshotRow::Hold(hold)) => hold.payments = 0,
                (Bug::SnapshotForgetsCheckIns, SnapshotRow::Hold(hold)) => hold.checked_in.clear(),
                (Bug::SnapshotForgetsTheOutflow, SnapshotRow::Event(event)) => {
                    event.outflow_clock_ns = 0;
                }
                (Bug::SnapshotForgetsBlockedSeats, SnapshotRow::Seat(seat)) => {
                    seat.blocked_why = None;
                }
                (Bug::SnapshotForgetsLastSeen, SnapshotRow::Place(place)) => {
                    place.last_seen = place.last_seen.and(at);
                }
                (_, _) => {}
            }
            true
        });
        rows
    }
}

/// Has settings be as the rules with this bug keep them.
fn bend(bug: Bug, it: &mut Settings) {
    match (bug, it.room.as_mut()) {
        (Bug::LimitIsIgnored, _) => it.max_per_user = None,
        (Bug::LimitsOfPartsAreIgnored, _) => it.limits.clear(),
        (Bug::LimitsOfPayersAreIgnored, _) => {
            let many = |limit: Option<u32>| limit.map(|_| 1_000);
            (it.max_per_email, it.max_per_card) = (many(it.max_per_email), many(it.max_per_card));
        }
        (Bug::SingleSeatsAreLeft, _) => it.single_seats = SingleSeats::Allow,
        (Bug::FeesAreForgotten, _) => it.fees = Default::default(),
        (Bug::OneExtensionMore, _) => it.extensions += 1,
        (Bug::OutflowIsIgnored, Some(room)) => room.outflow_per_min = None,
        (Bug::OneUnitIsReckoned, Some(room)) => room.units_per_visitor = 1,
        (Bug::RoomIsTooSmall, Some(room)) => room.capacity -= 1,
        (Bug::QueueIsTooLong, Some(room)) => room.max_queue_size += 1,
        (Bug::LapsesAreLate, Some(room)) => room.place_ttl_ms += 1_000,
        (_, _) => {}
    }
}

/// Has whoever was first before this number joined be last.
fn send_the_head_back(event: &mut Event, at: Time, joined: u32) {
    let head = event.snapshot().find_map(|row| match row {
        SnapshotRow::Place(row) if row.number < joined => Some(row),
        _ => None,
    });
    let Some(row) = head else { return };
    let (place, user, number) = (row.place, row.user, row.number);
    let left = QueueChange::PlaceLeft { place, user: user.clone(), how: LeftHow::Left };
    event.evolve(at, &left.into());
    event.evolve(at, &QueueChange::PlaceTaken { place, user, number }.into());
}

/// A decision with each of its changes changed.
fn each(mut decision: Decision, how: impl FnMut(&mut Change)) -> Result<Decision, Refusal> {
    decision.changes.iter_mut().for_each(how);
    Ok(decision)
}

/// A decision with the terms of each hold that it places changed.
fn each_hold(decision: Decision, how: impl Fn(&mut HoldTerms)) -> Result<Decision, Refusal> {
    each(decision, |change| {
        if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
            how(Arc::make_mut(terms));
        }
    })
}

/// What the rules say if rows of the state are otherwise.
fn decide_on(
    event: &Event,
    at: Time,
    command: &Command,
    change: impl Fn(&mut SnapshotRow),
) -> Result<Decision, Refusal> {
    let mut rows: Vec<_> = event.snapshot().collect();
    rows.iter_mut().for_each(change);
    let other = Event::restore(event.id().clone(), rows).expect("rows of an event restore it");
    other.decide(at, command)
}

/// The companions' seats of lines that have not their places, whoever has these.
fn companions_alone(event: &Event, lines: &Lines) -> Vec<SeatId> {
    let named = lines.seats();
    let is_alone = |seat: &SeatSpec| {
        let Access::CompanionOf(place) = &seat.access else { return false };
        named.contains(&seat.seat) && !named.contains(place)
    };
    let seats = event.snapshot().filter_map(|row| match row {
        SnapshotRow::Seat(row) => Some(row.spec),
        _ => None,
    });
    seats.filter(is_alone).map(|spec| spec.seat).collect()
}

/// One unit more of the first pool, where there is one.
fn one_unit_more(event: &Event, at: Time, terms: &mut HoldTerms) {
    let mut pools: Vec<PoolLine> = terms.lines.pools().to_vec();
    let Some(first) = pools.first_mut() else { return };
    first.quantity += 1;
    let view = event.ask(at, AvailabilityNow);
    let free = view.map_or(0, |view| {
        let pool = view.pools.iter().find(|pool| pool.pool == first.pool);
        pool.map_or(0, |pool| pool.units.free)
    });
    if first.quantity <= free
        && let Ok(lines) = Lines::new(pools, terms.lines.seats().to_vec())
    {
        terms.lines = lines;
    }
}
