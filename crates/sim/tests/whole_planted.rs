//! Faults that are planted are found.

use onrush_sim::whole::{Faults, Planted, run_for};

/// Seeds that are tried for each.
const SEEDS: u64 = 40;
/// The same for what shows only where a kill comes between two writes.
const SEEDS_OF_RARE: u64 = 100;
/// As few buyers as show everything: with some faults they wait for a day, all of them.
const BUYERS: u32 = 40;

#[test]
fn every_planted_fault_is_found() {
    let mut missed = Vec::new();
    for planted in Planted::ALL {
        let faults = Faults { planted: Some(planted), ..Faults::ALL };
        let is_rare = matches!(planted, Planted::RefundIsSaidToBeDone);
        let seeds = if is_rare { SEEDS_OF_RARE } else { SEEDS };
        let found = (1..=seeds).find_map(|seed| {
            let violations = run_for(seed, faults, Some(BUYERS)).violations;
            violations.first().map(|first| (seed, first.clone()))
        });
        match found {
            Some((seed, first)) => println!("{planted:?}: seed {seed}: {first}"),
            None => missed.push(planted),
        }
    }
    assert!(missed.is_empty(), "not found in their seeds: {missed:?}");
}
