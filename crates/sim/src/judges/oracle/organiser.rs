//! What organisers ask for.

use super::books::{Booking, Owner, Pool, Seat};
use super::settings::{check_reason, invalid, wrong_closing, wrong_setting};
use super::{Answer, Oracle};
use onrush_core::change::{QueueChange, SaleChange, SetupChange};
use onrush_core::hold::HoldState;
use onrush_core::ids::{PlaceId, PoolId};
use onrush_core::lines::Lines;
use onrush_core::settings::{Digest, Order, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::{Phase, Refusal, Time};
use sha2::{Digest as _, Sha256};

const MOST_UNITS: u32 = 1_000_000_000;

fn sha(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

pub(super) fn is_price(minor: i64) -> bool {
    (0..=1_000_000_000_000).contains(&minor)
}

fn short(text: &str) -> bool {
    text.chars().count() <= 500
}

/// Whether a name is short, and has none of the twelve signs that turn text around.
pub(super) fn is_name(text: &str) -> bool {
    let embedded = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}";
    let isolated = "\u{2066}\u{2067}\u{2068}\u{2069}";
    let turning = ["\u{61c}\u{200e}\u{200f}", embedded, isolated].concat();
    short(text) && !text.contains(|sign| turning.contains(sign))
}

fn already() -> Answer {
    Err(Refusal::AlreadyInPhase { why: "".into() })
}

fn first_another() -> Answer {
    Err(Refusal::OtherStepFirst { why: "".into() })
}

impl Oracle {
    pub(super) fn create(&mut self, settings: &Settings) -> Answer {
        if self.settings.is_some() {
            return Err(Refusal::EventExists);
        }
        if self.archived.is_some() {
            return Err(self.nothing_there());
        }
        let wrong =
            wrong_setting(settings).or_else(|| wrong_closing(None, settings.closes_at, self.now));
        if let Some(wrong) = wrong {
            return Err(invalid(Some(&wrong)));
        }
        self.settings = Some(settings.clone());
        self.change(SetupChange::EventCreated { settings: Box::new(settings.clone()) });
        Self::done()
    }

    /// The draw that the event commits to, if it does.
    pub(super) fn commitment(settings: &Settings) -> Option<Digest> {
        match settings.room.as_ref().map(|room| &room.order) {
            Some(Order::Draw { seed_hash }) => Some(*seed_hash),
            Some(Order::Fifo) | None => None,
        }
    }

    pub(super) fn change_settings(&mut self, wanted: &Settings) -> Answer {
        let now = self.settings();
        let wrong = wrong_setting(wanted)
            .or_else(|| wrong_closing(now.closes_at, wanted.closes_at, self.now));
        if let Some(wrong) = wrong {
            return Err(invalid(Some(&wrong)));
        }
        let fixed = |field: &'static str| {
            Err(Refusal::SettingsFixed { field: Some(field.into()), why: "".into() })
        };
        let has_prices = !self.pools.is_empty() || !self.seats.is_empty();
        if has_prices && now.currency != wanted.currency {
            return fixed("currency");
        }
        if has_prices && now.tax != wanted.tax {
            return fixed("tax");
        }
        let somebody = !self.line.is_empty() || !self.inside.is_empty();
        if somebody && now.room.is_none() != wanted.room.is_none() {
            return fixed("room");
        }
        // That they are there is written down every five minutes: less than six may be over for all.
        let waits = self.line.iter().any(|waiting| waiting.seen.is_some());
        if let (Some(before), Some(after)) = (&now.room, &wanted.room)
            && waits
            && after.place_ttl_ms < before.place_ttl_ms
            && after.place_ttl_ms < 6 * 60_000
        {
            return fixed("room.place_ttl_ms");
        }
        // Without a room before, people are served as they come.
        let order = now.room.as_ref().map_or(&Order::Fifo, |room| &room.order);
        // What was said about a draw is there for as long as the event is.
        let other = match &wanted.room {
            Some(room) => room.order != *order,
            None => matches!(order, Order::Draw { .. }),
        };
        if other && self.phase() != Phase::Scheduled {
            return fixed("room.order");
        }
        // Whoever knows the list may know the value, too.
        let source = |it: &Settings| {
            let room = it.room.as_ref();
            room.and_then(|room| room.public_value_source.clone())
        };
        if self.entrants.is_some() && source(now) != source(wanted) {
            return fixed("room.public_value_source");
        }
        self.settings = Some(wanted.clone());
        self.change(SetupChange::SettingsChanged { settings: Box::new(wanted.clone()) });
        Self::done()
    }

    pub(super) fn add_pool(&mut self, spec: &PoolSpec) -> Answer {
        if !is_price(spec.price_minor) {
            return Err(invalid(Some("price_minor")));
        }
        if spec.capacity > MOST_UNITS {
            return Err(invalid(Some("capacity")));
        }
        if self.pools.len() >= 10_000 {
            return Err(Refusal::EventLimit { why: "".into() });
        }
        if self.pool(&spec.pool).is_some() {
            return Err(Refusal::PoolExists { pool: spec.pool.clone() });
        }
        self.pools.push(Pool::new(spec.clone()));
        self.change(SetupChange::PoolAdded { spec: spec.clone() });
        Self::done()
    }

    pub(super) fn adjust_capacity(&mut self, id: &PoolId, after: u32, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if after > MOST_UNITS {
            return Err(invalid(Some("capacity")));
        }
        let Some(pool) = self.pool(id) else {
            return Err(Refusal::ZoneNotFound { pool: id.clone() });
        };
        let (before, committed) = (pool.spec.capacity, pool.taken());
        if committed > after {
            return Err(Refusal::CapacityBelowCommitted { committed });
        }
        self.pool_mut(id).spec.capacity = after;
        let (pool, reason) = (id.clone(), reason.clone());
        self.change(SetupChange::CapacityAdjusted { pool, before, after, reason });
        Self::done()
    }

    pub(super) fn add_seats(&mut self, categories: &[CategorySpec], seats: &[SeatSpec]) -> Answer {
        let mut fresh: Vec<CategorySpec> = Vec::new();
        for category in categories {
            let name_fits = !category.name.is_empty() && is_name(&category.name);
            if !is_price(category.price_minor) || !name_fits {
                return Err(invalid(None));
            }
            let same_name = |other: &&CategorySpec| other.name == category.name;
            if let Some(known) = self.categories.iter().find(same_name) {
                if known.price_minor != category.price_minor {
                    return Err(Refusal::SettingsFixed { field: None, why: "".into() });
                }
            } else if let Some(twice) = fresh.iter().find(same_name) {
                if twice.price_minor != category.price_minor {
                    return Err(invalid(None));
                }
            } else {
                fresh.push(category.clone());
            }
        }
        if self.categories.len() + fresh.len() > 1_000 {
            return Err(Refusal::EventLimit { why: "".into() });
        }
        if seats.is_empty() {
            return Err(invalid(None));
        }
        if self.seats.len() + seats.len() > 250_000 {
            return Err(Refusal::EventLimit { why: "".into() });
        }
        for (index, seat) in seats.iter().enumerate() {
            let named = |category: &CategorySpec| category.name == seat.category;
            let priced = categories.iter().any(named) || self.categories.iter().any(named);
            let fits = is_name(&seat.section)
                && is_name(&seat.row)
                && is_name(&seat.number)
                && seat.rank <= 1_000_000;
            if !fits || !priced {
                return Err(invalid(None));
            }
            let twice = seats[..index].iter().any(|other| other.seat == seat.seat);
            if twice || self.seat(&seat.seat).is_some() {
                return Err(Refusal::SeatExists { seat: seat.seat.clone() });
            }
        }
        for seat in seats {
            if let Access::CompanionOf(place) = &seat.access {
                let is_place =
                    |other: &SeatSpec| other.seat == *place && other.access == Access::Wheelchair;
                if !seats.iter().any(is_place) {
                    return Err(invalid(None));
                }
            }
        }
        self.categories.extend(fresh.iter().cloned());
        let added = seats.iter().map(|seat| Seat { spec: seat.clone(), owner: Owner::Nobody });
        self.seats.extend(added);
        self.change(SetupChange::SeatsAdded { categories: fresh, seats: seats.to_vec() });
        Self::done()
    }

    pub(super) fn block(&mut self, lines: &Lines, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        self.all_exist(lines)?;
        self.all_free(lines)?;
        for line in lines.pools() {
            let blocked = &mut self.pool_mut(&line.pool).blocked;
            *blocked.entry(reason.why.clone()).or_default() += line.quantity;
        }
        for seat in lines.seats() {
            self.seat_mut(seat).owner = Owner::Organiser(reason.why.clone());
        }
        let (lines, reason) = (lines.clone(), reason.clone());
        self.change(SetupChange::UnitsBlocked { lines, reason });
        Self::done()
    }

    pub(super) fn unblock(&mut self, lines: &Lines, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        self.all_exist(lines)?;
        for line in lines.pools() {
            let known = self.pool(&line.pool).and_then(|pool| pool.blocked.get(&reason.why));
            if known.is_none_or(|blocked| *blocked < line.quantity) {
                return Err(Refusal::UnitsNotBlocked);
            }
        }
        for seat in lines.seats() {
            if !self.seat(seat).is_some_and(|it| matches!(it.owner, Owner::Organiser(_))) {
                return Err(Refusal::UnitsNotBlocked);
            }
        }
        for line in lines.pools() {
            let blocked = &mut self.pool_mut(&line.pool).blocked;
            if let Some(left) = blocked.get_mut(&reason.why) {
                *left -= line.quantity;
                if *left == 0 {
                    blocked.remove(&reason.why);
                }
            }
        }
        for seat in lines.seats() {
            self.seat_mut(seat).owner = Owner::Nobody;
        }
        let (lines, reason) = (lines.clone(), reason.clone());
        self.change(SetupChange::UnitsUnblocked { lines, reason });
        Self::done()
    }

    fn not_open(&self) -> Answer {
        Err(Refusal::EventNotOpen { phase: self.phase() })
    }

    pub(super) fn open_prequeue(&mut self) -> Answer {
        if self.room().is_none() {
            return Err(Refusal::NoWaitingRoom);
        }
        match self.phase() {
            Phase::Scheduled => {
                self.phase = Some(Phase::Prequeue);
                self.change(SaleChange::PrequeueOpened);
                Self::done()
            }
            Phase::Prequeue => already(),
            Phase::Open | Phase::Paused | Phase::Closed => self.not_open(),
        }
    }

    pub(super) fn close_prequeue(&mut self, at: Time) -> Answer {
        match (self.phase(), &self.entrants) {
            (Phase::Prequeue, None) => {
                self.fix_entrants(at);
                Self::done()
            }
            (Phase::Prequeue, Some(_)) => already(),
            (Phase::Scheduled, _) => first_another(),
            (Phase::Open | Phase::Paused | Phase::Closed, _) => self.not_open(),
        }
    }

    /// Fixes the list of those who take part in the draw.
    pub(super) fn fix_entrants(&mut self, at: Time) {
        let mut list = String::new();
        for waiting in &self.line {
            list.push_str(&waiting.place.to_string());
            list.push('\n');
        }
        let hash = Digest(sha(&[list.as_bytes()]));
        let entrants = u32::try_from(self.line.len()).unwrap_or(u32::MAX);
        self.phase = Some(Phase::Prequeue);
        self.entrants = Some((entrants, hash, self.taken, at));
        self.change(QueueChange::PrequeueClosed { entrants, entrants_hash: hash });
    }

    pub(super) fn open_sale(
        &mut self,
        at: Time,
        seed: Option<Digest>,
        public_value: Option<&str>,
    ) -> Answer {
        match self.phase() {
            Phase::Scheduled | Phase::Prequeue => {}
            Phase::Open => return already(),
            Phase::Paused => return first_another(),
            Phase::Closed => return self.not_open(),
        }
        match (Self::commitment(self.settings()), seed) {
            (None, Some(_)) => return Err(invalid(Some("seed"))),
            (None, None) if public_value.is_some() => return Err(Refusal::NoDraw),
            (None, None) => {}
            (Some(_), None) => return Err(Refusal::SeedMismatch),
            (Some(hash), Some(seed)) => {
                if sha(&[&seed.0]) != hash.0 {
                    return Err(Refusal::SeedMismatch);
                }
                let is_plain = |value: &str| {
                    let signs = |word: &str| word.chars().all(|sign| ('!'..='~').contains(&sign));
                    short(value) && value.split(' ').all(|word| !word.is_empty() && signs(word))
                };
                if public_value.is_some_and(|value| !is_plain(value)) {
                    return Err(invalid(Some("public_value")));
                }
                let promised = self.room().and_then(|room| room.public_value_source.clone());
                match (self.entrants.is_some(), promised, public_value) {
                    (true, Some(public_value_source), None) => {
                        return Err(Refusal::PublicValueMissing { public_value_source });
                    }
                    (true, _, _) => {}
                    (false, None, None) => self.fix_entrants(at),
                    (false, _, _) => return first_another(),
                }
            }
        }
        self.begin(at, seed, public_value.map(Into::into));
        Self::done()
    }

    /// Opens the sale, with the line in its final order.
    pub(super) fn begin(&mut self, at: Time, seed: Option<Digest>, value: Option<Box<str>>) {
        self.phase = Some(Phase::Open);
        self.start_clocks(at);
        if let (Some(seed), Some((_, _, last, _))) = (seed, self.entrants) {
            let key = match &value {
                Some(value) => sha(&[&seed.0, value.as_bytes()]),
                None => seed.0,
            };
            let rank = |place: PlaceId| {
                let hash = sha(&[&key, place.to_string().as_bytes()]);
                // 52 bits are six bytes and a half.
                let (first, half) = (&hash[..6], hash[6] >> 4);
                first.iter().fold(0_u64, |rank, byte| rank << 8 | u64::from(*byte)) << 4
                    | u64::from(half)
            };
            let (mut drawn, mut late): (Vec<_>, Vec<_>) =
                self.line.drain(..).partition(|waiting| waiting.number <= last);
            drawn.sort_by_key(|waiting| (rank(waiting.place), waiting.place));
            late.sort_by_key(|waiting| waiting.number);
            self.line = drawn;
            self.line.append(&mut late);
        }
        self.revealed = Some((seed, value.clone()));
        self.change(SaleChange::SaleOpened { seed, public_value: value });
    }

    /// From now on places lapse; this counts as a sign of life of everybody.
    fn start_clocks(&mut self, at: Time) {
        self.opened = true;
        self.line.iter_mut().for_each(|waiting| waiting.seen = Some(at));
    }

    pub(super) fn pause(&mut self, at: Time) -> Answer {
        match self.phase_at(at) {
            Phase::Open => {
                self.phase = Some(Phase::Paused);
                self.change(SaleChange::SalePaused);
                Self::done()
            }
            Phase::Paused => already(),
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    pub(super) fn resume(&mut self, at: Time) -> Answer {
        match self.phase_at(at) {
            Phase::Paused => {
                self.phase = Some(Phase::Open);
                self.change(SaleChange::SaleResumed);
                Self::done()
            }
            Phase::Open => already(),
            phase @ (Phase::Scheduled | Phase::Prequeue | Phase::Closed) => {
                Err(Refusal::EventNotOpen { phase })
            }
        }
    }

    pub(super) fn close(&mut self, at: Time) -> Answer {
        if self.phase() == Phase::Closed {
            return already();
        }
        self.phase = Some(Phase::Closed);
        if !self.opened {
            self.start_clocks(at);
            self.revealed = Some((None, None));
        }
        self.change(SaleChange::SaleClosed);
        Self::done()
    }

    /// Why an event without settings refuses everything.
    pub(super) fn nothing_there(&self) -> Refusal {
        self.archived
            .map_or(Refusal::EventNotFound, |archived_at| Refusal::EventArchived { archived_at })
    }

    /// Nobody waits, is in the room or holds anything, and what is confirmed was kept until the
    /// event began: then nothing is kept but that it was archived.
    pub(super) fn archive(&mut self, at: Time, reason: &Reason) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if self.phase() != Phase::Closed {
            return first_another();
        }
        let begins = self.settings().starts_at.unwrap_or(at);
        let is_promise = |booking: &Booking| matches!(booking.state, HoldState::Confirmed { .. });
        if begins > at && self.bookings.values().any(is_promise) {
            return first_another();
        }
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let (waiting, inside) = (count(self.line.len()), count(self.inside.len()));
        let held = self.live.iter().map(|id| u64::from(self.bookings[id].terms.lines.units()));
        let held = held.sum();
        if waiting > 0 || inside > 0 || held > 0 {
            return Err(Refusal::EventInUse { waiting, inside, held });
        }
        *self = Self { archived: Some(at), now: at, ..Self::default() };
        self.change(SaleChange::EventArchived { reason: reason.clone() });
        Self::done()
    }
}
