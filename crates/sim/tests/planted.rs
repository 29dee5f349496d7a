//! Each planted bug is found, within a bounded number of seeds.
//!
//! Run it with `-- --nocapture` to see by whom.

use onrush_sim::planted::Bug;
use onrush_sim::simulate_planted;
use std::collections::BTreeMap;

/// Seeds that are tried for each bug.
const MOST_SEEDS: u64 = 500;

/// The first seed that shows a bug: after how many commands, and found by whom.
fn find(bug: Bug) -> Option<(u64, u64, &'static str)> {
    let mut before = 0;
    for seed in 0..MOST_SEEDS {
        let outcome = simulate_planted(seed, bug, false);
        before += outcome.counts.commands;
        if let Some(violation) = outcome.violation {
            return Some((seed + 1, before, violation.judge));
        }
    }
    None
}

#[test]
fn every_planted_bug_is_found() {
    let mut found_by: BTreeMap<&str, u32> = BTreeMap::new();
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        match find(*bug) {
            Some((seeds, commands, judge)) => {
                *found_by.entry(judge).or_default() += 1;
                println!("{bug:?}: by {judge}, seed {seeds}, {commands} commands: {}", bug.text());
            }
            None => missed.push(*bug),
        }
    }
    println!("{} planted, found by {found_by:?}", Bug::ALL.len());
    assert!(missed.is_empty(), "nobody found {missed:?}");
}
