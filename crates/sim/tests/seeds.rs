//! A handful of seeds, every seed that ever failed, and the same seed twice.

use onrush_sim::{Outcome, simulate};

/// Seeds that failed once, one a line; what follows a `#` says why.
const FAILED: &str = include_str!("../seeds.txt");

fn assert_well(outcome: &Outcome) {
    let Outcome { seed, violation, .. } = outcome;
    assert!(violation.is_none(), "onrush simulate --seed {seed}: {violation:?}");
}

#[test]
fn fixed_seeds_show_no_violation() {
    let mut commands = 0;
    for seed in 1_000_000..1_000_100 {
        let outcome = simulate(seed, &[], false);
        assert_well(&outcome);
        commands += outcome.counts.commands;
    }
    assert!(commands > 50_000, "{commands} commands are too few to mean anything");
}

#[test]
fn seeds_that_failed_fail_no_more() {
    let lines = FAILED.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    for line in lines.filter(|line| !line.is_empty()) {
        let seed = line.parse().expect("a line of seeds.txt begins with a number");
        assert_well(&simulate(seed, &[], false));
    }
}

#[test]
fn two_hundred_seeds_come_out_the_same_twice() {
    for seed in 0..200 {
        let (once, twice) = (simulate(seed, &[], false), simulate(seed, &[], false));
        assert_eq!(once.observed, twice.observed, "seed {seed} is not the same twice");
    }
}

#[test]
fn recorded_steps_come_to_the_same_end() {
    let outcome = simulate(5, &[], true);
    let mut world = onrush_sim::world::World::new();
    for step in outcome.steps {
        world.step(step).expect("a run without a violation has none again");
    }
    assert_eq!(world.observed(), outcome.observed);
}

#[test]
fn every_fault_comes() {
    let mut came = [0; onrush_sim::faults::FAULTS.len()];
    for seed in 0..60 {
        let outcome = simulate(seed, &[], false);
        came.iter_mut().zip(outcome.faults).for_each(|(sum, n)| *sum += n);
    }
    assert!(came.iter().all(|n| *n > 0), "some fault never came: {came:?}");
}
