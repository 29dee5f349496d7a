//! A whole server on a disk that loses what was not synced.

use onrush_core::question::EventNow;
use onrush_core::settings::Settings;
use onrush_core::{Command, Time};
use onrush_disk::Disk;
use onrush_sim::whole::{Between, Faults, Planted, run, run_for};
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options, Stepped};

#[test]
fn power_cuts_alone_lose_nothing_that_was_told() {
    let mut cuts = 0;
    for seed in 1..=6 {
        let outcome = run(seed, Faults { power: true, ..Faults::NONE });
        assert!(
            outcome.violations.is_empty(),
            "seed {seed}: {:#?}\n{}",
            outcome.violations,
            outcome.story.join("\n")
        );
        cuts += outcome.power_cuts;
    }
    assert!(cuts > 10, "{cuts} power cuts");
}

#[test]
fn files_between_two_lives_are_refused_or_go_on() {
    let mut between = Between::default();
    for seed in 11..=40 {
        let faults =
            Faults { kills: true, flips: true, restores: true, upgrades: true, ..Faults::NONE };
        let outcome = run(seed, faults);
        assert!(
            outcome.violations.is_empty(),
            "seed {seed}: {:#?}\n{}",
            outcome.violations,
            outcome.story.join("\n")
        );
        between.add(outcome.between);
        let Between { flips_refused, restores_refused, upgrades, .. } = between;
        if flips_refused > 0 && restores_refused > 0 && upgrades > 0 {
            return;
        }
    }
    panic!("not everything comes about: {between:?}");
}

#[test]
fn logs_that_are_never_synced_are_found() {
    for planted in [Planted::JournalIsNotSynced, Planted::LedgerIsNotSynced] {
        let outcome = run(1, Faults { planted: Some(planted), ..Faults::ALL });
        assert!(!outcome.violations.is_empty(), "{planted:?}");
    }
}

/// An older ledger was accepted, and the power went: the witness said again how far the ledger had come
/// that was lost, and the next start was refused.
#[test]
fn what_was_accepted_is_not_refused_after_a_power_cut() {
    for seed in [2_102, 2_282] {
        let outcome = run_for(seed, Faults::ALL, Some(40));
        assert!(outcome.violations.is_empty(), "seed {seed}: {:#?}", outcome.violations);
        assert!(outcome.between.losses > 0, "seed {seed}");
    }
}

/// A process may end between a commit's write and its sync: the next one finds in the log what nobody
/// was told of, and tells it. The witness had it before it was durable, and the power went.
#[tokio::test]
async fn what_a_start_finds_in_the_log_is_durable_before_anybody_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = Disk::watch(dir.path()).expect("it is there");
    let clock = ManualClock::new(Time(1_780_000_000_000));
    let begin_life = || {
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        Stepped::open(dir.path(), options).expect("it starts")
    };
    let create = |engine: &Embedded, event: &str| {
        let settings = Box::new(Settings::new("Gala", "EUR".parse().expect("a currency")));
        engine.execute(event.parse().expect("an id"), Command::CreateEvent { settings })
    };
    let second_of =
        |engine: &Embedded| engine.query("second".parse().expect("an id"), EventNow.into());

    let (engine, mut steps) = begin_life();
    let first = create(&engine, "first");
    assert!(steps.decide() && steps.commit());
    first.await.expect("it is durable");
    disk.refuse_syncs();
    let second = create(&engine, "second");
    assert!(steps.decide() && !steps.commit(), "it is written and not synced");
    second.await.expect_err("nobody is told");
    drop((engine, steps));
    disk.go_on();

    let (engine, steps) = begin_life();
    second_of(&engine).await.expect("it was in the log");
    // The power goes, and with it all that was not synced.
    disk.stop();
    drop((engine, steps));
    disk.cut(&mut |_| 0).expect("files can be changed");
    disk.go_on();

    let (engine, _steps) = begin_life();
    second_of(&engine).await.expect("somebody was told of it");
}
