//! The organiser: sets the sale up, opens it, and keeps changing things.

use crate::chance::Chance;
use crate::floor::Floor;
use crate::later_prices::LaterPrices;
use crate::plan::{DRAW_SEED, Plan, id, limit, seat, settings};
use crate::types;
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::command::CancelTerms;
use onrush_core::ids::{ChannelId, ScanId};
use onrush_core::lines::Lines;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::{AvailabilityNow, BansAfter, ChannelsNow, EventNow, Query, SeatsNow};
use onrush_core::settings::{Digest, Settings};
use onrush_core::spec::{CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::{Command, Phase};
use std::collections::VecDeque;

/// Who did something by hand, and why; now and then a text that does not fit.
pub(crate) fn reason(chance: &mut Chance) -> Reason {
    let why = match chance.below(60) {
        0 => String::new(),
        1 => "é".repeat(501),
        2 => "é".repeat(500),
        _ => (*chance.pick(&["house seats", "\"rig\" | row 3", "ünï ☃"])).to_owned(),
    };
    Reason { by: "ops".into(), why: why.into() }
}

pub(crate) fn names(categories: &[CategorySpec]) -> Vec<Priced> {
    categories.iter().map(|category| Priced::Category(category.name.clone())).collect()
}

/// After how many of the organiser's doings a sale is closed early, at least and at most.
const CLOSES_AFTER: (i64, i64) = (10, 40);

/// The organiser of one sale.
#[derive(Debug)]
pub(crate) struct Organiser {
    chance: Chance,
    /// What is set up first.
    first: VecDeque<Command>,
    blocked: Vec<(Lines, Reason)>,
    fresh: u32,
    categories: Vec<CategorySpec>,
    tries_to_close: bool,
    /// What is drawn about ticket types, if the sale has some.
    types: Option<Chance>,
    /// What is drawn about archiving, if the sale may be archived.
    archive: Option<Chance>,
    /// How much is done yet before the sale is closed early, so that its event may be archived while
    /// what was sold is still to come; nothing in a sale that goes on.
    closes_after: Option<i64>,
    later_prices: LaterPrices,
}

impl Organiser {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut chance = Chance::of(plan.seed, "organiser", 0);
        let mut first = VecDeque::new();
        let settings = Box::new(plan.settings.clone());
        first.push_back(Command::CreateEvent { settings });
        for spec in &plan.pools {
            first.push_back(Command::AddPool { spec: spec.clone() });
        }
        if !plan.seats.is_empty() {
            let (categories, seats) = (plan.categories.clone(), plan.seats.clone());
            first.push_back(Command::AddSeats { categories, seats });
        }
        let tries_to_close = chance.percent(30);
        let categories = plan.categories.clone();
        // A stream of its own: sales without types are as they were before there were any.
        let mut types = Chance::of(plan.seed, "types", 0);
        let mut types = types.percent(50).then_some(types);
        if let Some(types) = &mut types {
            let pools = plan.pools.iter().map(|spec| Priced::Pool(spec.pool.clone()));
            let of_seats = if plan.seats.is_empty() { Vec::new() } else { names(&categories) };
            for of in pools.chain(of_seats) {
                if types.percent(60) {
                    first.push_back(types::set(types, of));
                }
            }
        }
        let mut archive = Chance::of(plan.seed, "archive", 0);
        let archive = archive.percent(60).then_some(archive);
        let mut early = Chance::of(plan.seed, "closed early", 0);
        let closes_after = (archive.is_some() && early.percent(25))
            .then(|| early.within(CLOSES_AFTER.0, CLOSES_AFTER.1));
        Self {
            chance,
            first,
            blocked: Vec::new(),
            fresh: 0,
            categories,
            tries_to_close,
            types,
            archive,
            closes_after,
            later_prices: LaterPrices::of(plan),
        }
    }

    /// Whether everything is set up.
    pub(crate) fn is_ready(&self) -> bool {
        self.first.is_empty() && self.later_prices.are_set()
    }

    /// Whether the sale may be archived in the end.
    pub(crate) fn archives(&self) -> bool {
        self.archive.is_some()
    }

    fn fresh(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    pub(crate) fn look(&mut self) -> Query {
        match self.chance.below(5) {
            0 => EventNow.into(),
            1 => ChannelsNow.into(),
            2 => AvailabilityNow.into(),
            3 => SeatsNow.into(),
            _ => BansAfter { after: None, at_most: 3 }.into(),
        }
    }

    pub(crate) fn act(&mut self, floor: &Floor, phase: Phase) -> Command {
        if let Some(command) = self.first.pop_front() {
            return command;
        }
        if let Some(command) = self.later_prices.set_next(floor) {
            return command;
        }
        // A sale that does not go on is brought back on its way.
        let stuck = matches!(phase, Phase::Scheduled | Phase::Prequeue | Phase::Paused);
        if stuck && self.chance.percent(60) {
            return self.go_on(floor, phase);
        }
        if let Some(types) = &mut self.types
            && types.percent(8)
        {
            return types::change(types, floor, &names(&self.categories));
        }
        if let Some(left) = &mut self.closes_after {
            *left -= 1;
            if *left <= 0 {
                self.closes_after = None;
                return Command::Close;
            }
        }
        let percent = if phase == Phase::Closed { 20 } else { 1 };
        if let Some(archive) = &mut self.archive
            && archive.percent(percent)
        {
            return Command::Archive { reason: reason(archive) };
        }
        match self.chance.below(31) {
            0..=3 => self.add_or_adjust(floor),
            4..=6 => self.block(floor),
            7..=9 => self.unblock(),
            10..=11 => self.change_settings(floor),
            12..=13 => Command::Pause,
            14 => Command::Resume,
            15 => self.go_on(floor, phase),
            16..=18 => self.cancel(floor),
            19..=21 => self.check_in(floor),
            22..=23 => self.adjust_claimed(floor),
            24 => self.remove(floor),
            25 => {
                let user = self.chance.pick(&floor.users).clone();
                Command::UnbanVisitor { user, reason: reason(&mut self.chance) }
            }
            26 => Command::Recover { gap_ms: *self.chance.pick(&[0, -1]) },
            27..=29 => self.change_channels(floor),
            _ if self.tries_to_close && self.chance.percent(10) => Command::Close,
            _ => Command::OpenPrequeue,
        }
    }

    fn go_on(&mut self, floor: &Floor, phase: Phase) -> Command {
        match phase {
            Phase::Scheduled if floor.has_room && self.chance.percent(60) => Command::OpenPrequeue,
            Phase::Prequeue if self.chance.percent(50) => Command::ClosePrequeue,
            Phase::Scheduled | Phase::Prequeue => self.open(&floor.settings),
            Phase::Paused => Command::Resume,
            Phase::Open | Phase::Closed => {
                if self.chance.percent(50) {
                    Command::ClosePrequeue
                } else {
                    self.open(&floor.settings)
                }
            }
        }
    }

    fn open(&mut self, settings: &Settings) -> Command {
        let right = settings.seed_hash().map(|_| DRAW_SEED);
        let seed = match self.chance.below(12) {
            0 => None,
            1 => Some(Digest([9; 32])),
            _ => right,
        };
        let with_value = self.chance.percent(match (settings.public_value_source(), right) {
            (Some(_), _) => 70,
            (None, Some(_)) => 40,
            (None, None) => 4,
        });
        let value = *self.chance.pick(&[
            "4 8 15 16 23 42",
            "4 8 15 16 23 42",
            "4 8 15 16 23 42",
            "4  8 15 16 23 42",
            "4 8 15 16 23 42 ",
            "4 8 15 16 23 42\u{200b}",
        ]);
        let public_value = with_value.then(|| value.into());
        Command::OpenSale { seed, public_value }
    }

    fn add_or_adjust(&mut self, floor: &Floor) -> Command {
        match self.chance.below(5) {
            4 => self.change_price(floor),
            0 => {
                let pool = format!("more{}", self.chance.below(3));
                let spec = PoolSpec {
                    pool: id(&pool),
                    capacity: *self.chance.pick(&[0, 2, 10, 1_000_000_001]),
                    price_minor: *self.chance.pick(&[0, 700, 700, -1]),
                };
                Command::AddPool { spec }
            }
            1 => {
                let from = self.chance.below(36);
                let seats: Vec<SeatSpec> = (from..from + self.chance.below(4)).map(seat).collect();
                let mut categories = self.categories.clone();
                if self.chance.percent(10) {
                    categories[0].price_minor += 1;
                }
                Command::AddSeats { categories, seats }
            }
            _ => {
                let pool = self.chance.any_of(&floor.pools).cloned().unwrap_or_else(|| id("no"));
                let capacity = *self.chance.pick(&[0, 1, 5, 20, 100, 1_000, 1_000_000_000]);
                let reason = reason(&mut self.chance);
                Command::AdjustCapacity { pool, capacity, reason }
            }
        }
    }

    fn change_price(&mut self, floor: &Floor) -> Command {
        let of = if self.chance.percent(50) {
            let pool = self.chance.any_of(&floor.pools).cloned();
            Priced::Pool(pool.unwrap_or_else(|| id("no")))
        } else {
            let names = self.categories.iter().map(|category| category.name.clone());
            let names: Vec<_> = names.chain(["no such".into()]).collect();
            Priced::Category(self.chance.pick(&names).clone())
        };
        let price_minor = *self.chance.pick(&[0, 500, 1_999, 20_000, -1]);
        let mut from = floor.at;
        let later = (0..self.chance.below(4)).map(|_| {
            from = from.plus_ms(*self.chance.pick(&[1, 40, 3_000, 90_000, 0]));
            PriceStep { from, price_minor: *self.chance.pick(&[0, 700, 2_500, 2_500]) }
        });
        let later = later.collect();
        Command::ChangePrice { of, price_minor, later, reason: reason(&mut self.chance) }
    }

    fn change_channels(&mut self, floor: &Floor) -> Command {
        const FRESH: [&str; 4] = ["fans", "box", "press", "no"];
        let some = |chance: &mut Chance| -> ChannelId {
            let known = chance.any_of(&floor.open_channels).filter(|_| chance.percent(80));
            match known {
                Some(known) => known.clone(),
                None => id(FRESH[chance.below(4) as usize]),
            }
        };
        let maybe = |chance: &mut Chance| chance.percent(60).then(|| some(chance));
        let chance = &mut self.chance;
        match chance.below(12) {
            0..=2 => {
                let release = chance.percent(30).then(|| PlannedRelease {
                    at: floor.at.plus_ms(*chance.pick(&[0, 1, 40, 3_000, 90_000])),
                    into: maybe(chance),
                });
                let quota = *chance.pick(&[None, Some(1), Some(3), Some(40), Some(1_000_000_001)]);
                let codes = vec![DRAW_SEED; chance.below(2) as usize];
                let (channel, queued) = (some(chance), chance.percent(40));
                let spec = ChannelSpec { channel, quota, codes, queued, release };
                Command::SetChannel { spec, reason: reason(chance) }
            }
            3 => {
                let (channel, into) = (some(chance), maybe(chance));
                Command::ReleaseChannel { channel, into, reason: reason(chance) }
            }
            _ => {
                let Some(lines) = floor.wish(chance) else { return Command::Pause };
                let from = maybe(chance).filter(|_| chance.percent(35));
                let to = maybe(chance);
                Command::Allot { lines, from, to, reason: reason(chance) }
            }
        }
    }

    fn block(&mut self, floor: &Floor) -> Command {
        let Some(lines) = floor.wish(&mut self.chance) else { return Command::Pause };
        let reason = reason(&mut self.chance);
        self.blocked.push((lines.clone(), reason.clone()));
        Command::Block { lines, reason }
    }

    fn unblock(&mut self) -> Command {
        if self.blocked.is_empty() {
            return Command::Resume;
        }
        let index = self.chance.below(self.blocked.len() as u32) as usize;
        let (lines, reason) = self.blocked.swap_remove(index);
        Command::Unblock { lines, reason }
    }

    fn change_settings(&mut self, floor: &Floor) -> Command {
        let mut wanted = settings(&mut self.chance);
        let now = &floor.settings;
        wanted.tax = now.tax.clone();
        // Mostly a change that can be made: times, limits and fees.
        if self.chance.percent(85) {
            wanted.currency = now.currency;
            match (&mut wanted.room, &now.room) {
                (Some(wanted), Some(now)) => {
                    wanted.order = now.order.clone();
                    wanted.places_per_user = now.places_per_user;
                    wanted.place_ttl_ms = wanted.place_ttl_ms.max(now.place_ttl_ms.min(360_000));
                    // Now and then another promise, or none; one of no draw is refused.
                    if wanted.capacity != 20 {
                        wanted.public_value_source.clone_from(&now.public_value_source);
                    }
                }
                (room, now) => room.clone_from(now),
            }
            wanted.prequeue_at = now.prequeue_at;
            wanted.opens_at = now.opens_at;
            wanted.closes_at = now.closes_at;
            wanted.amount_step_minor = now.amount_step_minor;
        }
        match self.chance.below(24) {
            0 => wanted.hold_max_ms = wanted.hold_ttl_ms - 1,
            1 => wanted.title = "".into(),
            2 => wanted.max_per_user = Some(0),
            3 => wanted.amount_step_minor = 30,
            4 => {
                if let Some(room) = &mut wanted.room {
                    room.capacity = 0;
                }
            }
            5 => wanted.limits.push(limit("vip", None, 0)),
            6 => wanted.limits.extend([limit("vip", None, 1), limit("vip", None, 2)]),
            _ => {}
        }
        Command::ChangeSettings { settings: Box::new(wanted) }
    }

    fn cancel(&mut self, floor: &Floor) -> Command {
        let all = if self.chance.percent(50) { &floor.confirmed } else { &floor.bookings };
        let Some(booking) = self.chance.any_of(all) else { return Command::Resume };
        let booking = booking.clone();
        let refund_minor = *self.chance.pick(&[None, None, Some(0), Some(100), Some(7), Some(-1)]);
        let reason = reason(&mut self.chance);
        Command::CancelConfirmed { booking, reason, terms: CancelTerms::Organiser { refund_minor } }
    }

    fn check_in(&mut self, floor: &Floor) -> Command {
        let all = if self.chance.percent(80) { &floor.confirmed } else { &floor.bookings };
        let Some(booking) = self.chance.any_of(all) else { return Command::Resume };
        // Few names, so that some scans are repeated.
        let scan = *self.chance.pick(&[None, Some(1), Some(2)]);
        let ticket = self.chance.below(4);
        Command::CheckIn { booking: booking.clone(), ticket, scan: scan.map(ScanId::from_u128) }
    }

    fn adjust_claimed(&mut self, floor: &Floor) -> Command {
        let Some(pool) = self.chance.any_of(&floor.pools) else { return Command::Pause };
        let fresh = self.fresh();
        Command::AdjustClaimed {
            claim: id(&format!("s{fresh}")),
            pool: pool.clone(),
            amount: *self.chance.pick(&[1, 3, -1, -2, 0, 2_000_000_000]),
            reason: reason(&mut self.chance),
        }
    }

    fn remove(&mut self, floor: &Floor) -> Command {
        let user = self.chance.pick(&floor.users).clone();
        let ban = self.chance.percent(50);
        Command::RemoveVisitor { user, reason: reason(&mut self.chance), ban }
    }
}
