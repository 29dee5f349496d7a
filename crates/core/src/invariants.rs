//! What must always hold, checked by adding everything up again.

use crate::channels::units_of;
use crate::event::Event;
use crate::hold::HoldState;
use crate::ids::{ChannelId, PayerId, PoolId, UserId};
use crate::payers::PayerBy;
use crate::seats::SeatState;
use crate::stock::Totals;
use crate::view::ClaimState;
use std::collections::BTreeMap;

/// Units of a pool, as bookings and claims tell.
#[derive(Default)]
struct PoolTotals {
    held: u64,
    confirmed: u64,
    claimed: u64,
    claimed_by_services: i64,
}

impl Event {
    /// Checks every invariant by adding everything up again; takes time in proportion to the state.
    ///
    /// # Errors
    /// What is broken, one sentence each.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut broken = Vec::new();
        self.room.check(&self.users, self.opened, &mut broken);
        self.bookings.check(&self.users, &mut broken);
        self.claims.check(&mut broken);
        self.check_pools(&mut broken);
        self.check_seats(&mut broken);
        self.check_users(&mut broken);
        self.check_payers_of_bookings(&mut broken);
        self.check_channels(&mut broken);
        self.check_types(&mut broken);
        self.prices.check(&mut broken);
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }

    /// Stock is conserved: what the pools count is what bookings and claims say.
    fn check_pools(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&PoolId, PoolTotals> = BTreeMap::new();
        for (_, hold) in self.bookings.iter() {
            for line in hold.terms.lines.pools() {
                let told = told.entry(&line.pool).or_default();
                match hold.state {
                    HoldState::Held { .. } | HoldState::Paying { .. } => {
                        told.held += u64::from(line.quantity);
                    }
                    HoldState::Confirmed { .. } => told.confirmed += u64::from(line.quantity),
                    HoldState::Released { .. }
                    | HoldState::Expired { .. }
                    | HoldState::Cancelled { .. } => {}
                }
            }
        }
        for claim in self.claims.iter() {
            match claim.state {
                ClaimState::Claimed { .. } => {
                    told.entry(&claim.pool).or_default().claimed += claim.amount.unsigned_abs();
                }
                ClaimState::Adjusted { .. } => {
                    told.entry(&claim.pool).or_default().claimed_by_services += claim.amount;
                }
                ClaimState::Returned { .. } | ClaimState::Expired { .. } => {}
            }
        }
        for pool in self.stock.iter() {
            let id = &pool.spec.pool;
            let told = told.remove(id).unwrap_or_default();
            let mut expect = |ok: bool, what: &str| {
                if !ok {
                    broken.push(format!("pool {id}: {what}"));
                }
            };
            let committed = u64::from(pool.held) + u64::from(pool.sold) + u64::from(pool.blocked);
            expect(
                committed <= u64::from(pool.spec.capacity),
                "more is held, sold and blocked than there is",
            );
            expect(u64::from(pool.held) == told.held, "held units are those of live holds");
            let claimed = told.claimed + u64::from(pool.claimed_by_services);
            expect(u64::from(pool.claimed) == claimed, "claimed units are those of claims");
            expect(
                u64::from(pool.sold) == told.confirmed + claimed,
                "sold units are confirmed or claimed",
            );
            let blocked = pool.blocked_why.values().chain(pool.allotted.values());
            let blocked: u64 = blocked.map(|count| u64::from(*count)).sum();
            expect(
                u64::from(pool.blocked) == blocked,
                "every blocked unit has a reason, or a channel",
            );
        }
        broken.extend(told.keys().map(|pool| format!("pool {pool}: sold, but it does not exist")));
        let (kept, found) = (self.stock.totals(), Totals::of(self.stock.iter()));
        if kept != found {
            broken.push(format!("pools: together they have {found:?}, not {kept:?}"));
        }
    }

    /// A seat has one owner: each seat of a live or confirmed booking says so, and no other seat does.
    fn check_seats(&self, broken: &mut Vec<String>) {
        let mut owned = 0_usize;
        for (idx, hold) in self.bookings.iter() {
            let expected = match hold.state {
                HoldState::Held { .. } | HoldState::Paying { .. } => SeatState::Held(idx),
                HoldState::Confirmed { .. } => SeatState::Sold(idx),
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {
                    continue;
                }
            };
            for seat in hold.terms.lines.seats() {
                owned += 1;
                if self.seats.get(seat).is_none_or(|seat| seat.state != expected) {
                    broken.push(format!("seat {seat}: not with booking {}", hold.terms.booking));
                }
            }
        }
        let taken = |state: &SeatState| matches!(state, SeatState::Held(_) | SeatState::Sold(_));
        let claimed = self.seats.iter().filter(|seat| taken(&seat.state)).count();
        if claimed != owned {
            broken.push(format!("seats: {claimed} are taken, bookings have {owned}"));
        }
        let free = self.seats.iter().filter(|seat| seat.state == SeatState::Free).count();
        if self.seats.free() as usize != free {
            broken.push(format!("seats: {free} are on sale, not {}", self.seats.free()));
        }
        if !self.seats.segments_agree() {
            broken.push("seats: the runs of free ones are not those of their states".into());
        }
        for category in self.seats.categories() {
            let mut units = crate::view::Units::default();
            let of_category =
                |seat: &&crate::seats::Seat| seat.spec.category.as_ref() == category.name.as_ref();
            for seat in self.seats.iter().filter(of_category) {
                match seat.state {
                    SeatState::Free => units.free += 1,
                    SeatState::Held(_) => units.held += 1,
                    SeatState::Sold(_) => units.sold += 1,
                    SeatState::Blocked(_) | SeatState::Allotted(_) => units.blocked += 1,
                }
            }
            if units != category.units {
                broken.push(format!(
                    "category {}: its counts are not those of its seats",
                    category.name
                ));
            }
        }
    }

    /// What is taken through a channel is what bookings have of it, and no stock is left in one that was
    /// released.
    fn check_channels(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&ChannelId, u64> = BTreeMap::new();
        for (_, hold) in self.bookings.iter().filter(|(_, hold)| hold.state.has_units()) {
            for (source, units) in hold.terms.sources.iter().zip(units_of(&hold.terms.lines)) {
                if let Some(home) = self.channels.home(source.as_ref()) {
                    *told.entry(home).or_default() += u64::from(units);
                }
            }
        }
        for (number, channel) in (0..).zip(self.channels.iter()) {
            let id = &channel.spec.channel;
            if u64::from(channel.taken) != told.remove(id).unwrap_or(0) {
                broken.push(format!("channel {id}: its count is not that of its bookings"));
            }
            let has_units = self.stock.iter().any(|pool| pool.allotted.contains_key(id))
                || self.seats.iter().any(|seat| seat.state == SeatState::Allotted(number));
            if channel.released.is_some() && has_units {
                broken.push(format!("channel {id}: it was released, and has units"));
            }
            let pools = self.stock.iter().map(|pool| u64::from(pool.free_in(Some(id))));
            let is_its = |seat: &&crate::seats::Seat| seat.state == SeatState::Allotted(number);
            let free = (pools.sum::<u64>(), self.seats.iter().filter(is_its).count());
            if (self.stock.free_in(id), self.seats.free_in(number) as usize) != free {
                broken.push(format!("channel {id}: its free units are not those of its stock"));
            }
            for category in self.seats.categories() {
                let of_category = |seat: &&crate::seats::Seat| {
                    seat.spec.category.as_ref() == category.name.as_ref()
                        && seat.state == SeatState::Allotted(number)
                };
                let seats = self.seats.iter().filter(of_category).count();
                if category.allotted.get(&number).copied().unwrap_or(0) as usize != seats {
                    broken.push(format!("category {}: {seats} seats are in {id}", category.name));
                }
            }
        }
    }

    /// Types are of pools and categories that exist, and those of a booking are of all units of a line or
    /// of none.
    fn check_types(&self, broken: &mut Vec<String>) {
        for list in self.types.lists() {
            if list.types.is_empty() || self.last_price_minor(&list.of).is_none() {
                broken.push(format!("{}: has types, and there are none or no such thing", list.of));
            }
        }
        for (_, hold) in self.bookings.iter() {
            let Some(types) = hold.terms.types.as_deref() else { continue };
            let units: Vec<u32> = units_of(&hold.terms.lines).collect();
            for (line, typed) in types.units_by_line() {
                if units.get(line as usize) != Some(&typed) {
                    let booking = &hold.terms.booking;
                    broken.push(format!("booking {booking}: line {line} has {typed} typed units"));
                }
            }
        }
    }

    /// What a user's limit counts is what they hold, have confirmed and claimed.
    fn check_users(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<&UserId, u64> = BTreeMap::new();
        for (_, hold) in self.bookings.iter() {
            match hold.state {
                HoldState::Held { .. } | HoldState::Paying { .. } | HoldState::Confirmed { .. } => {
                    *told.entry(&hold.terms.user).or_default() +=
                        u64::from(hold.terms.lines.units());
                }
                HoldState::Released { .. }
                | HoldState::Expired { .. }
                | HoldState::Cancelled { .. } => {}
            }
        }
        for claim in self.claims.iter() {
            match (&claim.user, claim.state) {
                (Some(user), ClaimState::Claimed { .. }) => {
                    *told.entry(user).or_default() += claim.amount.unsigned_abs();
                }
                (
                    Some(_),
                    ClaimState::Returned { .. }
                    | ClaimState::Expired { .. }
                    | ClaimState::Adjusted { .. },
                )
                | (None, _) => {}
            }
        }
        for (_, user) in self.users.iter() {
            if u64::from(user.units) != told.remove(&user.id).unwrap_or(0) {
                broken.push(format!(
                    "user {}: their units are not those of their bookings and claims",
                    user.id
                ));
            }
        }
        broken.extend(told.keys().map(|user| format!("user {user}: has units, but is not known")));
    }

    /// What a payer's limit counts is what bookings have that they are named for, and nobody is named for
    /// a booking that has ended.
    fn check_payers_of_bookings(&self, broken: &mut Vec<String>) {
        let mut told: BTreeMap<(PayerBy, PayerId), u64> = BTreeMap::new();
        let mut named = 0;
        for (idx, hold) in self.bookings.iter() {
            let payers = self.payers.of(idx);
            named += usize::from(!payers.are_none());
            if !payers.are_none() && hold.state.has_ended() {
                broken.push(format!("booking {}: it has ended, and a payer", hold.terms.booking));
            }
            if hold.state.has_units() {
                for payer in payers.iter() {
                    *told.entry(payer).or_default() += u64::from(hold.terms.lines.units());
                }
            }
        }
        if self.payers.bookings() != named {
            broken.push("payers: some are named for bookings that are not there".into());
        }
        if self.payers.len() != told.len() {
            broken.push(format!("payers: {} have units, not {}", told.len(), self.payers.len()));
        }
        for ((by, payer), units) in told {
            if u64::from(self.payers.units_of(by, payer)) != units {
                broken.push(format!("payer {payer}: their units are not those of their bookings"));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::channels::ChannelSpec;
    use crate::command::Command;
    use crate::ids::{PlaceId, SeatId};
    use crate::lines::{Lines, PoolLine};
    use crate::prices::Priced;
    use crate::settings::{RoomSettings, Settings};
    use crate::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
    use crate::stock::Pool;
    use crate::time::Time;
    use crate::types::{TicketType, TypePrice};

    fn lines(units: u32, seats: &[&str]) -> Lines {
        let pool = PoolLine { pool: "ga".parse().unwrap(), quantity: units };
        let pools = (units > 0).then_some(pool).into_iter().collect();
        Lines::new(pools, seats.iter().map(|seat| seat.parse().unwrap()).collect()).unwrap()
    }

    fn hold(booking: &str, lines: Lines, channels: &[&str]) -> Command {
        Command::Hold {
            booking: booking.parse().unwrap(),
            user: "ann".parse().unwrap(),
            lines,
            channels: channels.iter().map(|channel| channel.parse().unwrap()).collect(),
            types: Default::default(),
        }
    }

    fn reason() -> Reason {
        Reason { by: "box office".into(), why: "test".into() }
    }

    fn adult() -> TicketType {
        let (id, name, price) = ("adult".parse().unwrap(), "Adult".into(), TypePrice::LessMinor(0));
        TicketType { id, name, price, min: 0, max: None, proof: false }
    }

    /// An open sale with a bit of everything: bookings of a pool, of its types, of seats, and of a
    /// channel; a payer; a claim and a service's adjustment; units and a seat that are blocked.
    pub(crate) fn sale() -> Event {
        let settings =
            Settings { max_per_email: Some(9), ..Settings::new("A show", "EUR".parse().unwrap()) };
        let seats = (1..=4).map(|number| SeatSpec {
            seat: format!("A-{number}").parse().unwrap(),
            section: "stalls".into(),
            row: "A".into(),
            number: number.to_string().into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        });
        let channel = ChannelSpec {
            channel: "fans".parse().unwrap(),
            quota: None,
            codes: Vec::new(),
            queued: false,
            release: None,
        };
        let (claim, pool) = (|id: &str| id.parse().unwrap(), || "ga".parse().unwrap());
        let user = || "ann".parse().unwrap();
        let types = vec![adult()];
        let to = Some("fans".parse().unwrap());
        let payer = PayerId::from_u128(7);
        let all = [
            Command::CreateEvent { settings: Box::new(settings) },
            Command::AddPool { spec: PoolSpec { pool: pool(), capacity: 20, price_minor: 0 } },
            Command::AddSeats {
                categories: vec![CategorySpec { name: "stalls".into(), price_minor: 0 }],
                seats: seats.collect(),
            },
            Command::SetChannel { spec: channel, reason: reason() },
            Command::Allot { lines: lines(3, &["A-4"]), from: None, to, reason: reason() },
            Command::SetTypes { of: Priced::Pool(pool()), types, reason: reason() },
            Command::OpenSale { seed: None, public_value: None },
            hold("b1", lines(2, &["A-1"]), &[]),
            Command::NamePayer {
                booking: "b1".parse().unwrap(),
                user: user(),
                by: PayerBy::Email,
                payer,
            },
            hold("b2", lines(0, &["A-2"]), &[]),
            hold("b3", lines(1, &[]), &["fans"]),
            Command::Confirm { booking: "b2".parse().unwrap(), user: user(), payment: None },
            Command::Claim {
                claim: claim("c1"),
                user: user(),
                pool: pool(),
                quantity: 2,
                ttl_ms: None,
            },
            Command::AdjustClaimed {
                claim: claim("c2"),
                pool: pool(),
                amount: 3,
                reason: reason(),
            },
            Command::Block { lines: lines(1, &["A-3"]), reason: reason() },
        ];
        after(all)
    }

    /// An open sale with a waiting room for one: somebody is in, and two wait.
    pub(crate) fn line() -> Event {
        let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
        let settings =
            Settings { room: Some(room), ..Settings::new("A show", "EUR".parse().unwrap()) };
        let pool = "ga".parse().unwrap();
        let join = |n, user: &str| Command::Join {
            place: PlaceId::from_u128(n),
            user: user.parse().unwrap(),
        };
        after([
            Command::CreateEvent { settings: Box::new(settings) },
            Command::AddPool { spec: PoolSpec { pool, capacity: 20, price_minor: 0 } },
            Command::OpenSale { seed: None, public_value: None },
            join(1, "ann"),
            Command::Tick,
            join(2, "bob"),
            join(3, "cid"),
        ])
    }

    fn after(commands: impl IntoIterator<Item = Command>) -> Event {
        let mut event = Event::new("show".parse().unwrap());
        for command in commands {
            let decision = event.decide(Time(0), &command).expect("a command that is accepted");
            decision.changes.iter().for_each(|change| event.evolve(Time(0), change));
        }
        event
    }

    /// Checks that this is complained of once the event is spoilt.
    #[track_caller]
    pub(crate) fn complains(mut event: Event, complaint: &str, spoil: impl FnOnce(&mut Event)) {
        assert_eq!(event.check(), Ok(()));
        spoil(&mut event);
        let broken = event.check().expect_err(complaint);
        assert!(broken.iter().any(|it| it.contains(complaint)), "{complaint}: {broken:#?}");
    }

    fn pool(event: &mut Event, change: fn(&mut Pool)) {
        event.stock.change(&"ga".parse().unwrap(), change);
    }

    fn seat(event: &mut Event, seat: &str, state: SeatState) {
        event.seats.set(&seat.parse::<SeatId>().unwrap(), state);
    }

    fn release(event: &mut Event) {
        let released = crate::channels::Released { at: Time(0), into: None };
        event.channels.release(&"fans".parse().unwrap(), released);
    }

    #[test]
    fn whatever_is_counted_wrongly_is_noticed() {
        type Case = (&'static str, fn(&mut Event));
        let cases: [Case; 19] = [
            ("pool ga: held units are those of live holds", |it| pool(it, |ga| ga.held += 1)),
            ("pool ga: held units are those of live holds", |it| pool(it, |ga| ga.held -= 1)),
            ("pool ga: sold units are confirmed or claimed", |it| pool(it, |ga| ga.sold += 1)),
            ("pool ga: claimed units are those of claims", |it| pool(it, |ga| ga.claimed += 1)),
            ("pool ga: claimed units are those of claims", |it| {
                pool(it, |ga| ga.claimed_by_services -= 1);
            }),
            ("pool ga: every blocked unit has a reason, or a channel", |it| {
                pool(it, |ga| ga.blocked += 1)
            }),
            ("pool ga: every blocked unit has a reason, or a channel", |it| {
                pool(it, |ga| {
                    ga.allotted.remove(&"fans".parse::<ChannelId>().unwrap()).expect("some are");
                });
            }),
            ("channel fans: its free units are not those of its stock", |it| {
                pool(it, |ga| {
                    ga.allotted.insert("fans".parse().unwrap(), 1).expect("others are");
                });
            }),
            ("seat A-1: not with booking b1", |it| seat(it, "A-1", SeatState::Free)),
            ("seats: 1 are taken, bookings have 2", |it| seat(it, "A-1", SeatState::Free)),
            ("seats: 3 are taken, bookings have 2", |it| {
                let idx = it.bookings.find(&"b2".parse().unwrap());
                seat(it, "A-3", SeatState::Sold(idx));
            }),
            ("user ann: their units are not those of their bookings and claims", |it| {
                let ann = it.users.find(&"ann".parse().unwrap()).unwrap();
                it.users[ann].units += 1;
            }),
            ("channel fans: its count is not that of its bookings", |it| {
                it.channels.take(&lines(1, &[]), &[Some("fans".parse().unwrap())]);
            }),
            (": has types, and there are none or no such thing", |it| {
                it.types.set(&Priced::Pool("nowhere".parse().unwrap()), &[adult()]);
            }),
            ("their units are not those of their bookings", |it| {
                let idx = it.bookings.find(&"b1".parse().unwrap());
                it.payers.count(idx, 5, [false, true]);
            }),
            ("payers: 1 have units, not 0", |it| {
                let idx = it.bookings.find(&"b1".parse().unwrap());
                it.payers.count(idx, 3, [true, false]);
            }),
            ("payers: some are named for bookings that are not there", |it| {
                let idx = it.bookings.find(&"b2".parse().unwrap());
                it.payers.name(idx, 1, PayerBy::Email, PayerId::from_u128(7));
                let idx = it.bookings.find(&"b2".parse().unwrap());
                it.bookings.remove(idx, &mut it.users);
            }),
            ("channel fans: it was released, and has units", |it| {
                seat(it, "A-4", SeatState::Free);
                release(it);
            }),
            ("channel fans: it was released, and has units", |it| {
                pool(it, |ga| ga.allotted.clear());
                release(it);
            }),
        ];
        cases.into_iter().for_each(|(complaint, spoil)| complains(sale(), complaint, spoil));
    }
}
