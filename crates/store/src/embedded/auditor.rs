//! Who owns what and what it costs, added up from the changes alone: a second opinion that shares no
//! code with the rules.

mod aside;
mod payers;
mod prices;
mod users;

use aside::Aside;
use onrush_core::Change;
use onrush_core::change::{
    BookingChange, ClaimChange, HoldChange, QueueChange, SaleChange, SetupChange, VisitorChange,
};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, ClaimId, EventId, PlaceId, PoolId, SeatId, UserId};
use onrush_core::lines::Lines;
use onrush_core::settings::Digest;
use onrush_core::waiting_room::draw;
use payers::Payers;
use prices::Prices;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use users::Users;

/// What a booking does with its units.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    Held,
    Sold,
    Nothing,
}

/// What a seat is.
#[derive(Clone)]
enum Seat {
    Free,
    Owned(BookingId),
    Blocked,
}

#[derive(Default)]
struct Pool {
    capacity: i64,
    /// Held, sold, claimed and blocked.
    taken: i64,
    claimed: i64,
}

/// One event's ownership.
#[derive(Default)]
struct Ledger {
    pools: HashMap<PoolId, Pool>,
    seats: HashMap<SeatId, Seat>,
    bookings: HashMap<BookingId, (Arc<HoldTerms>, Has)>,
    /// Of which pool, how many, and whose unless a service's.
    claims: HashMap<ClaimId, (PoolId, i64, Option<UserId>)>,
    aside: Aside,
    payers: Payers,
    prices: Prices,
    users: Users,
    banned: HashSet<UserId>,
    line: Queue,
    draw: Draw,
}

/// What the organiser holds themselves to.
#[derive(Default)]
struct Draw {
    seed_hash: Option<Digest>,
    is_value_promised: bool,
}

/// Who waits, by the number of the place.
#[derive(Default)]
struct Queue {
    /// A draw puts the line in another order, which only the rules know.
    drawn: bool,
    last_number: u32,
    places: HashMap<PlaceId, (u32, UserId)>,
    of_user: HashMap<UserId, BTreeMap<u32, PlaceId>>,
    /// Users with a session: their other places wait until it is over.
    inside: HashSet<UserId>,
    /// Places of all others; the first of these is next.
    may_go: BTreeMap<u32, PlaceId>,
}

/// The second opinion on a whole journal.
#[derive(Default)]
pub(super) struct Auditor {
    events: HashMap<EventId, Ledger>,
    /// Units that events had sold which were archived since.
    sold_before: u64,
    pub(super) findings: Findings,
}

/// What an audit counts.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) seats_sold_twice: u64,
    pub(super) oversold: u64,
    pub(super) fifo_violations: u64,
    /// What happened now, one sentence each; whoever reads them takes them away.
    pub(super) violations: Vec<String>,
}

impl Findings {
    fn violation(&mut self, what: String) {
        self.violations.push(what);
    }
}

impl Auditor {
    /// Takes one change into account.
    pub(super) fn note(&mut self, event: &EventId, change: &Change) {
        if !self.events.contains_key(event) {
            self.events.insert(event.clone(), Ledger::default());
        }
        if let Some(ledger) = self.events.get_mut(event) {
            ledger.note(change, &mut self.findings);
        }
        if matches!(change, Change::Sale(SaleChange::EventArchived { .. }))
            && let Some(ledger) = self.events.remove(event)
        {
            let held = ledger.bookings.values().filter(|(_, has)| *has == Has::Held).count();
            if held > 0 {
                let what = format!("it is archived and {held} bookings hold something");
                self.findings.violation(what);
            }
            self.sold_before += ledger.sold();
        }
    }

    /// Units confirmed or claimed by now, those of archived events among them.
    pub(super) fn sold(&self) -> u64 {
        self.sold_before + self.events.values().map(Ledger::sold).sum::<u64>()
    }
}

impl Ledger {
    fn sold(&self) -> u64 {
        let bookings = self.bookings.values().filter(|(_, has)| *has == Has::Sold);
        let confirmed: u64 = bookings.map(|(terms, _)| u64::from(terms.lines.units())).sum();
        let claimed: i64 = self.pools.values().map(|pool| pool.claimed).sum();
        confirmed + claimed.unsigned_abs()
    }

    fn note(&mut self, change: &Change, findings: &mut Findings) {
        if let Change::Setup(change) = change {
            self.prices.note(change);
        }
        match change {
            Change::Setup(change) => match change {
                SetupChange::PoolAdded { spec } => {
                    self.pools.entry(spec.pool.clone()).or_default().capacity =
                        i64::from(spec.capacity);
                }
                SetupChange::CapacityAdjusted { pool, after, .. } => {
                    self.pools.entry(pool.clone()).or_default().capacity = i64::from(*after);
                    self.take(pool, 0, findings);
                }
                SetupChange::SeatsAdded { seats, .. } => {
                    for seat in seats {
                        if self.seats.insert(seat.seat.clone(), Seat::Free).is_some() {
                            findings.violation(format!("seat {} is added twice", seat.seat));
                        }
                    }
                }
                SetupChange::UnitsBlocked { lines, .. } => {
                    self.occupy(lines, &Seat::Blocked, findings);
                }
                SetupChange::UnitsUnblocked { lines, .. } => self.unblock(lines, findings),
                SetupChange::UnitsAllotted { lines, from, to, .. } => {
                    for seat in lines.seats() {
                        if !matches!(self.seats.get(seat), Some(Seat::Free)) {
                            findings.violation(format!("seat {seat} is moved and is not free"));
                        }
                    }
                    let wrong = self.aside.allot(lines, from.as_ref(), to.as_ref());
                    findings.violations.extend(wrong);
                    self.check_room(lines, findings);
                }
                SetupChange::ChannelReleased { channel, into, .. } => {
                    self.aside.release(channel, into.as_ref());
                }
                SetupChange::EventCreated { settings }
                | SetupChange::SettingsChanged { settings } => {
                    self.payers.set(settings);
                    self.users.set(settings);
                    self.draw.seed_hash = settings.seed_hash();
                    self.draw.is_value_promised = settings.public_value_source().is_some();
                }
                SetupChange::ChannelSet { .. }
                | SetupChange::TypesSet { .. }
                | SetupChange::PriceChanged { .. } => {}
            },
            Change::Sale(change) => match change {
                SaleChange::SaleOpened { seed, public_value } => {
                    self.line.drawn |= seed.is_some();
                    if seed.as_ref().map(|seed| draw::sha256(&seed.0)) != self.draw.seed_hash {
                        findings
                            .violation("it is drawn with another seed than was promised".into());
                    }
                    if self.draw.is_value_promised && public_value.is_none() {
                        findings
                            .violation("it is drawn without the value that was promised".into());
                    }
                }
                SaleChange::PrequeueOpened
                | SaleChange::SalePaused
                | SaleChange::SaleResumed
                | SaleChange::SaleClosed
                | SaleChange::EventArchived { .. }
                | SaleChange::Resumed { .. } => {}
            },
            Change::Queue(change) => match change {
                QueueChange::PlaceTaken { place, user, number } => {
                    self.expect_welcome(user, findings);
                    self.line.join(*place, user, *number, findings);
                }
                QueueChange::PlaceLeft { place, .. } => self.line.leave(*place, findings),
                QueueChange::Admitted { place, user, .. } => {
                    self.line.admit(*place, user, findings)
                }
                QueueChange::PlaceSeen { .. } | QueueChange::PrequeueClosed { .. } => {}
            },
            Change::Visitor(change) => match change {
                VisitorChange::SlotFreed { user, .. } => self.line.let_go(user),
                VisitorChange::VisitorRemoved { user, banned, .. } => {
                    if *banned && !self.banned.insert(user.clone()) {
                        findings.violation(format!("user {user} is banned twice"));
                    }
                }
                VisitorChange::VisitorUnbanned { user, .. } => {
                    if !self.banned.remove(user) {
                        findings.violation(format!("user {user} is unbanned and was not banned"));
                    }
                }
                VisitorChange::Arrived { .. } | VisitorChange::SessionEnded { .. } => {}
            },
            Change::Hold(change) => match change {
                HoldChange::HoldPlaced { terms, .. } => {
                    self.expect_welcome(&terms.user, findings);
                    findings.violations.extend(self.prices.check(terms).err());
                    findings.violations.extend(self.aside.take(terms));
                    let wrong = self.users.take(&terms.user, i64::from(terms.lines.units()));
                    findings.violations.extend(wrong);
                    self.occupy(&terms.lines, &Seat::Owned(terms.booking.clone()), findings);
                    let booking = (terms.clone(), Has::Held);
                    if self.bookings.insert(terms.booking.clone(), booking).is_some() {
                        findings.violation(format!("booking {} is held twice", terms.booking));
                    }
                }
                HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking } => {
                    self.turn(booking, Has::Held, Has::Nothing, findings);
                }
                HoldChange::HoldForgotten { booking } => match self.bookings.remove(booking) {
                    Some((_, Has::Nothing)) => self.payers.forget(booking),
                    Some((_, Has::Held | Has::Sold)) | None => {
                        findings
                            .violation(format!("booking {booking} is forgotten and had not ended"));
                    }
                },
                HoldChange::HoldExtended { .. } => {}
            },
            Change::Booking(change) => match change {
                BookingChange::HoldConfirmed { booking, .. } => {
                    self.turn(booking, Has::Held, Has::Sold, findings)
                }
                BookingChange::HoldConfirmedLate { booking, .. } => {
                    self.buy_late(booking, findings)
                }
                BookingChange::ConfirmedCancelled { booking, refund_minor, .. } => {
                    if let Some((terms, _)) = self.bookings.get(booking) {
                        let checked = prices::check_refund(terms, *refund_minor);
                        findings.violations.extend(checked.err());
                    }
                    self.turn(booking, Has::Sold, Has::Nothing, findings);
                }
                BookingChange::PayerNamed { booking, by, payer } => {
                    let Some((terms, has)) = self.bookings.get(booking) else {
                        findings.violation(format!("booking {booking} has a payer, and is not"));
                        return;
                    };
                    let units = (terms.lines.units(), *has != Has::Nothing);
                    let wrong = self.payers.name(booking, units, *by, *payer);
                    findings.violations.extend(wrong);
                }
                BookingChange::PaymentBegun { .. }
                | BookingChange::PaymentFailed { .. }
                | BookingChange::LatePaymentFailed { .. }
                | BookingChange::CheckedIn { .. } => {}
            },
            Change::Claim(change) => match change {
                ClaimChange::Claimed { claim, user, pool, quantity, .. } => {
                    self.expect_welcome(user, findings);
                    let quantity = i64::from(*quantity);
                    findings.violations.extend(self.users.take(user, quantity));
                    self.claim(claim, pool, quantity, Some(user), findings);
                }
                ClaimChange::ClaimedAdjusted { claim, pool, amount, .. } => {
                    self.claim(claim, pool, *amount, None, findings);
                }
                ClaimChange::Declaimed { claim, .. } => match self.claims.get_mut(claim) {
                    Some((pool, amount, user)) if *amount > 0 => {
                        let (pool, amount) = (pool.clone(), std::mem::take(amount));
                        if let Some(user) = user {
                            self.users.add(user, -amount);
                        }
                        self.take(&pool, -amount, findings);
                        self.pools.entry(pool).or_default().claimed -= amount;
                    }
                    Some(_) | None => {
                        findings
                            .violation(format!("claim {claim} is given back and was not claimed"));
                    }
                },
                ClaimChange::ClaimForgotten { claim } => {
                    self.claims.remove(claim);
                }
            },
        }
    }

    /// Whoever is banned takes nothing new.
    fn expect_welcome(&self, user: &UserId, findings: &mut Findings) {
        if self.banned.contains(user) {
            findings.violation(format!("user {user} takes something and is banned"));
        }
    }

    /// Gives free units to somebody, or takes them off sale.
    fn occupy(&mut self, lines: &Lines, to: &Seat, findings: &mut Findings) {
        for line in lines.pools() {
            self.take(&line.pool, i64::from(line.quantity), findings);
        }
        for seat in lines.seats() {
            self.set_seat(seat, to.clone(), findings);
            if self.aside.has(seat) {
                findings.violation(format!("seat {seat} is taken and is set aside"));
            }
        }
        self.check_room(lines, findings);
    }

    /// What is taken and what is set aside is no more than there is.
    fn check_room(&self, lines: &Lines, findings: &mut Findings) {
        for line in lines.pools() {
            let (pool, aside) = (&line.pool, self.aside.of_pool(&line.pool));
            let Some(Pool { capacity, taken, .. }) = self.pools.get(pool) else { continue };
            if aside > 0 && taken + aside > *capacity {
                findings
                    .violation(format!("pool {pool}: {aside} are set aside, {taken} are taken"));
            }
        }
    }

    fn give_back(&mut self, lines: &Lines, findings: &mut Findings) {
        for line in lines.pools() {
            self.take(&line.pool, -i64::from(line.quantity), findings);
        }
    }

    fn unblock(&mut self, lines: &Lines, findings: &mut Findings) {
        self.give_back(lines, findings);
        for seat in lines.seats() {
            match self.seats.insert(seat.clone(), Seat::Free) {
                Some(Seat::Blocked) => {}
                Some(Seat::Free | Seat::Owned(_)) | None => {
                    findings.violation(format!("seat {seat} is unblocked and was not blocked"));
                }
            }
        }
    }

    fn set_seat(&mut self, seat: &SeatId, to: Seat, findings: &mut Findings) {
        match (self.seats.insert(seat.clone(), to), &self.seats[seat]) {
            (Some(Seat::Free), _) => {}
            (Some(Seat::Owned(first)), Seat::Owned(second)) => {
                findings.seats_sold_twice += 1;
                findings.violation(format!(
                    "seat {seat} goes to booking {second} and belongs to {first}"
                ));
            }
            (Some(Seat::Owned(_) | Seat::Blocked), _) => {
                findings.violation(format!("seat {seat} is taken and was not free"));
            }
            (None, _) => findings.violation(format!("seat {seat} is taken and does not exist")),
        }
    }

    /// Takes units of a pool, or gives them back.
    fn take(&mut self, pool: &PoolId, units: i64, findings: &mut Findings) {
        let known = self.pools.entry(pool.clone()).or_default();
        let before = (known.taken - known.capacity).max(0);
        known.taken += units;
        let over = (known.taken - known.capacity).max(0);
        if over > before {
            findings.oversold += (over - before).unsigned_abs();
            let Pool { capacity, taken, .. } = known;
            findings.violation(format!("pool {pool}: {taken} units are taken of {capacity}"));
        }
        if known.taken < 0 {
            findings.violation(format!("pool {pool}: more is given back than was taken"));
        }
    }

    fn turn(&mut self, booking: &BookingId, from: Has, to: Has, findings: &mut Findings) {
        let Some((terms, has)) = self.bookings.get_mut(booking).filter(|(_, has)| *has == from)
        else {
            findings.violation(format!("booking {booking} ends or is sold and was not live"));
            return;
        };
        *has = to;
        let terms = terms.clone();
        if to == Has::Nothing {
            self.payers.turn(booking, terms.lines.units(), false);
            self.users.add(&terms.user, -i64::from(terms.lines.units()));
            self.give_back(&terms.lines, findings);
            self.aside.give_back(&terms);
        }
        for seat in terms.lines.seats() {
            match self.seats.get(seat) {
                Some(Seat::Owned(owner)) if owner == booking => {
                    if to == Has::Nothing {
                        self.seats.insert(seat.clone(), Seat::Free);
                    }
                }
                Some(Seat::Owned(_) | Seat::Free | Seat::Blocked) | None => {
                    findings.violation(format!("seat {seat} is not with its booking {booking}"));
                }
            }
        }
    }

    /// Units that a hold gave back by running out are taken and sold again.
    fn buy_late(&mut self, booking: &BookingId, findings: &mut Findings) {
        let Some((terms, has)) =
            self.bookings.get_mut(booking).filter(|(_, has)| *has == Has::Nothing)
        else {
            findings.violation(format!("booking {booking} is paid for late and had not run out"));
            return;
        };
        *has = Has::Sold;
        let terms = terms.clone();
        self.payers.turn(booking, terms.lines.units(), true);
        self.users.add(&terms.user, i64::from(terms.lines.units()));
        self.aside.take_again(&terms);
        self.occupy(&terms.lines, &Seat::Owned(booking.clone()), findings);
    }

    fn claim(
        &mut self,
        claim: &ClaimId,
        pool: &PoolId,
        amount: i64,
        user: Option<&UserId>,
        findings: &mut Findings,
    ) {
        self.take(pool, amount, findings);
        let known = self.pools.entry(pool.clone()).or_default();
        known.claimed += amount;
        if known.claimed < 0 {
            findings.violation(format!("pool {pool}: fewer than no units are claimed"));
        }
        if self.claims.insert(claim.clone(), (pool.clone(), amount, user.cloned())).is_some() {
            findings.violation(format!("claim {claim} is made twice"));
        }
    }
}

impl Queue {
    fn join(&mut self, place: PlaceId, user: &UserId, number: u32, findings: &mut Findings) {
        if number != self.last_number + 1 {
            let last = self.last_number;
            findings.violation(format!("place {place} has number {number} after {last}"));
        }
        self.last_number = number;
        self.places.insert(place, (number, user.clone()));
        self.of_user.entry(user.clone()).or_default().insert(number, place);
        if !self.inside.contains(user) {
            self.may_go.insert(number, place);
        }
    }

    /// Takes a place out of the line; its number is returned if it was there.
    fn remove(&mut self, place: PlaceId) -> Option<u32> {
        let (number, user) = self.places.remove(&place)?;
        self.may_go.remove(&number);
        if let Some(places) = self.of_user.get_mut(&user) {
            places.remove(&number);
            if places.is_empty() {
                self.of_user.remove(&user);
            }
        }
        Some(number)
    }

    fn leave(&mut self, place: PlaceId, findings: &mut Findings) {
        if self.remove(place).is_none() {
            findings.violation(format!("place {place} is left and was not taken"));
        }
    }

    fn admit(&mut self, place: PlaceId, user: &UserId, findings: &mut Findings) {
        let next = self.may_go.first_key_value().map(|(number, _)| *number);
        match self.remove(place) {
            None => findings.violation(format!("place {place} is admitted and does not wait")),
            Some(number) if !self.drawn && next != Some(number) => {
                findings.fifo_violations += 1;
                findings.violation(match next {
                    Some(next) => format!("place {number} is admitted before place {next}"),
                    None => format!("place {number} is admitted though its user is inside"),
                });
            }
            Some(_) => {}
        }
        if !self.inside.insert(user.clone()) {
            findings.violation(format!("user {user} is admitted and is inside already"));
        }
        for number in self.of_user.get(user).into_iter().flat_map(BTreeMap::keys) {
            self.may_go.remove(number);
        }
    }

    /// A user is no longer inside: their other places are in the running again.
    fn let_go(&mut self, user: &UserId) {
        self.inside.remove(user);
        if let Some(places) = self.of_user.get(user) {
            self.may_go.extend(places.iter().map(|(number, place)| (*number, *place)));
        }
    }
}
