//! Faults that are planted are found.

use onrush_sim::whole::{Faults, Planted, run_for};

/// Seeds that are tried for each.
const SEEDS: u64 = 100;
/// As few buyers as show everything: with some faults they wait for a day, all of them.
const BUYERS: u32 = 40;

#[test]
fn every_planted_fault_is_found() {
    let mut missed = Vec::new();
    for planted in Planted::ALL {
        let faults = Faults { planted: Some(planted), ..Faults::ALL };
        let found = (1..=SEEDS).find_map(|seed| {
            let violations = run_for(seed, faults, Some(BUYERS)).violations;
            violations.first().map(|first| (seed, first.clone()))
        });
        match found {
            Some((seed, first)) => println!("{planted:?}: seed {seed}: {first}"),
            None => missed.push(planted),
        }
    }
    assert!(missed.is_empty(), "not found in {SEEDS} seeds: {missed:?}");
}
