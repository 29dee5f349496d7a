//! What everybody can see of a sale, and what was named in it before.

use crate::asked::{Asked, Deal};
use crate::chance::Chance;
use crate::plan::{Plan, START};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::change::{BookingChange, QueueChange, SaleChange, SetupChange};
use onrush_core::ids::{BookingId, ChannelId, PlaceId, PoolId, SeatId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::prices::Priced;
use onrush_core::settings::Settings;
use onrush_core::types::TicketType;
use onrush_core::{Change, Command, Phase, Time};
use std::collections::BTreeMap;

/// As many commands of before are remembered.
const REMEMBERED: usize = 32;

/// What is known to everybody.
#[derive(Debug)]
pub(crate) struct Floor {
    /// When the last command was decided.
    pub(crate) at: Time,
    pub(crate) settings: Settings,
    pub(crate) has_room: bool,
    has_long_rows: bool,
    pub(crate) phase: Phase,
    pub(crate) pools: Vec<PoolId>,
    pub(crate) seats: Vec<SeatId>,
    pub(crate) category_of: BTreeMap<SeatId, Priced>,
    /// Of what has types.
    pub(crate) types: BTreeMap<Priced, Vec<TicketType>>,
    pub(crate) users: Vec<UserId>,
    /// Bookings of before, by whoever.
    pub(crate) bookings: Vec<BookingId>,
    /// Confirmed ones among them.
    pub(crate) confirmed: Vec<BookingId>,
    /// What was asked before, to come again.
    pub(crate) asked: Vec<Command>,
    next: usize,
    /// Channels that have stock of their own.
    pub(crate) open_channels: Vec<ChannelId>,
    /// Who was admitted since this was last looked at.
    pub(crate) admitted: Vec<(UserId, PlaceId, Time)>,
}

impl Floor {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            at: START,
            settings: plan.settings.clone(),
            has_room: plan.settings.room.is_some(),
            has_long_rows: plan.has_long_rows(),
            phase: Phase::Scheduled,
            pools: Vec::new(),
            seats: Vec::new(),
            category_of: BTreeMap::new(),
            types: BTreeMap::new(),
            users: plan.users.clone(),
            bookings: Vec::new(),
            confirmed: Vec::new(),
            asked: Vec::new(),
            next: 0,
            open_channels: Vec::new(),
            admitted: Vec::new(),
        }
    }

    /// Something to hold, if there is anything.
    pub(crate) fn wish(&self, chance: &mut Chance) -> Option<Lines> {
        let (mut pools, mut seats) = (Vec::new(), Vec::new());
        if let Some(pool) = chance.any_of(&self.pools) {
            let quantity = *chance.pick(&[1, 1, 2, 2, 4, 9]);
            pools.push(PoolLine { pool: pool.clone(), quantity });
        }
        if (pools.is_empty() || chance.percent(50))
            && let Some(seat) = chance.any_of(&self.seats)
        {
            seats.push(seat.clone());
            if let Some(other) = chance.any_of(&self.seats).filter(|other| *other != seat) {
                seats.push(other.clone());
            }
            if chance.percent(70) {
                pools.clear();
            }
        }
        if self.has_long_rows && chance.percent(40) && !self.seats.is_empty() {
            pools.clear();
            let (from, many) = (chance.below(self.seats.len() as u32), chance.within(1, 28));
            seats = self.seats.iter().skip(from as usize).take(many as usize).cloned().collect();
        }
        if chance.percent(1) {
            seats.push("nowhere".parse().ok()?);
        }
        Lines::new(pools, seats).ok()
    }

    /// Channels that somebody may use: mostly none, and at times one that there is not.
    pub(crate) fn some_channels(&self, chance: &mut Chance) -> Vec<ChannelId> {
        let mut channels = Vec::new();
        while let Some(channel) = chance.any_of(&self.open_channels)
            && chance.percent(35)
        {
            channels.push(channel.clone());
        }
        if !channels.is_empty() && chance.percent(2) {
            channels.extend("no".parse());
        }
        channels
    }

    /// Seats that are left to the rules, if there are any.
    pub(crate) fn best(&self, chance: &mut Chance) -> Option<BestOrder> {
        if self.seats.is_empty() {
            return None;
        }
        const CATEGORIES: [&[&str]; 5] =
            [&[], &[], &["stalls"], &["circle"], &["circle", "stalls"]];
        const SECTIONS: [&[&str]; 4] = [&[], &[], &["left"], &["right"]];
        let mut quantity = *chance.pick(&[1, 2, 2, 2, 3, 4, 4, 5, 6]);
        if self.has_long_rows && chance.percent(40) {
            quantity = *chance.pick(&[9, 19, 20, 21, 22, 23, 24, 28]);
        }
        let together = *chance.pick(&[Together::Must, Together::Prefer]);
        let (categories, sections) = (*chance.pick(&CATEGORIES), *chance.pick(&SECTIONS));
        let strange: &[&str] = if chance.percent(1) { &["nowhere"] } else { &[] };
        let names = |of: &[&str]| of.iter().chain(strange).map(|name| Box::from(*name)).collect();
        let best = Best::new(quantity, together).ok()?.within(names(categories), names(sections));
        let best =
            best.ok()?.up_to(*chance.pick(&[None, None, None, Some(0), Some(1_500)])).ok()?;
        // Drawn from what was drawn before, so that other wishes stay as they were.
        let is_accessible = quantity < 4 && sections.len() == usize::from(quantity == 2);
        let is_accessible = is_accessible && together == Together::Prefer;
        let best = best.with_accessible(u32::from(is_accessible)).ok()?;
        // So are the seats that some would rather have.
        let would_rather = together == Together::Must && sections.is_empty() && quantity < 4;
        let how_many = quantity as usize;
        let wanted: Vec<_> = if would_rather && how_many <= self.seats.len() {
            let from = self.next % self.seats.len();
            self.seats.iter().cycle().skip(from).take(how_many).cloned().collect()
        } else {
            Vec::new()
        };
        let best = best.rather(wanted).ok()?;
        let beside = if chance.percent(10) { self.wish(chance) } else { None };
        BestOrder::new(best, beside).ok()
    }

    /// Sees what was committed.
    pub(crate) fn see(&mut self, asked: &Asked) {
        self.at = asked.at;
        let Deal::Command { command, changes, .. } = &asked.deal else { return };
        // Only the engine itself deals with what is due, and knows how long it was away.
        if !matches!(command, Command::Tick | Command::Recover { .. }) {
            if self.asked.len() < REMEMBERED {
                self.asked.push(command.clone());
            } else if self.next.is_multiple_of(4) {
                let index = self.next / 4 % REMEMBERED;
                self.asked[index] = command.clone();
            }
            self.next += 1;
        }
        if let Command::Hold { booking, .. } | Command::HoldBest { booking, .. } = command {
            if self.bookings.len() >= REMEMBERED {
                self.bookings.remove(0);
            }
            self.bookings.push(booking.clone());
        }
        for change in changes {
            if let Change::Booking(BookingChange::HoldConfirmed { booking, .. }) = change {
                if self.confirmed.len() >= REMEMBERED {
                    self.confirmed.remove(0);
                }
                self.confirmed.push(booking.clone());
            }
            if let Change::Setup(change) = change {
                self.see_setup(change);
            } else if let Change::Sale(change) = change {
                self.see_sale(change);
            } else if let Change::Queue(QueueChange::Admitted { place, user, arrive_by, .. }) =
                change
            {
                self.admitted.push((user.clone(), *place, *arrive_by));
            }
        }
    }

    fn see_sale(&mut self, change: &SaleChange) {
        self.phase = match change {
            SaleChange::PrequeueOpened => Phase::Prequeue,
            SaleChange::SaleOpened { .. } | SaleChange::SaleResumed => Phase::Open,
            SaleChange::SalePaused => Phase::Paused,
            SaleChange::SaleClosed => Phase::Closed,
            SaleChange::Resumed { .. } | SaleChange::EventArchived { .. } => return,
        };
    }

    fn see_setup(&mut self, change: &SetupChange) {
        match change {
            SetupChange::EventCreated { settings } | SetupChange::SettingsChanged { settings } => {
                self.has_room = settings.room.is_some();
                self.settings = (**settings).clone();
            }
            SetupChange::PoolAdded { spec } => self.pools.push(spec.pool.clone()),
            SetupChange::SeatsAdded { seats, .. } => {
                for seat in seats {
                    self.seats.push(seat.seat.clone());
                    let category = Priced::Category(seat.category.clone());
                    self.category_of.insert(seat.seat.clone(), category);
                }
            }
            SetupChange::TypesSet { of, types, .. } if types.is_empty() => {
                self.types.remove(of);
            }
            SetupChange::TypesSet { of, types, .. } => {
                self.types.insert(of.clone(), types.clone());
            }
            SetupChange::ChannelSet { spec, .. } => {
                if !self.open_channels.contains(&spec.channel) {
                    self.open_channels.push(spec.channel.clone());
                }
            }
            SetupChange::ChannelReleased { channel, .. } => {
                self.open_channels.retain(|known| known != channel);
            }
            SetupChange::CapacityAdjusted { .. }
            | SetupChange::UnitsAllotted { .. }
            | SetupChange::PriceChanged { .. }
            | SetupChange::UnitsBlocked { .. }
            | SetupChange::UnitsUnblocked { .. } => {}
        }
    }
}
