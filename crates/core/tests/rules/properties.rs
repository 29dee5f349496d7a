//! Properties: whatever is asked, in whatever order, and compared with models that are too simple
//! to be wrong.

use crate::stage::{Stage, booking_id, place_id, reason, settings};
use onrush_core::change::{BookingChange, Change, HoldChange, QueueChange, VisitorChange};
use onrush_core::command::CancelTerms;
use onrush_core::hold::OnDecline;
use onrush_core::ids::{PlaceId, ScanId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::{AvailabilityNow, PlaceOf};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::view::PlaceState;
use onrush_core::{Command, Event};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const USERS: u8 = 8;
const LIMIT: u32 = 6;

/// What a visitor, an operator or the clock may do. Numbers name users, bookings, places and the like.
#[derive(Clone, Debug)]
enum Step {
    Join {
        user: u8,
        place: u8,
    },
    Leave {
        user: u8,
        place: u8,
    },
    See {
        user: u8,
        place: u8,
    },
    Arrive {
        user: u8,
        place: u8,
    },
    Hold {
        booking: u8,
        user: u8,
        quantity: u32,
        seats: Vec<u8>,
    },
    Extend {
        booking: u8,
        user: u8,
    },
    Release {
        booking: u8,
        user: u8,
    },
    Begin {
        booking: u8,
        user: u8,
        payment: u8,
    },
    Fail {
        booking: u8,
        payment: u8,
    },
    Confirm {
        booking: u8,
        user: u8,
        payment: Option<u8>,
    },
    /// The payment that ran when the hold ran out ends after all, with or without money.
    EndLate {
        late: u8,
        paid: bool,
    },
    Cancel {
        booking: u8,
    },
    CheckIn {
        booking: u8,
        ticket: u32,
        scan: Option<u8>,
    },
    Claim {
        claim: u8,
        user: u8,
        quantity: u32,
        ttl_ms: Option<i64>,
    },
    Declaim {
        claim: u8,
        user: u8,
    },
    Adjust {
        claim: u8,
        amount: i64,
    },
    Capacity {
        capacity: u32,
    },
    Block {
        quantity: u32,
        seat: Option<u8>,
    },
    Unblock {
        quantity: u32,
        seat: Option<u8>,
    },
    Room {
        capacity: u32,
        outflow_per_min: Option<u32>,
    },
    Pause,
    Resume,
    Tick,
    Pass {
        ms: i64,
    },
    Away {
        ms: i64,
    },
}

fn user(n: u8) -> onrush_core::ids::UserId {
    format!("u{}", n % USERS).parse().expect("an id")
}

fn pool() -> onrush_core::ids::PoolId {
    "ga".parse().expect("an id")
}

fn seat(n: u8) -> onrush_core::ids::SeatId {
    format!("A-{}", n % 4 + 1).parse().expect("an id")
}

fn some_lines(quantity: u32, seats: impl IntoIterator<Item = u8>) -> Option<Lines> {
    let seats: BTreeSet<_> = seats.into_iter().map(seat).collect();
    let pools = (quantity > 0).then(|| PoolLine { pool: pool(), quantity });
    Lines::new(pools.into_iter().collect(), seats.into_iter().collect()).ok()
}

fn room(capacity: u32, outflow_per_min: Option<u32>) -> Settings {
    let room = RoomSettings {
        capacity,
        outflow_per_min,
        places_per_user: 3,
        max_queue_size: 12,
        ..RoomSettings::default()
    };
    Settings { room: Some(room), max_per_user: Some(LIMIT), ..settings() }
}

impl Step {
    /// Aims most steps at what exists: those at random bookings and places alone would seldom do anything.
    fn aimed(mut self, naive: &Naive) -> Self {
        let digits = |id: &str| id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u8>();
        match &mut self {
            Self::Leave { user, place }
            | Self::See { user, place }
            | Self::Arrive { user, place } => {
                let known: Vec<_> = naive.line.iter().chain(&naive.inside).collect();
                if *place % 4 != 0 && !known.is_empty() {
                    let (known_place, owner) = known[usize::from(*place) % known.len()];
                    *place =
                        u8::from_str_radix(known_place.trim_start_matches('0'), 16).unwrap_or(0);
                    *user = digits(owner).expect("users are numbered");
                }
            }
            Self::Hold { user, booking, .. } if *booking % 4 != 0 && !naive.inside.is_empty() => {
                let (_, owner) = &naive.inside[usize::from(*booking) % naive.inside.len()];
                *user = digits(owner).expect("users are numbered");
            }
            Self::Extend { booking, user }
            | Self::Release { booking, user }
            | Self::Begin { booking, user, .. }
            | Self::Confirm { booking, user, .. }
                if *booking % 4 != 0 && !naive.held.is_empty() =>
            {
                let nth = usize::from(*booking) % naive.held.len();
                let (known, (owner, _)) = naive.held.iter().nth(nth).expect("it is within");
                *booking = digits(known).expect("bookings are numbered");
                *user = digits(owner).expect("users are numbered");
            }
            Self::Cancel { booking }
            | Self::Fail { booking, .. }
            | Self::CheckIn { booking, .. }
                if *booking % 4 != 0 && !naive.held.is_empty() =>
            {
                let nth = usize::from(*booking) % naive.held.len();
                let known = naive.held.keys().nth(nth).expect("it is within");
                *booking = digits(known).expect("bookings are numbered");
            }
            Self::EndLate { late, paid } if !naive.late.is_empty() => {
                let nth = usize::from(*late) % naive.late.len();
                let (known, payment) = naive.late.iter().nth(nth).expect("it is within");
                let (owner, _) = &naive.ended[known];
                let booking = digits(known).expect("bookings are numbered");
                let payment = digits(payment).expect("payments are numbered");
                self = if *paid {
                    let user = digits(owner).expect("users are numbered");
                    Self::Confirm { booking, user, payment: Some(payment) }
                } else {
                    Self::Fail { booking, payment }
                };
            }
            _ => {}
        }
        self
    }

    fn command(self) -> Option<Command> {
        let claim_id = |n: u8| format!("c{n}").parse().expect("an id");
        let payment_id = |n: u8| format!("p{n}").parse().expect("an id");
        let booking = |n: u8| booking_id(&format!("b{n}"));
        let place = |n: u8| place_id(u128::from(n));
        Some(match self {
            Self::Join { user: u, place: p } => Command::Join { place: place(p), user: user(u) },
            Self::Leave { user: u, place: p } => Command::Leave { place: place(p), user: user(u) },
            Self::See { user: u, place: p } => Command::See { place: place(p), user: user(u) },
            Self::Arrive { user: u, place: p } => {
                Command::Arrive { place: place(p), user: user(u) }
            }
            Self::Hold { booking: b, user: u, quantity, seats } => {
                let lines = some_lines(quantity, seats)?;
                Command::Hold {
                    booking: booking(b),
                    user: user(u),
                    lines,
                    channels: Vec::new(),
                    types: Default::default(),
                }
            }
            Self::Extend { booking: b, user: u } => {
                Command::Extend { booking: booking(b), user: user(u), extension: None }
            }
            Self::Release { booking: b, user: u } => {
                Command::Release { booking: booking(b), user: user(u) }
            }
            Self::Begin { booking: b, user: u, payment } => Command::BeginPayment {
                booking: booking(b),
                user: user(u),
                payment: payment_id(payment),
            },
            Self::Fail { booking: b, payment } => Command::FailPayment {
                booking: booking(b),
                payment: payment_id(payment),
                why: "cancelled".into(),
                // Half of the payments are of the kind whose decline gives the hold back.
                then: if payment % 2 == 0 { OnDecline::Keep } else { OnDecline::Release },
            },
            Self::Confirm { booking: b, user: u, payment } => Command::Confirm {
                booking: booking(b),
                user: user(u),
                payment: payment.map(payment_id),
            },
            // There is no late payment to aim at.
            Self::EndLate { .. } => return None,
            Self::CheckIn { booking: b, ticket, scan } => {
                let scan = scan.map(|scan| ScanId::from_u128(scan.into()));
                Command::CheckIn { booking: booking(b), ticket, scan }
            }
            Self::Cancel { booking: b } => Command::CancelConfirmed {
                booking: booking(b),
                reason: reason(),
                terms: CancelTerms::Organiser { refund_minor: None },
            },
            Self::Claim { claim, user: u, quantity, ttl_ms } => Command::Claim {
                claim: claim_id(claim),
                user: user(u),
                pool: "vouchers".parse().expect("an id"),
                quantity,
                ttl_ms,
            },
            Self::Declaim { claim, user: u } => {
                Command::Declaim { claim: claim_id(claim), user: user(u) }
            }
            Self::Adjust { claim, amount } => Command::AdjustClaimed {
                claim: claim_id(claim),
                pool: "vouchers".parse().expect("an id"),
                amount,
                reason: reason(),
            },
            Self::Capacity { capacity } => {
                Command::AdjustCapacity { pool: pool(), capacity, reason: reason() }
            }
            Self::Block { quantity, seat } => {
                Command::Block { lines: some_lines(quantity, seat)?, reason: reason() }
            }
            Self::Unblock { quantity, seat } => {
                Command::Unblock { lines: some_lines(quantity, seat)?, reason: reason() }
            }
            Self::Room { capacity, outflow_per_min } => {
                Command::ChangeSettings { settings: Box::new(room(capacity, outflow_per_min)) }
            }
            Self::Pause => Command::Pause,
            Self::Resume => Command::Resume,
            Self::Tick => Command::Tick,
            Self::Pass { .. } => return None,
            Self::Away { ms } => Command::Recover { gap_ms: ms },
        })
    }
}

fn step() -> impl Strategy<Value = Step> {
    let (u, b, p) = (0..USERS, 0..24_u8, 0..24_u8);
    let payment = 0..2_u8;
    prop_oneof![
        5 => (u.clone(), p.clone()).prop_map(|(user, place)| Step::Join { user, place }),
        1 => (u.clone(), p.clone()).prop_map(|(user, place)| Step::Leave { user, place }),
        1 => (u.clone(), p.clone()).prop_map(|(user, place)| Step::See { user, place }),
        2 => (u.clone(), p).prop_map(|(user, place)| Step::Arrive { user, place }),
        8 => (b.clone(), u.clone(), 0..4_u32, prop::collection::vec(0..4_u8, 0..3))
            .prop_map(|(booking, user, quantity, seats)| Step::Hold { booking, user, quantity, seats }),
        1 => (b.clone(), u.clone()).prop_map(|(booking, user)| Step::Extend { booking, user }),
        2 => (b.clone(), u.clone()).prop_map(|(booking, user)| Step::Release { booking, user }),
        3 => (b.clone(), u.clone(), payment.clone())
            .prop_map(|(booking, user, payment)| Step::Begin { booking, user, payment }),
        2 => (b.clone(), payment.clone()).prop_map(|(booking, payment)| Step::Fail { booking, payment }),
        4 => (b.clone(), u.clone(), prop::option::of(payment))
            .prop_map(|(booking, user, payment)| Step::Confirm { booking, user, payment }),
        6 => (any::<u8>(), any::<bool>()).prop_map(|(late, paid)| Step::EndLate { late, paid }),
        1 => b.clone().prop_map(|booking| Step::Cancel { booking }),
        2 => (b, 0..5_u32, prop::option::of(0..2_u8))
            .prop_map(|(booking, ticket, scan)| Step::CheckIn { booking, ticket, scan }),
        2 => (0..8_u8, u.clone(), 0..3_u32, prop::option::of(1..900_000_i64))
            .prop_map(|(claim, user, quantity, ttl_ms)| Step::Claim { claim, user, quantity, ttl_ms }),
        1 => (0..8_u8, u).prop_map(|(claim, user)| Step::Declaim { claim, user }),
        1 => (0..8_u8, -4..4_i64).prop_map(|(claim, amount)| Step::Adjust { claim, amount }),
        1 => (0..16_u32).prop_map(|capacity| Step::Capacity { capacity }),
        1 => (0..4_u32, prop::option::of(0..4_u8))
            .prop_map(|(quantity, seat)| Step::Block { quantity, seat }),
        1 => (0..4_u32, prop::option::of(0..4_u8))
            .prop_map(|(quantity, seat)| Step::Unblock { quantity, seat }),
        1 => (1..6_u32, prop::option::of(1..600_u32))
            .prop_map(|(capacity, outflow_per_min)| Step::Room { capacity, outflow_per_min }),
        1 => Just(Step::Pause),
        4 => Just(Step::Resume),
        6 => Just(Step::Tick),
        4 => (0..200_000_i64).prop_map(|ms| Step::Pass { ms }),
        1 => (1..5_000_000_i64).prop_map(|ms| Step::Away { ms }),
    ]
}

/// The line, the room and the ownership of everything, as a list and two maps.
#[derive(Default)]
struct Naive {
    line: Vec<(String, String)>,
    inside: Vec<(String, String)>,
    held: BTreeMap<String, (String, Lines)>,
    /// What was held once: late money may buy it after all.
    ended: BTreeMap<String, (String, Lines)>,
    /// The payment that runs for a booking.
    paying: BTreeMap<String, String>,
    /// The payment that ran when a hold ran out, and did not end since.
    late: BTreeMap<String, String>,
    confirmed: BTreeSet<String>,
    let_in: BTreeSet<(String, u32)>,
    owners: BTreeMap<String, String>,
}

impl Naive {
    fn follow(&mut self, change: &Change) {
        let leave = |line: &mut Vec<(String, String)>, place: &PlaceId, user: &UserId| {
            let left = (place.to_string(), user.to_string());
            let position = line.iter().position(|other| *other == left);
            line.remove(position.expect("a place that waits"));
        };
        match change {
            Change::Queue(QueueChange::PlaceTaken { place, user, .. }) => {
                self.line.push((place.to_string(), user.to_string()))
            }
            Change::Queue(QueueChange::PlaceLeft { place, user, .. }) => {
                leave(&mut self.line, place, user)
            }
            Change::Queue(QueueChange::Admitted { place, user, .. }) => {
                let is_inside = |user: &String| self.inside.iter().any(|(_, other)| other == user);
                let next = self.line.iter().find(|(_, user)| !is_inside(user));
                assert_eq!(
                    next.map(|(place, _)| place.clone()),
                    Some(place.to_string()),
                    "first come, first served"
                );
                leave(&mut self.line, place, user);
                assert!(!is_inside(&user.to_string()), "one session a user");
                self.inside.push((place.to_string(), user.to_string()));
            }
            Change::Visitor(VisitorChange::SlotFreed { place, user }) => {
                let left = (place.to_string(), user.to_string());
                let position = self.inside.iter().position(|other| *other == left);
                self.inside.remove(position.expect("a session that exists"));
            }
            Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                let booking = terms.booking.to_string();
                for seat in terms.lines.seats() {
                    let before = self.owners.insert(seat.to_string(), booking.clone());
                    assert_eq!(before, None, "one owner a seat");
                }
                self.held.insert(booking, (terms.user.to_string(), terms.lines.clone()));
            }
            Change::Booking(BookingChange::HoldConfirmedLate { booking, .. }) => {
                let booking = booking.to_string();
                let (user, lines) = self.ended[&booking].clone();
                for seat in lines.seats() {
                    let before = self.owners.insert(seat.to_string(), booking.clone());
                    assert_eq!(before, None, "one owner a seat, also of late money");
                }
                self.late.remove(&booking).expect("late money is of the payment that ran");
                self.confirmed.insert(booking.clone());
                self.held.insert(booking, (user, lines));
            }
            Change::Booking(BookingChange::PaymentBegun { booking, payment, .. }) => {
                let before = self.paying.insert(booking.to_string(), payment.to_string());
                assert_eq!(before, None, "one payment at a time");
            }
            Change::Booking(BookingChange::PaymentFailed { booking, .. }) => {
                self.paying.remove(booking.as_str()).expect("a payment that runs");
            }
            Change::Booking(BookingChange::LatePaymentFailed { booking, .. }) => {
                self.late.remove(booking.as_str()).expect("a payment that ran");
            }
            Change::Booking(BookingChange::HoldConfirmed { booking, .. }) => {
                self.paying.remove(booking.as_str());
                assert!(self.confirmed.insert(booking.to_string()), "a booking is confirmed once");
            }
            Change::Booking(BookingChange::CheckedIn { booking, ticket, scan: _ }) => {
                assert!(self.confirmed.contains(booking.as_str()), "only tickets let in");
                let units = self.held[booking.as_str()].1.units();
                assert!((1..=units).contains(ticket), "one ticket a unit");
                assert!(self.let_in.insert((booking.to_string(), *ticket)), "each lets in once");
            }
            Change::Hold(
                HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
            )
            | Change::Booking(BookingChange::ConfirmedCancelled { booking, .. }) => {
                let unused = self.let_in.iter().all(|(known, _)| known != booking.as_str());
                assert!(unused, "who was let in cannot give their ticket back");
                self.confirmed.remove(booking.as_str());
                if let Some(payment) = self.paying.remove(booking.as_str()) {
                    assert!(
                        matches!(change, Change::Hold(HoldChange::HoldExpired { .. })),
                        "a payment runs"
                    );
                    self.late.insert(booking.to_string(), payment);
                }
                let ended = self.held.remove(booking.as_str()).expect("a hold that counts");
                let lines = ended.1.clone();
                self.ended.insert(booking.to_string(), ended);
                lines.seats().iter().for_each(|seat| {
                    self.owners.remove(seat.as_str());
                });
            }
            _ => {}
        }
    }

    fn check_positions(&self, stage: &Stage) {
        for (position, (place, user)) in (1_u32..).zip(&self.line) {
            let user = user.parse().expect("an id");
            let question = PlaceOf { user, place: Some(place.parse().expect("an id")) };
            // A place whose time is up is gone for its visitor a little before its tick takes it
            // out of the line.
            if let Ok(view) = stage.event.ask(stage.now, question) {
                let PlaceState::Queued { position: shown, .. } = view.state else {
                    panic!("it waits")
                };
                assert_eq!(shown, Some(position), "positions are exact");
            }
        }
    }

    fn check_stock(&self, stage: &Stage) {
        let view = stage.event.ask(stage.now, AvailabilityNow).expect("availability");
        for pool in &view.pools {
            let units = pool.units;
            let all = units.free + units.held + units.sold + units.blocked;
            assert_eq!(all, pool.capacity, "stock is conserved");
        }
        let ours: u32 =
            self.held.values().flat_map(|(_, lines)| lines.pools()).map(|line| line.quantity).sum();
        let ga = &view.pools[0].units;
        assert_eq!(ga.held + ga.sold, ours, "what is held and sold is in bookings");
        let mut per_user: BTreeMap<&str, u32> = BTreeMap::new();
        for (user, lines) in self.held.values() {
            *per_user.entry(user).or_default() += lines.units();
        }
        assert!(per_user.values().all(|units| *units <= LIMIT), "the limit holds");
    }
}

/// An open event with a pool, seats and vouchers.
fn set_up(price_minor: i64, has_room: bool) -> Stage {
    let with_room = room(3, None);
    let room = if has_room { with_room.room.clone() } else { None };
    let mut stage = Stage::created(Settings { room, ..with_room });
    stage.stock_up(price_minor);
    let vouchers = "vouchers".parse().expect("an id");
    let spec = onrush_core::spec::PoolSpec { pool: vouchers, capacity: 5, price_minor: 0 };
    stage.ok(Command::AddPool { spec });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

/// Takes the steps one by one and compares with the naive model after each.
fn play(stage: &mut Stage, steps: Vec<Step>) {
    let mut naive = Naive::default();
    let mut followed = 0;
    for step in steps {
        match step.aimed(&naive) {
            Step::Pass { ms } => stage.pass_ms(ms),
            Step::Away { ms } => {
                stage.now = stage.now.plus_ms(ms);
                stage.ok(Command::Recover { gap_ms: ms });
            }
            step => {
                let before = stage.journal.len();
                if let Some(command) = step.command()
                    && stage.run(command).is_err()
                {
                    assert_eq!(stage.journal.len(), before, "a refusal changes nothing");
                }
            }
        }
        stage.journal[followed..].iter().for_each(|(_, change)| naive.follow(change));
        followed = stage.journal.len();
        naive.check_positions(stage);
        naive.check_stock(stage);
    }
}

#[test]
fn the_steps_reach_late_money_declines_and_check_ins() {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    // The same random numbers in each run.
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..200 {
        let steps = prop::collection::vec(step(), 200).new_tree(&mut runner).expect("steps");
        let mut stage = set_up(700, false);
        play(&mut stage, steps.current());
        for (_, change) in &stage.journal {
            let kind = match change {
                Change::Booking(BookingChange::HoldConfirmedLate { .. }) => "late money",
                Change::Booking(BookingChange::LatePaymentFailed { .. }) => "late failure",
                Change::Booking(BookingChange::CheckedIn { .. }) => "check-in",
                Change::Booking(BookingChange::HoldConfirmed { .. }) => "confirmed",
                Change::Booking(BookingChange::ConfirmedCancelled { .. }) => "cancelled",
                _ => continue,
            };
            *counts.entry(kind).or_default() += 1;
        }
    }
    for kind in ["late money", "late failure", "check-in", "confirmed", "cancelled"] {
        let times = counts.get(kind).copied().unwrap_or(0);
        assert!(times >= 20, "{kind} is reached {times} times only: {counts:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_the_rules_hold(
        price_minor in prop_oneof![Just(0_i64), Just(700)],
        has_room in prop::bool::weighted(0.7),
        steps in prop::collection::vec(step(), 1..220),
        cut in 0.0..1.0_f64,
    ) {
        let mut stage = set_up(price_minor, has_room);
        play(&mut stage, steps);
        stage.check_recovery();

        // Any prefix of the journal is a state that could have been.
        let mut replayed = Event::new(stage.event.id().clone());
        let decision = (stage.decisions.len() as f64 * cut) as usize;
        let prefix = stage.decisions[decision];
        for (at, change) in &stage.journal[..prefix] {
            replayed.evolve(*at, change);
        }
        prop_assert_eq!(replayed.check(), Ok(()));
    }

    #[test]
    fn what_the_journal_keeps_reads_back_the_same(steps in prop::collection::vec(step(), 1..60)) {
        let mut stage = Stage::open(room(3, Some(60)));
        for step in steps {
            if let Some(command) = step.command() {
                let _refused_or_not = stage.run(command);
            }
        }
        for (_, change) in &stage.journal {
            let json = serde_json::to_string(change).expect("a change is JSON");
            prop_assert_eq!(&serde_json::from_str::<Change>(&json).expect("and back"), change);
        }
        for row in stage.event.snapshot() {
            let json = serde_json::to_string(&row).expect("a row is JSON");
            let read: onrush_core::snapshot::SnapshotRow =
                serde_json::from_str(&json).expect("and back");
            prop_assert_eq!(read, row);
        }
    }
}
