//! Bugs that are planted to see the judges find them: in the rules, the journal and the recovery.

mod payers;
mod types;

use onrush_core::best::BestOrder;
use onrush_core::change::{
    BookingChange, ClaimChange, HoldChange, QueueChange, SaleChange, SetupChange, VisitorChange,
};
use onrush_core::event::{Changes, Decision};
use onrush_core::hold::{HoldState, HoldTerms};
use onrush_core::ids::SeatId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::payers::NamedPayers;
use onrush_core::question::{BookingOf, ChannelsNow, Query, View};
use onrush_core::settings::{Settings, SingleSeats};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::Access;
use onrush_core::view::{HoldView, PlaceState, Reply};
use onrush_core::{Change, Command, Event, Refusal, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {$($(#[$doc])* $name,)+}

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
    /// Rules.
    HoldDoublesAUnit = "a hold takes one unit more than it tells",
    /// Rules.
    LimitIsIgnored = "nobody minds the limit of units per person",
    /// Rules.
    LimitsOfPartsAreIgnored = "nobody minds the limits of pools, categories and types",
    /// Rules.
    LimitsOfPayersAreIgnored = "an e-mail address and a card may pay for any number",
    /// Rules.
    PayersKeepWhatEnded = "what a payer gave back or lost counts for their limit all the same",
    /// Rules.
    LateMoneyHasNoPayer = "late money buys whatever its payer has by then",
    /// Rules.
    ExpiredHoldIsConfirmed = "a hold is confirmed a while after its deadline",
    /// Rules.
    DeadlineIsEarlier = "a hold runs out a second before the time that was told",
    /// Rules.
    HeadGoesBack = "whoever is first in line is sent to its end when somebody joins",
    /// Rules.
    SeatStaysTaken = "a seat is not free again once its hold has run out",
    /// Rules.
    SlotIsNotFreed = "a session that is over keeps its slot",
    /// Rules.
    RefundIsDoubled = "twice as much goes back",
    /// Rules.
    RefundedTwice = "a second cancellation gives the money back again",
    /// Rules.
    BestForgetsThePrice = "the best seats are chosen as if they might cost anything",
    /// Rules.
    FirstChoiceIsForgotten = "whoever would rather have certain seats gets the best ones",
    /// Rules.
    ChannelsAreAnyones = "whoever holds may use all channels there are",
    /// Rules.
    PlacesAreAnyones = "wheelchair places are sold to anyone",
    /// Rules.
    PricesComeLate = "a price that is to come holds a second too late",
    /// Rules.
    PricesAreForgotten = "a booking does not know what its units cost",
    /// Rules.
    FirstTypeIsCharged = "a booking costs what the first types cost, whatever it names",
    /// Rules.
    TypesHaveNoLimits = "a booking may have any number of units of a type",
    /// Rules.
    TypesOfARetryAreIgnored = "a retry may name other types",
    /// Rules.
    SingleSeatsAreLeft = "seats are left alone although that is refused",
    /// Rules.
    AmountIsOff = "the answer to a hold tells another amount",
    /// Rules.
    RetryHoldsAgain = "the same request to hold is a second hold",
    /// Rules.
    BanIsForgotten = "who is banned may come in",
    /// Rules.
    PauseIsIgnored = "a paused sale goes on",
    /// Rules.
    FeesAreForgotten = "fees are not added",
    /// Rules.
    TicketWorksTwice = "a ticket is let in twice",
    /// Rules.
    HalfTheGap = "after an outage deadlines move on by half of it",
    /// Rules.
    NoShowsAreKept = "whoever does not show up keeps their slot",
    /// Rules.
    ClaimNeverEnds = "a claim with a deadline has none",
    /// Rules.
    OneExtensionMore = "a hold is extended once more than it may be",
    /// Rules.
    SessionIsShorter = "a session is a second shorter than it should be",
    /// Rules.
    OutflowIsIgnored = "more are admitted a minute than may be",
    /// Rules.
    OneUnitIsReckoned = "one unit is reckoned for a visitor, whatever the organiser says",
    /// Rules.
    CodeIsWrong = "whoever waits is told that their session is over",
    /// Rules.
    PositionIsOff = "a position is one too high",
    /// Rules.
    DrawIsNotDrawn = "the drawn order is the order of joining",
    /// Rules.
    NoTimeAfterADecline = "a failed payment leaves no minute for the next",
    /// Rules.
    RoomIsTooSmall = "the room admits one fewer than it may",
    /// Rules.
    QueueIsTooLong = "one more may wait than may",
    /// Rules.
    LapsesAreLate = "a place lapses a second late",
    /// Rules.
    RefusalChanges = "a refused release releases all the same",
    /// Rules.
    ForgetsTooSoon = "an ended booking's id is forgotten at once",
    /// Journal.
    LastRowIsLost = "now and then a row is answered and not written",
    /// Journal.
    RowIsTorn = "only the first change of a decision is written",
    /// Journal.
    RowIsDoubled = "now and then a row is written twice",
    /// Journal.
    RowsAreSwapped = "now and then two rows change places",
    /// Journal.
    TimesAreRounded = "rows have their time in whole seconds",
    /// Journal.
    AnswersBeforeTheCommit = "answers are given before the commit",
    /// Recovery.
    RowIsSkipped = "the first row after a snapshot is not read",
    /// Recovery.
    SnapshotForgetsBans = "a snapshot has no bans",
    /// Recovery.
    SnapshotForgetsSessions = "a snapshot has no sessions",
    /// Recovery.
    SnapshotForgetsGone = "a snapshot does not know gone places",
    /// Recovery.
    SnapshotForgetsAttempts = "a snapshot does not count payments",
    /// Recovery.
    SnapshotForgetsCheckIns = "a snapshot does not know who is in",
    /// Recovery.
    SnapshotForgetsTheOutflow = "a snapshot does not keep the outflow's clock",
    /// Recovery.
    SnapshotForgetsBlockedSeats = "a snapshot frees blocked seats",
    /// Recovery.
    SnapshotForgetsPrices = "a snapshot does not know the prices to come",
    /// Recovery.
    SnapshotForgetsTypes = "a snapshot has no ticket types",
    /// Recovery.
    SnapshotForgetsPayers = "a snapshot does not know who pays",
    /// Recovery.
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
            (Bug::HoldDoublesAUnit, Command::Hold { .. }, Ok(mut decision)) => {
                map(&mut decision.changes, |change| one_unit_more(event, at, change));
                Ok(decision)
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
            (Bug::SlotIsNotFreed, _, Ok(mut decision)) => {
                let frees = |change: &Change| {
                    matches!(change, Change::Visitor(VisitorChange::SlotFreed { .. }))
                };
                if decision.changes.len() > 1 {
                    decision.changes.retain(|change| !frees(change));
                }
                Ok(decision)
            }
            (Bug::RefundIsDoubled, Command::CancelConfirmed { .. }, Ok(mut decision)) => {
                for change in &mut decision.changes {
                    if let Change::Booking(BookingChange::ConfirmedCancelled {
                        refund_minor, ..
                    }) = change
                    {
                        *refund_minor *= 2;
                    }
                }
                Ok(decision)
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
                Command::HoldBest { booking, user, order, channels, types },
                _,
            ) => {
                let best = order.best().clone();
                let best = match bug {
                    Bug::BestForgetsThePrice => best.up_to(None)?,
                    _ => best.rather(Vec::new())?,
                };
                let other = Arc::new(BestOrder::new(best, order.beside().cloned())?);
                let (booking, user) = (booking.clone(), user.clone());
                let (channels, types) = (channels.clone(), types.clone());
                let other = Command::HoldBest { booking, user, order: other, channels, types };
                let mut it = event.decide(at, &other)?;
                let asked_for = |terms: &HoldTerms| {
                    Arc::new(HoldTerms { asked: Some(order.clone()), ..terms.clone() })
                };
                if let Reply::Hold(view) = &mut it.reply {
                    view.terms = asked_for(&view.terms);
                }
                for change in &mut it.changes {
                    if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
                        *terms = asked_for(terms);
                    }
                }
                Ok(it)
            }
            (
                Bug::ChannelsAreAnyones,
                Command::Hold { booking, user, lines, types, .. },
                decided,
            ) => {
                let Ok(all) = event.ask(at, ChannelsNow) else { return decided };
                event.decide(
                    at,
                    &Command::Hold {
                        booking: booking.clone(),
                        user: user.clone(),
                        lines: lines.clone(),
                        channels: all.into_iter().map(|view| view.spec.channel).collect(),
                        types: types.clone(),
                    },
                )
            }
            (Bug::AmountIsOff, Command::Hold { .. }, Ok(mut decision)) => {
                if let Reply::Hold(view) = &mut decision.reply {
                    let terms = (*view.terms).clone();
                    let amount_minor = terms.amount_minor + 1;
                    view.terms = Arc::new(HoldTerms { amount_minor, ..terms });
                }
                Ok(decision)
            }
            (
                Bug::RetryHoldsAgain,
                Command::Hold { booking, user, lines, types, .. },
                Ok(decision),
            ) if decision.changes.is_empty() => {
                self.again += 1;
                let again = format!("{booking}.again{}", self.again);
                let command = Command::Hold {
                    booking: again.parse().expect("an id"),
                    user: user.clone(),
                    lines: lines.clone(),
                    channels: Vec::new(),
                    types: types.clone(),
                };
                let second = event.decide(at, &command);
                Ok(Decision {
                    changes: second.map(|it| it.changes).unwrap_or_default(),
                    ..decision
                })
            }
            (Bug::PricesAreForgotten, _, Ok(mut decision)) => {
                for change in &mut decision.changes {
                    if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
                        Arc::make_mut(terms).prices_minor.clear();
                    }
                }
                Ok(decision)
            }
            (Bug::FirstTypeIsCharged, Command::Hold { .. } | Command::HoldBest { .. }, Ok(it)) => {
                Ok(types::charge_the_first(event, at, command, it))
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
            (Bug::LateMoneyHasNoPayer, _, Err(Refusal::PayerLimitExceeded { .. }))
                if matches!(command, Command::Confirm { .. }) =>
            {
                payers::of_nobody(event, at, command)
            }
            (Bug::TicketWorksTwice, Command::CheckIn { booking, .. }, Err(refusal)) => {
                if !matches!(refusal, Refusal::AlreadyCheckedIn { .. }) {
                    return Err(refusal);
                }
                let question = BookingOf { booking: booking.clone(), user: None };
                let view = event.ask(at, question).map_err(|_| refusal)?;
                Ok(Decision { reply: Reply::Hold(view), changes: Changes::new() })
            }
            (Bug::NoShowsAreKept, Command::Tick, Ok(decision)) => {
                let is_no_show = decision.changes.iter().any(|change| {
                    matches!(change, Change::Visitor(VisitorChange::SessionEnded { how, .. })
                        if *how == onrush_core::change::SessionEnd::NoShow)
                });
                let changes = if is_no_show { Changes::new() } else { decision.changes };
                Ok(Decision { changes, ..decision })
            }
            (Bug::ClaimNeverEnds, Command::Claim { .. }, Ok(mut decision)) => {
                for change in &mut decision.changes {
                    if let Change::Claim(ClaimChange::Claimed { until, .. }) = change {
                        *until = None;
                    }
                }
                Ok(decision)
            }
            (Bug::SessionIsShorter, Command::Tick, Ok(mut decision)) => {
                for change in &mut decision.changes {
                    if let Change::Queue(QueueChange::Admitted { until, .. }) = change {
                        *until = until.plus_ms(-1_000);
                    }
                }
                Ok(decision)
            }
            (Bug::CodeIsWrong, _, Err(Refusal::NotYourTurn)) => Err(Refusal::SessionOver),
            (Bug::NoTimeAfterADecline, Command::FailPayment { .. }, Ok(mut decision)) => {
                for change in &mut decision.changes {
                    if let Change::Booking(BookingChange::PaymentFailed { until, .. }) = change {
                        *until = at.plus_ms(1).max(until.plus_ms(-60_000));
                    }
                }
                Ok(decision)
            }
            (Bug::RefusalChanges, Command::Release { booking, .. }, Err(Refusal::CannotCancel)) => {
                // The refusal is told by the run; the state has lost the hold.
                let released = HoldChange::HoldReleased { booking: booking.clone() };
                let view = event
                    .ask(at, BookingOf { booking: booking.clone(), user: None })
                    .map_err(|_| Refusal::CannotCancel)?;
                Ok(Decision {
                    reply: Reply::Hold(view),
                    changes: smallvec::smallvec![released.into()],
                })
            }
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
        match (bug, change) {
            (Bug::DeadlineIsEarlier, Change::Hold(HoldChange::HoldPlaced { terms, until })) => {
                let (terms, until) = (Arc::clone(terms), until.plus_ms(-1_000).max(at));
                event.evolve(at, &HoldChange::HoldPlaced { terms, until }.into());
            }
            (Bug::SeatStaysTaken, Change::Hold(HoldChange::HoldExpired { booking })) => {
                if let Ok(view) = event.ask(at, BookingOf { booking: booking.clone(), user: None })
                {
                    self.stuck.extend(view.terms.lines.seats().iter().cloned());
                }
                event.evolve(at, change);
            }
            (Bug::HeadGoesBack, Change::Queue(QueueChange::PlaceTaken { number, .. })) => {
                event.evolve(at, change);
                let head = event.snapshot().find_map(|row| match row {
                    SnapshotRow::Place(row) if row.number < *number => Some(row),
                    _ => None,
                });
                if let Some(row) = head {
                    let (place, user, number) = (row.place, row.user, row.number);
                    let how = onrush_core::change::LeftHow::Left;
                    let left = QueueChange::PlaceLeft { place, user: user.clone(), how };
                    event.evolve(at, &left.into());
                    let taken = QueueChange::PlaceTaken { place, user, number };
                    event.evolve(at, &taken.into());
                }
            }
            (
                Bug::BanIsForgotten,
                Change::Visitor(VisitorChange::VisitorRemoved { user, reason, .. }),
            ) => {
                let (user, reason) = (user.clone(), reason.clone());
                let removed = VisitorChange::VisitorRemoved { user, reason, banned: false };
                event.evolve(at, &removed.into());
            }
            (Bug::BanIsForgotten, Change::Visitor(VisitorChange::VisitorUnbanned { .. })) => {}
            (Bug::PayersKeepWhatEnded, _) => {
                self.kept.follow(event, at, change);
                event.evolve(at, change);
            }
            (Bug::PauseIsIgnored, Change::Sale(SaleChange::SalePaused)) => {}
            (Bug::HalfTheGap, Change::Sale(SaleChange::Resumed { gap_ms })) => {
                event.evolve(at, &SaleChange::Resumed { gap_ms: gap_ms / 2 }.into());
            }
            (Bug::DrawIsNotDrawn, Change::Sale(SaleChange::SaleOpened { public_value, .. })) => {
                let public_value = public_value.clone();
                event.evolve(at, &SaleChange::SaleOpened { seed: None, public_value }.into());
            }
            (Bug::PricesComeLate, Change::Setup(SetupChange::PriceChanged { .. })) => {
                let mut change = change.clone();
                if let Change::Setup(SetupChange::PriceChanged { later, .. }) = &mut change {
                    later.iter_mut().for_each(|step| step.from = step.from.plus_ms(1_000));
                }
                event.evolve(at, &change);
            }
            (Bug::PlacesAreAnyones, Change::Setup(SetupChange::SeatsAdded { .. })) => {
                let mut change = change.clone();
                if let Change::Setup(SetupChange::SeatsAdded { seats, .. }) = &mut change {
                    seats.iter_mut().for_each(|seat| seat.access = Access::Anyone);
                }
                event.evolve(at, &change);
            }
            (_, Change::Setup(SetupChange::EventCreated { settings })) => {
                let settings = Box::new(self.bent(settings));
                event.evolve(at, &SetupChange::EventCreated { settings }.into());
            }
            (_, Change::Setup(SetupChange::SettingsChanged { settings })) => {
                let settings = Box::new(self.bent(settings));
                event.evolve(at, &SetupChange::SettingsChanged { settings }.into());
            }
            (_, change) => event.evolve(at, change),
        }
    }

    /// Settings as the rules with this bug keep them.
    fn bent(&self, settings: &Settings) -> Settings {
        let mut it = settings.clone();
        let room = it.room.as_mut();
        match (self.bug, room) {
            (Some(Bug::LimitIsIgnored), _) => it.max_per_user = None,
            (Some(Bug::LimitsOfPartsAreIgnored), _) => it.limits.clear(),
            (Some(Bug::LimitsOfPayersAreIgnored), _) => {
                let many = |limit: Option<u32>| limit.map(|_| 1_000);
                (it.max_per_email, it.max_per_card) =
                    (many(it.max_per_email), many(it.max_per_card));
            }
            (Some(Bug::SingleSeatsAreLeft), _) => it.single_seats = SingleSeats::Allow,
            (Some(Bug::FeesAreForgotten), _) => it.fees = Default::default(),
            (Some(Bug::OneExtensionMore), _) => it.extensions += 1,
            (Some(Bug::OutflowIsIgnored), Some(room)) => room.outflow_per_min = None,
            (Some(Bug::OneUnitIsReckoned), Some(room)) => room.units_per_visitor = 1,
            (Some(Bug::RoomIsTooSmall), Some(room)) => room.capacity -= 1,
            (Some(Bug::QueueIsTooLong), Some(room)) => room.max_queue_size += 1,
            (Some(Bug::LapsesAreLate), Some(room)) => room.place_ttl_ms += 1_000,
            (_, _) => {}
        }
        it
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
    pub(crate) fn rows(&self, rows: Vec<SnapshotRow>) -> Vec<SnapshotRow> {
        let Some(bug) = self.bug else { return rows };
        let at = rows.iter().find_map(|row| match row {
            SnapshotRow::Event(row) => Some(row.at),
            _ => None,
        });
        let kept = rows.into_iter().filter_map(|mut row| match (bug, &mut row) {
            (Bug::SnapshotForgetsPrices, SnapshotRow::Event(event)) => {
                event.prices.iter_mut().for_each(|ladder| ladder.later.clear());
                Some(row)
            }
            (Bug::SnapshotForgetsBans, SnapshotRow::Ban(_))
            | (Bug::SnapshotForgetsSessions, SnapshotRow::Session(_))
            | (Bug::SnapshotForgetsTypes, SnapshotRow::Types(_))
            | (Bug::SnapshotForgetsGone, SnapshotRow::Gone(_)) => None,
            (Bug::SnapshotForgetsPayers, SnapshotRow::Hold(hold)) => {
                hold.payers = NamedPayers::default();
                Some(row)
            }
            (Bug::SnapshotForgetsAttempts, SnapshotRow::Hold(hold)) => {
                hold.payments = 0;
                Some(row)
            }
            (Bug::SnapshotForgetsCheckIns, SnapshotRow::Hold(hold)) => {
                hold.checked_in.clear();
                Some(row)
            }
            (Bug::SnapshotForgetsTheOutflow, SnapshotRow::Event(event)) => {
                event.outflow_clock_ns = 0;
                Some(row)
            }
            (Bug::SnapshotForgetsBlockedSeats, SnapshotRow::Seat(seat)) => {
                seat.blocked_why = None;
                Some(row)
            }
            (Bug::SnapshotForgetsLastSeen, SnapshotRow::Place(place)) => {
                place.last_seen = place.last_seen.and(at);
                Some(row)
            }
            (_, _) => Some(row),
        });
        kept.collect()
    }
}

fn map(changes: &mut Changes, how: impl Fn(&Change) -> Change) {
    for change in changes {
        *change = how(change);
    }
}

/// The same hold with one unit more, where there is one.
fn one_unit_more(event: &Event, at: Time, change: &Change) -> Change {
    let Change::Hold(HoldChange::HoldPlaced { terms, until }) = change else {
        return change.clone();
    };
    let mut pools: Vec<PoolLine> = terms.lines.pools().to_vec();
    let Some(first) = pools.first_mut() else { return change.clone() };
    first.quantity += 1;
    let view = event.ask(at, onrush_core::question::AvailabilityNow);
    let free = view.map_or(0, |view| {
        let pool = view.pools.iter().find(|pool| pool.pool == first.pool);
        pool.map_or(0, |pool| pool.units.free)
    });
    let fits = first.quantity <= free;
    match Lines::new(pools, terms.lines.seats().to_vec()) {
        Ok(lines) if fits => {
            let terms = Arc::new(HoldTerms { lines, ..(**terms).clone() });
            HoldChange::HoldPlaced { terms, until: *until }.into()
        }
        Ok(_) | Err(_) => change.clone(),
    }
}
