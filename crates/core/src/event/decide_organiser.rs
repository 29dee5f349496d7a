//! What organisers ask for: settings, stock, seats, and the phases of the sale.

use super::{Decision, Event};
use crate::change::{QueueChange, SaleChange, SetupChange};
use crate::ids::{PoolId, SeatId};
use crate::limits::{
    MAX_CATEGORIES_PER_EVENT, MAX_POOL_CAPACITY, MAX_POOLS_PER_EVENT, MAX_PRICE_MINOR,
    MAX_PRICE_STEPS, MAX_PRICE_TIME_MS, MAX_SEAT_RANK, MAX_SEATS_PER_EVENT, MIN_CUT_PLACE_TTL_MS,
    fits_name, fits_text, is_public_value,
};
use crate::lines::Lines;
use crate::phase::Phase;
use crate::prices::{PriceStep, Priced};
use crate::refusal::Refusal;
use crate::seats::SeatState;
use crate::settings::{Digest, Order, RoomSettings, Settings};
use crate::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use crate::time::Time;
use crate::waiting_room::draw;
use hashbrown::HashSet;

pub(super) fn wrong<T>(field: &'static str, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidSettings { field: Some(field.into()), why: why.into() })
}

/// The same for a seating plan, whose parts the API names otherwise.
fn wrong_plan<T>(why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidSettings { field: None, why: why.into() })
}

fn fixed<T>(field: Option<&'static str>, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal::SettingsFixed { field: field.map(Into::into), why: why.into() })
}

pub(super) fn event_limit<T>(what: &str, limit: usize) -> Result<T, Refusal> {
    Err(Refusal::EventLimit { why: format!("{what}: an event has at most {limit}").into() })
}

const WRONG_PRICE: &str = "price_minor: use 0 (free of charge) to 1000000000000 minor units";
const WRONG_LATER_PRICE: &str = "later: use 0 (free of charge) to 1000000000000 minor units";
const WRONG_TIME: &str = "later: use times that are to come, until the year 9999";
const WRONG_CLOSING: &str = "closes_at: use a time that is to come; to close now, close the sale";
const PROMISED: &str =
    "bookings are confirmed; cancel them first, or archive the event once it begins (starts_at)";

fn is_price(price_minor: i64) -> bool {
    (0..=MAX_PRICE_MINOR).contains(&price_minor)
}

fn check_capacity(capacity: u32) -> Result<(), Refusal> {
    if capacity <= MAX_POOL_CAPACITY {
        Ok(())
    } else {
        wrong("capacity", "capacity: use at most 1000000000 units")
    }
}

pub(super) fn check_reason(reason: &Reason) -> Result<(), Refusal> {
    let fits = |text: &str| !text.is_empty() && fits_text(text);
    for (field, text) in [("by", &reason.by), ("why", &reason.why)] {
        if !fits(text) {
            return wrong(field, "by and why: use 1 to 500 characters each");
        }
    }
    Ok(())
}

/// A closing time that is past would end the sale for good at once. One that stays as it was says
/// nothing new.
fn check_closing(at: Time, before: Option<Time>, wanted: Option<Time>) -> Result<(), Refusal> {
    if wanted != before && wanted.is_some_and(|closes_at| closes_at <= at) {
        return wrong("closes_at", WRONG_CLOSING);
    }
    Ok(())
}

impl Event {
    pub(super) fn decide_create(&self, at: Time, settings: &Settings) -> Result<Decision, Refusal> {
        if self.settings.is_some() {
            return Err(Refusal::EventExists);
        }
        if self.archived.is_some() {
            return Err(self.missing());
        }
        if let Some(complaint) = settings.complaint() {
            return Err(complaint.into());
        }
        check_closing(at, None, settings.closes_at)?;
        let settings = Box::new(settings.clone());
        Ok(Decision::done(SetupChange::EventCreated { settings }))
    }

    pub(super) fn decide_settings(&self, at: Time, wanted: &Settings) -> Result<Decision, Refusal> {
        let settings = self.settings.as_ref().ok_or(Refusal::EventNotFound)?;
        if let Some(complaint) = wanted.complaint() {
            return Err(complaint.into());
        }
        check_closing(at, settings.closes_at, wanted.closes_at)?;
        let priced = self.has_stock();
        if priced && wanted.currency != settings.currency {
            return fixed(Some("currency"), "currency: it is fixed once there are prices");
        }
        if priced && wanted.tax != settings.tax {
            return fixed(Some("tax"), "tax: it is fixed once there are prices");
        }
        let in_use = self.room.waiting() > 0 || self.room.sessions.len() > 0;
        if wanted.room.is_some() != settings.room.is_some() && in_use {
            return fixed(
                Some("room"),
                "room: switch it on or off while nobody waits and nobody is in",
            );
        }
        let shorter = |wanted: &RoomSettings| {
            let now_ms = settings.room.as_ref().map_or(0, |room| room.place_ttl_ms);
            wanted.place_ttl_ms < now_ms.min(MIN_CUT_PLACE_TTL_MS)
        };
        if self.opened && self.room.waiting() > 0 && wanted.room.as_ref().is_some_and(shorter) {
            return fixed(
                Some("room.place_ttl_ms"),
                "room.place_ttl_ms: while people wait it is cut to 360000 at least; that they are \
                 there is noted every 300000 only",
            );
        }
        let new_order = match (&settings.room, &wanted.room) {
            (Some(room), Some(wanted)) => wanted.order != room.order,
            (None, Some(wanted)) => wanted.order != Order::Fifo,
            // With its room, what was published about a draw would go.
            (Some(room), None) => room.order != Order::Fifo,
            (None, None) => false,
        };
        if self.phase != Phase::Scheduled && new_order {
            return fixed(Some("room.order"), "room.order: it is fixed once people may join");
        }
        // From then on the value may be known, and another one chosen for it.
        let is_listed = self.room.entrants.is_some();
        if is_listed && wanted.public_value_source() != settings.public_value_source() {
            return fixed(
                Some("room.public_value_source"),
                "room.public_value_source: it is fixed once the list of entrants is",
            );
        }
        Ok(Decision::done(SetupChange::SettingsChanged { settings: Box::new(wanted.clone()) }))
    }

    pub(super) fn decide_add_pool(&self, spec: &PoolSpec) -> Result<Decision, Refusal> {
        if !is_price(spec.price_minor) {
            return wrong("price_minor", WRONG_PRICE);
        }
        check_capacity(spec.capacity)?;
        if self.stock.iter().len() >= MAX_POOLS_PER_EVENT {
            return event_limit("pools", MAX_POOLS_PER_EVENT);
        }
        if self.stock.get(&spec.pool).is_some() {
            return Err(Refusal::PoolExists { pool: spec.pool.clone() });
        }
        Ok(Decision::done(SetupChange::PoolAdded { spec: spec.clone() }))
    }

    pub(super) fn decide_capacity(
        &self,
        pool: &PoolId,
        capacity: u32,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        check_capacity(capacity)?;
        let found =
            self.stock.get(pool).ok_or_else(|| Refusal::ZoneNotFound { pool: pool.clone() })?;
        if capacity < found.committed() {
            return Err(Refusal::CapacityBelowCommitted { committed: found.committed() });
        }
        Ok(Decision::done(SetupChange::CapacityAdjusted {
            pool: pool.clone(),
            before: found.spec.capacity,
            after: capacity,
            reason: reason.clone(),
        }))
    }

    pub(super) fn decide_add_seats(
        &self,
        categories: &[CategorySpec],
        seats: &[SeatSpec],
    ) -> Result<Decision, Refusal> {
        let mut new_categories: Vec<CategorySpec> = Vec::new();
        for category in categories {
            if !is_price(category.price_minor) {
                return wrong_plan(WRONG_PRICE);
            }
            if category.name.is_empty() || !fits_name(&category.name) {
                let why =
                    "categories: use names of 1 to 500 characters, none that turns the text around";
                return wrong_plan(why);
            }
            let known = self.seats.category(&category.name).map(|known| known.price_minor);
            let named = new_categories.iter().find(|other| other.name == category.name);
            match known.or(named.map(|named| named.price_minor)) {
                None => new_categories.push(category.clone()),
                Some(price_minor) if price_minor == category.price_minor => {}
                Some(_) if known.is_some() => {
                    let why = "categories: a known one keeps its price; name another differently";
                    return fixed(None, why);
                }
                Some(_) => return wrong_plan("categories: give each one price"),
            }
        }
        if self.seats.categories().len() + new_categories.len() > MAX_CATEGORIES_PER_EVENT {
            return event_limit("categories", MAX_CATEGORIES_PER_EVENT);
        }
        if seats.is_empty() {
            return wrong_plan("seats: add at least one");
        }
        if self.seats.len() + seats.len() > MAX_SEATS_PER_EVENT {
            return event_limit("seats", MAX_SEATS_PER_EVENT);
        }
        let category_names: HashSet<&str, foldhash::fast::FixedState> =
            categories.iter().map(|category| category.name.as_ref()).collect();
        let mut named =
            HashSet::with_capacity_and_hasher(seats.len(), foldhash::fast::FixedState::default());
        for seat in seats {
            if !fits_name(&seat.section) || !fits_name(&seat.row) || !fits_name(&seat.number) {
                let why = "section, row and number: use at most 500 characters each, none that turns the \
                           text around";
                return wrong_plan(why);
            }
            if seat.rank > MAX_SEAT_RANK {
                return wrong_plan("seats: rank: use 0 to 1000000");
            }
            let category = seat.category.as_ref();
            if !category_names.contains(category) && self.seats.category(category).is_none() {
                return wrong_plan("seats: every seat's category needs a price");
            }
            if self.seats.get(&seat.seat).is_some() || !named.insert(&seat.seat) {
                return Err(Refusal::SeatExists { seat: seat.seat.clone() });
            }
        }
        let is_place = |seat: &&SeatSpec| seat.access == Access::Wheelchair;
        let places: HashSet<&SeatId, foldhash::fast::FixedState> =
            seats.iter().filter(is_place).map(|seat| &seat.seat).collect();
        for seat in seats {
            if let Access::CompanionOf(place) = &seat.access
                && !places.contains(place)
            {
                return wrong_plan("seats: companion_of: name a wheelchair place of the same plan");
            }
        }
        let (categories, seats) = (new_categories, seats.to_vec());
        Ok(Decision::done(SetupChange::SeatsAdded { categories, seats }))
    }

    pub(super) fn decide_price(
        &self,
        at: Time,
        of: &Priced,
        price_minor: i64,
        later: &[PriceStep],
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if !is_price(price_minor) {
            return wrong("price_minor", WRONG_PRICE);
        }
        if later.len() > MAX_PRICE_STEPS {
            return wrong("later", "later: name at most 20 prices to come");
        }
        if !later.iter().all(|step| is_price(step.price_minor)) {
            return wrong("later", WRONG_LATER_PRICE);
        }
        if !later.is_sorted_by(|one, next| one.from < next.from) {
            return wrong("later", "later: put the earliest first, and one price at a time");
        }
        if later.iter().any(|step| step.from <= at || step.from > Time(MAX_PRICE_TIME_MS)) {
            return wrong("later", WRONG_TIME);
        }
        let before_minor = self.last_price_minor(of).ok_or_else(|| of.missing())?;
        let (of, later, reason) = (of.clone(), later.to_vec(), Some(reason.clone()));
        let changed = SetupChange::PriceChanged { of, before_minor, price_minor, later, reason };
        Ok(Decision::done(changed))
    }

    pub(super) fn decide_block(&self, lines: &Lines, reason: &Reason) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        self.check_lines_exist(lines)?;
        self.check_lines_free(lines)?;
        let (lines, reason) = (lines.clone(), reason.clone());
        Ok(Decision::done(SetupChange::UnitsBlocked { lines, reason }))
    }

    pub(super) fn decide_unblock(
        &self,
        lines: &Lines,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        self.check_lines_exist(lines)?;
        let pools_blocked = lines.pools().iter().all(|line| {
            let blocked =
                self.stock.get(&line.pool).and_then(|pool| pool.blocked_why.get(&reason.why));
            blocked.is_some_and(|blocked| *blocked >= line.quantity)
        });
        let seats_blocked = lines.seats().iter().all(|seat| {
            self.seats.get(seat).is_some_and(|seat| matches!(seat.state, SeatState::Blocked(_)))
        });
        if pools_blocked && seats_blocked {
            let (lines, reason) = (lines.clone(), reason.clone());
            Ok(Decision::done(SetupChange::UnitsUnblocked { lines, reason }))
        } else {
            Err(Refusal::UnitsNotBlocked)
        }
    }

    fn phase_refusal(&self) -> Refusal {
        Refusal::EventNotOpen { phase: self.phase }
    }

    pub(super) fn decide_open_prequeue(&self) -> Result<Decision, Refusal> {
        if self.room_settings().is_none() {
            return Err(Refusal::NoWaitingRoom);
        }
        match self.phase {
            Phase::Scheduled => Ok(Decision::done(SaleChange::PrequeueOpened)),
            Phase::Prequeue => Err(Refusal::AlreadyInPhase {
                why: "the prequeue is open already; open the sale next".into(),
            }),
            Phase::Open | Phase::Paused | Phase::Closed => Err(self.phase_refusal()),
        }
    }

    pub(super) fn decide_close_prequeue(&self) -> Result<Decision, Refusal> {
        match self.phase {
            Phase::Prequeue if self.room.entrants.is_none() => {
                Ok(Decision::done(self.prequeue_closed()))
            }
            Phase::Prequeue => Err(Refusal::AlreadyInPhase {
                why: "the list of entrants is fixed already; open the sale next".into(),
            }),
            Phase::Scheduled => {
                Err(Refusal::OtherStepFirst { why: "open the prequeue first".into() })
            }
            Phase::Open | Phase::Paused | Phase::Closed => Err(self.phase_refusal()),
        }
    }

    pub(super) fn prequeue_closed(&self) -> QueueChange {
        let (entrants, entrants_hash) = self.room.entrants_now();
        QueueChange::PrequeueClosed { entrants, entrants_hash }
    }

    pub(super) fn decide_open_sale(
        &self,
        seed: Option<Digest>,
        public_value: Option<&str>,
    ) -> Result<Decision, Refusal> {
        match self.phase {
            Phase::Scheduled | Phase::Prequeue => {}
            Phase::Open => {
                return Err(Refusal::AlreadyInPhase { why: "the sale is open already".into() });
            }
            Phase::Paused => {
                return Err(Refusal::OtherStepFirst {
                    why: "the sale is paused; resume it instead".into(),
                });
            }
            Phase::Closed => return Err(self.phase_refusal()),
        }
        let mut decision = Decision::nothing(crate::view::Reply::Done);
        let committed = self.settings.as_ref().and_then(Settings::seed_hash);
        match (committed, seed) {
            (None, None) => {
                if public_value.is_some() {
                    return Err(Refusal::NoDraw);
                }
            }
            (None, Some(_)) => return wrong("seed", "seed: only an event with a draw takes one"),
            (Some(_), None) => return Err(Refusal::SeedMismatch),
            (Some(committed), Some(seed)) => {
                if draw::sha256(&seed.0) != committed {
                    return Err(Refusal::SeedMismatch);
                }
                if !public_value.is_none_or(is_public_value) {
                    return wrong(
                        "public_value",
                        "public_value: use 1 to 500 printable ASCII characters, with one space \
                         between words and none at the ends",
                    );
                }
                let promised = self.settings.as_ref().and_then(Settings::public_value_source);
                if self.room.entrants.is_none() {
                    if public_value.is_some() || promised.is_some() {
                        let why = "close the prequeue before the public value becomes known";
                        return Err(Refusal::OtherStepFirst { why: why.into() });
                    }
                    decision.changes.push(self.prequeue_closed().into());
                } else if let (Some(source), None) = (promised, public_value) {
                    let public_value_source = source.into();
                    return Err(Refusal::PublicValueMissing { public_value_source });
                }
            }
        }
        let public_value = public_value.map(Into::into);
        decision.changes.push(SaleChange::SaleOpened { seed, public_value }.into());
        Ok(decision)
    }

    pub(super) fn decide_pause(&self, at: Time) -> Result<Decision, Refusal> {
        match self.phase_at(at) {
            Phase::Open => Ok(Decision::done(SaleChange::SalePaused)),
            Phase::Paused => {
                Err(Refusal::AlreadyInPhase { why: "the sale is paused already".into() })
            }
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    pub(super) fn decide_resume(&self, at: Time) -> Result<Decision, Refusal> {
        match self.phase_at(at) {
            Phase::Paused => Ok(Decision::done(SaleChange::SaleResumed)),
            Phase::Open => Err(Refusal::AlreadyInPhase { why: "the sale is not paused".into() }),
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    pub(super) fn decide_close(&self) -> Result<Decision, Refusal> {
        match self.phase {
            Phase::Scheduled | Phase::Prequeue | Phase::Open | Phase::Paused => {
                Ok(Decision::done(SaleChange::SaleClosed))
            }
            Phase::Closed => {
                Err(Refusal::AlreadyInPhase { why: "the sale is closed already".into() })
            }
        }
    }

    pub(super) fn decide_archive(
        &self,
        at: Time,
        settings: &Settings,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if self.phase != Phase::Closed {
            return Err(Refusal::OtherStepFirst { why: "close the sale first".into() });
        }
        // A booking is a promise until its event is over, and nothing brings an archived one back.
        let is_to_come = settings.starts_at.is_some_and(|starts_at| at < starts_at);
        if is_to_come && self.has_confirmed() {
            return Err(Refusal::OtherStepFirst { why: PROMISED.into() });
        }
        let waiting = self.room.waiting();
        let inside = u32::try_from(self.room.sessions.len()).unwrap_or(u32::MAX);
        let pools = self.stock.iter().map(|pool| u64::from(pool.held));
        let seats = self.seats.categories().map(|category| u64::from(category.units.held));
        let held = pools.chain(seats).sum();
        if waiting > 0 || inside > 0 || held > 0 {
            return Err(Refusal::EventInUse { waiting, inside, held });
        }
        Ok(Decision::done(SaleChange::EventArchived { reason: reason.clone() }))
    }

    /// Whether some booking is confirmed. Claimed units count as sold, and are no booking's.
    fn has_confirmed(&self) -> bool {
        self.stock.iter().any(|pool| pool.sold > pool.claimed)
            || self.seats.categories().any(|category| category.units.sold > 0)
    }
}
