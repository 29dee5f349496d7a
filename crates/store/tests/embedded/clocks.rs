//! Engine time: it goes by the monotonic clock, so that neither a pause nor a clock that is set
//! takes anything from anybody.

use crate::sale::{HOLD_MS, START, Sale, booking, event, hold, open_flash_sale, units};
use onrush_core::change::SaleChange;
use onrush_core::hold::HoldState;
use onrush_core::question::EventNow;
use onrush_core::{Change, Time};
use onrush_store::embedded::{Clock, Embedded, ManualClocks, Options, SteadyClock};
use onrush_store::{Ask, Engine, Seq};

const HOUR_MS: i64 = 3_600_000;
/// The thread that beats does so this often: a pause is known only so well.
const BEAT_MS: i64 = 250;

/// A sale on a machine with a system's clock and a monotonic one.
struct Machine {
    sale: Sale,
    clocks: ManualClocks,
    clock: SteadyClock,
}

impl Machine {
    fn new() -> Self {
        let (clocks, clock) = ManualClocks::new(START);
        Self { sale: Sale::new(), clocks, clock }
    }

    fn open(&self) -> Embedded {
        let options = Options { clock: Clock::Steady(self.clock.clone()), ..Options::default() };
        Embedded::open(self.sale.path(), options).expect("the engine opens")
    }

    async fn opened(&self) -> Embedded {
        let engine = self.open();
        open_flash_sale(&engine).await;
        engine
    }

    /// The machine is started again: engine and clock know nothing but what the files say.
    fn restarted(self) -> Self {
        let (clocks, clock) = ManualClocks::new(self.clocks.wall());
        Self { sale: self.sale, clocks, clock }
    }

    fn run_ms(&self, ms: i64) {
        self.clocks.run_ms(&self.clock, ms);
    }
}

/// Engine time, as an answer tells it.
async fn at(engine: &Embedded) -> Time {
    engine.events().await.expect("an answer").at
}

async fn until(engine: &Embedded, name: &str) -> Option<Time> {
    let state = booking(engine, name).await.expect("known");
    if let HoldState::Held { until } = state { Some(until) } else { None }
}

/// By how much deadlines were moved on, each time.
async fn moved(engine: &Embedded) -> Vec<i64> {
    let last = engine.committed();
    let entries = crate::sale::feed_to(engine, Seq(0), last).await;
    let changes = entries.iter().flat_map(|entry| &entry.changes);
    changes
        .filter_map(|change| {
            if let Change::Sale(SaleChange::Resumed { gap_ms }) = change {
                Some(*gap_ms)
            } else {
                None
            }
        })
        .collect()
}

#[tokio::test]
async fn a_pause_of_the_process_counts_as_downtime() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    let placed = hold(&engine, "b1", units(1)).await.expect("held");
    let first = placed.state.until().expect("a live hold");
    machine.run_ms(10_000);
    assert_eq!(until(&engine, "b1").await, Some(first), "time that is lived through moves nothing");

    machine.clocks.stand_still_ms(HOUR_MS);
    let moved_to = until(&engine, "b1").await.expect("it lives");
    let gap_ms = moved_to.since_ms(first);
    assert!((HOUR_MS..=HOUR_MS + BEAT_MS).contains(&gap_ms), "{gap_ms}");
    assert_eq!(moved(&engine).await, [gap_ms]);
    assert_eq!(at(&engine).await, START.plus_ms(10_000 + HOUR_MS), "time itself went on");

    // What was left of it before is left of it now.
    machine.run_ms(HOLD_MS - 10_000 - 2 * BEAT_MS);
    assert_eq!(until(&engine, "b1").await, Some(moved_to));
    machine.run_ms(3 * BEAT_MS);
    at(&engine).await;
    assert_eq!(until(&engine, "b1").await, None, "and then it runs out");
    let report = Clock::Steady(machine.clock.clone()).report();
    assert_eq!((report.pauses, report.steps), (1, 0));
    assert_eq!(report.paused_ms, gap_ms.unsigned_abs());
}

#[tokio::test]
async fn a_moment_that_a_busy_machine_takes_is_no_pause() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    for _ in 0..20 {
        machine.clocks.stand_still_ms(1_900);
        at(&engine).await;
    }
    assert_eq!(moved(&engine).await, Vec::<i64>::new());
    assert_eq!(at(&engine).await, START.plus_ms(20 * 1_900));
}

#[tokio::test]
async fn a_clock_set_forward_and_corrected_changes_nothing() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    let placed = hold(&engine, "b1", units(1)).await.expect("held");
    machine.run_ms(5_000);
    machine.clocks.set_wall_by_ms(2 * HOUR_MS);
    machine.run_ms(60_000);
    assert_eq!(until(&engine, "b1").await, placed.state.until(), "nobody loses a hold");
    let during = hold(&engine, "b2", units(1)).await.expect("held");
    assert_eq!(during.terms.created_at, START.plus_ms(65_000));
    machine.clocks.set_wall_by_ms(-2 * HOUR_MS);
    machine.run_ms(60_000);
    let after = hold(&engine, "b3", units(1)).await.expect("held");
    assert_eq!(after.terms.created_at, START.plus_ms(125_000), "time stands still for nobody");
    assert_eq!(moved(&engine).await, Vec::<i64>::new());

    machine.run_ms(HOLD_MS - 1);
    assert!(until(&engine, "b3").await.is_some());
    machine.run_ms(1);
    at(&engine).await;
    assert_eq!(until(&engine, "b3").await, None, "a hold is no longer than it is");
    assert_eq!(Clock::Steady(machine.clock.clone()).report().steps, 2);
}

#[tokio::test]
async fn a_clock_set_back_neither_stops_time_nor_stretches_a_hold_by_more_than_one_percent() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    machine.run_ms(5_000);
    machine.clocks.set_wall_by_ms(-HOUR_MS);
    let before = at(&engine).await;
    hold(&engine, "b1", units(1)).await.expect("held");
    machine.run_ms(100_000);
    let passed_ms = at(&engine).await.since_ms(before);
    assert!((98_900..=100_000).contains(&passed_ms), "{passed_ms}");
    machine.run_ms(HOLD_MS - 100_000);
    assert!(until(&engine, "b1").await.is_some());
    machine.run_ms(HOLD_MS / 99 + 1_000);
    at(&engine).await;
    assert_eq!(until(&engine, "b1").await, None);
    let ahead_ms = Clock::Steady(machine.clock.clone()).report().ahead_ms;
    assert!((HOUR_MS - 10_000..HOUR_MS).contains(&ahead_ms), "it comes nearer: {ahead_ms}");
}

#[tokio::test]
async fn a_clock_set_forward_for_good_is_followed_and_takes_nothing_from_anybody() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    let placed = hold(&engine, "b1", units(1)).await.expect("held");
    machine.run_ms(5_000);
    machine.clocks.set_wall_by_ms(2 * HOUR_MS);
    machine.run_ms(310_000);
    assert_eq!(at(&engine).await, machine.clocks.wall());
    let first = placed.state.until().expect("a live hold");
    let moved_to = until(&engine, "b1").await.expect("it lives");
    assert_eq!(moved_to, first.plus_ms(2 * HOUR_MS));
    assert_eq!(moved(&engine).await, [2 * HOUR_MS]);
}

#[tokio::test]
async fn a_small_difference_is_made_up_for_without_a_jump() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    for step_ms in [800, -800] {
        machine.run_ms(5_000);
        machine.clocks.set_wall_by_ms(step_ms);
        machine.run_ms(100_000);
        let apart_ms = at(&engine).await.since_ms(machine.clocks.wall());
        assert!(apart_ms.abs() <= 20, "{step_ms}: {apart_ms}");
    }
    assert_eq!(moved(&engine).await, Vec::<i64>::new());
}

#[tokio::test]
async fn a_restart_with_a_clock_that_was_set_back_goes_on_and_does_not_stand_still() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    machine.run_ms(60_000);
    hold(&engine, "b1", units(1)).await.expect("held");
    engine.close();
    machine.clocks.set_wall_by_ms(-2 * HOUR_MS);
    let machine = machine.restarted();
    let engine = machine.open();
    let begun = at(&engine).await;
    assert!(begun >= START.plus_ms(60_000), "time never goes back");
    machine.run_ms(HOLD_MS + HOLD_MS / 99 + 1_000);
    at(&engine).await;
    assert_eq!(until(&engine, "b1").await, None);
}

#[tokio::test]
async fn engine_time_never_goes_back_and_never_hurries() {
    let machine = Machine::new();
    let engine = machine.opened().await;
    let mut chance: u64 = 20_261_122;
    let mut draw = |limit: i64| {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((chance >> 33) as i64).rem_euclid(limit)
    };
    let (mut before, mut jumps_ms) = (at(&engine).await, 0);
    for round in 0..2_000 {
        let passed_ms = match draw(4) {
            0 => {
                machine.clocks.set_wall_by_ms(draw(4 * HOUR_MS) - 2 * HOUR_MS);
                0
            }
            1 => {
                let ms = draw(10_000);
                machine.clocks.stand_still_ms(ms);
                ms
            }
            _ => {
                let ms = draw(60_000);
                machine.run_ms(ms);
                ms
            }
        };
        let now = at(&engine).await;
        let all_jumps_ms: i64 = moved(&engine).await.iter().sum();
        let jumped_ms = all_jumps_ms - jumps_ms;
        let went_ms = now.since_ms(before);
        assert!(went_ms >= passed_ms * 99 / 100 - 1, "round {round}: {went_ms} of {passed_ms}");
        // Whatever it gained beyond that, all deadlines gained as well.
        let most_ms = passed_ms + passed_ms / 100 + 1 + jumped_ms;
        assert!(went_ms <= most_ms, "round {round}: {went_ms} of {passed_ms} and {jumped_ms}");
        (before, jumps_ms) = (now, all_jumps_ms);
    }
    assert!(jumps_ms > 0);
    drop(engine.ask(event(), EventNow).await.expect("it runs"));
}
