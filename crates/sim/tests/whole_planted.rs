//! Faults that are planted are found.

use onrush_sim::whole::{Faults, Planted, run};

/// Seeds that are tried for each.
const SEEDS: u64 = 40;

#[test]
fn every_planted_fault_of_the_files_is_found() {
    for planted in Planted::ALL {
        let faults = Faults { planted: Some(planted), ..Faults::ALL };
        let found = (1..=SEEDS).find_map(|seed| {
            let violations = run(seed, faults).violations;
            violations.first().map(|first| (seed, first.clone()))
        });
        let (seed, first) = found.unwrap_or_else(|| panic!("{planted:?} is not found"));
        println!("{planted:?}: seed {seed}: {first}");
    }
}
