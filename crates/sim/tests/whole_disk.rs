//! A whole server on a disk that loses what was not synced.

use onrush_sim::whole::{Between, Faults, Planted, run, run_for};

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
