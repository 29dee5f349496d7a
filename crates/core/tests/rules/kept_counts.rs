//! What is kept so that no decision counts it: whatever happens, it is what a plain count finds.
//! `Event::check` counts plainly, after each step.

use crate::best::{any, hold_best};
use crate::stage::{Stage, cancel, confirm, hold, lines, reason, release, settings};
use onrush_core::change::SetupChange;
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::ids::ChannelId;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::{Change, Command, Event, Time};
use proptest::prelude::{
    ProptestConfig, Strategy, any as anything, prop, prop_assert_eq, proptest,
};
use proptest::prop_oneof;

/// An open event with pools ga and bus, seats, and no waiting room.
fn sale() -> Stage {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(0);
    let pool = "bus".parse().expect("an id");
    stage.ok(Command::AddPool { spec: PoolSpec { pool, capacity: 10, price_minor: 0 } });
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

/// Goes on with the state that a snapshot gives.
fn restore(stage: &mut Stage) {
    let rows: Vec<_> = stage.event.snapshot().collect();
    let restored = Event::restore(stage.event.id().clone(), rows).expect("rows of a snapshot");
    stage.replace(restored);
}

/// The price that comes next and of what, if all are gone through.
fn plain_next(stage: &Stage) -> Option<(PriceStep, Priced)> {
    let now = stage.event.ask(stage.now, AvailabilityNow).expect("an event");
    let categories = now.categories.into_iter().map(|it| (Priced::Category(it.name), it.later));
    let pools = now.pools.into_iter().map(|it| (Priced::Pool(it.pool), it.later));
    let steps = categories.chain(pools).filter_map(|(of, later)| Some((*later.first()?, of)));
    steps.min_by(|(one, of_one), (other, of_other)| (one.from, of_one).cmp(&(other.from, of_other)))
}

/// A price of one of three things, and when others follow it.
fn new_price() -> impl Strategy<Value = (u8, i64, Vec<i64>)> {
    let later = prop::collection::btree_set(1..6_i64, 0..4);
    (0..3_u8, 0..9_i64, later.prop_map(Vec::from_iter))
}

#[derive(Clone, Debug)]
enum Step {
    Set { channel: u8, quota: Option<u32>, queued: bool, release: Option<(i64, Option<u8>)> },
    Allot { pool: bool, units: u32, seats: Vec<u8>, from: Option<u8>, to: Option<u8> },
    ReleaseChannel { channel: u8, into: Option<u8> },
    Hold { pool: bool, units: u32, seats: Vec<u8>, through: Vec<u8> },
    HoldBest { seats: u32, through: Vec<u8> },
    Release { booking: u8 },
    Confirm { booking: u8 },
    Cancel { booking: u8 },
    Pass { ms: i64 },
    Restore,
}

const CHANNELS: u8 = 4;

fn step() -> impl Strategy<Value = Step> {
    let channel = || 0..CHANNELS;
    let some_channel = || prop::option::of(channel());
    let (units, seats) = (0..4_u32, prop::collection::vec(1..5_u8, 0..3));
    let through = prop::collection::vec(channel(), 0..3);
    let (pool, booking) = (anything::<bool>(), 0..30_u8);
    let planned = prop::option::weighted(0.2, (1..3_000_i64, some_channel()));
    prop_oneof![
        3 => (channel(), prop::option::of(0..5_u32), anything::<bool>(), planned).prop_map(
            |(channel, quota, queued, release)| Step::Set { channel, quota, queued, release }
        ),
        8 => (pool, units.clone(), seats.clone(), some_channel(), some_channel()).prop_map(
            |(pool, units, seats, from, to)| Step::Allot { pool, units, seats, from, to }
        ),
        1 => (channel(), some_channel())
            .prop_map(|(channel, into)| Step::ReleaseChannel { channel, into }),
        8 => (pool, units, seats, through.clone()).prop_map(
            |(pool, units, seats, through)| Step::Hold { pool, units, seats, through }
        ),
        2 => (1..3_u32, through).prop_map(|(seats, through)| Step::HoldBest { seats, through }),
        3 => booking.clone().prop_map(|booking| Step::Release { booking }),
        3 => booking.clone().prop_map(|booking| Step::Confirm { booking }),
        2 => booking.prop_map(|booking| Step::Cancel { booking }),
        2 => (0..400_000_i64).prop_map(|ms| Step::Pass { ms }),
        1 => proptest::strategy::Just(Step::Restore),
    ]
}

fn id(channel: u8) -> ChannelId {
    format!("c{channel}").parse().expect("an id")
}

/// The command of a step that has one; `nth` names the booking that it makes.
fn command(step: Step, nth: usize, now: Time) -> Option<Command> {
    let of = |pool: bool, units: u32, seats: Vec<u8>| {
        let names: std::collections::BTreeSet<_> = seats.into_iter().collect();
        let seats: Vec<String> = names.into_iter().map(|seat| format!("A-{seat}")).collect();
        let seats: Vec<&str> = seats.iter().map(String::as_str).collect();
        let pools = [(if pool { "ga" } else { "bus" }, units)];
        let pools = if units == 0 { &[][..] } else { &pools };
        (units > 0 || !seats.is_empty()).then(|| lines(pools, &seats))
    };
    let new = format!("b{nth}");
    let known = |booking: u8| format!("b{booking}");
    let all = |through: Vec<u8>| through.into_iter().map(id).collect();
    Some(match step {
        Step::Set { channel, quota, queued, release } => {
            let release = release
                .map(|(ms, into)| PlannedRelease { at: now.plus_ms(ms), into: into.map(id) });
            let (channel, codes) = (id(channel), Vec::new());
            let spec = ChannelSpec { channel, quota, codes, queued, release };
            Command::SetChannel { spec, reason: reason() }
        }
        Step::Allot { pool, units, seats, from, to } => {
            let (lines, from, to) = (of(pool, units, seats)?, from.map(id), to.map(id));
            Command::Allot { lines, from, to, reason: reason() }
        }
        Step::ReleaseChannel { channel, into } => {
            let (channel, into) = (id(channel), into.map(id));
            Command::ReleaseChannel { channel, into, reason: reason() }
        }
        Step::Hold { pool, units, seats, through } => {
            match hold(&new, "ann", of(pool, units, seats)?) {
                Command::Hold { booking, user, lines, types, .. } => {
                    Command::Hold { booking, user, lines, channels: all(through), types }
                }
                other => panic!("{other:?} is no hold"),
            }
        }
        Step::HoldBest { seats, through } => match hold_best(&new, "ann", any(seats), None) {
            Command::HoldBest { booking, user, order, types, .. } => {
                Command::HoldBest { booking, user, order, channels: all(through), types }
            }
            other => panic!("{other:?} is no hold"),
        },
        Step::Release { booking } => release(&known(booking), "ann"),
        Step::Confirm { booking } => confirm(&known(booking), "ann", None),
        Step::Cancel { booking } => cancel(&known(booking), None),
        Step::Pass { .. } | Step::Restore => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_next_price_is_the_first_of_all_that_are_to_come(
        prices in prop::collection::vec((new_price(), 0..3_i64, prop::bool::weighted(0.2)), 1..40),
    ) {
        let mut stage = sale();
        for ((nth, price_minor, later), pass_ms, is_restored) in prices {
            let of = match nth {
                0 => Priced::Category("stalls".into()),
                1 => Priced::Pool("ga".parse().expect("an id")),
                _ => Priced::Pool("bus".parse().expect("an id")),
            };
            let step = |ms| PriceStep { from: stage.now.plus_ms(ms), price_minor: ms };
            let later = later.into_iter().map(step).collect();
            stage.ok(Command::ChangePrice { of, price_minor, later, reason: reason() });
            if is_restored {
                restore(&mut stage);
            }
            stage.check();
            let end = stage.now.plus_ms(pass_ms);
            while let Some((step, of)) = plain_next(&stage).filter(|(step, _)| step.from <= end) {
                prop_assert_eq!(stage.event.next_deadline(), Some(step.from));
                stage.now = step.from;
                stage.ok(Command::Tick);
                let (_, told) = stage.journal.last().expect("a tick that is due changes something");
                let told = match told {
                    Change::Setup(SetupChange::PriceChanged { of, price_minor, .. }) => {
                        (of, *price_minor)
                    }
                    other => panic!("{other:?}"),
                };
                prop_assert_eq!(told, (&of, step.price_minor));
            }
            stage.now = end;
            let next = plain_next(&stage).map(|(step, _)| step.from);
            prop_assert_eq!(stage.event.next_deadline(), next);
        }
        stage.check_recovery();
    }

    #[test]
    fn what_is_free_in_a_channel_is_what_its_pools_and_seats_have(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut stage = sale();
        for channel in 0..CHANNELS {
            let channel = Step::Set { channel, quota: None, queued: true, release: None };
            stage.ok(command(channel, 0, stage.now).expect("it has one"));
        }
        for (nth, step) in steps.into_iter().enumerate() {
            match step {
                Step::Pass { ms } => stage.pass_ms(ms),
                Step::Restore => restore(&mut stage),
                other => {
                    if let Some(command) = command(other, nth, stage.now) {
                        let _refused_or_not = stage.run(command);
                    }
                }
            }
            stage.check();
        }
        stage.check_recovery();
    }
}
