//! A whole server on a disk that loses what was not synced.

use onrush_sim::whole::{Faults, run};

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
