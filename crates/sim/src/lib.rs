//! The rules, simulated: whole sales from one number each, with buyers, organisers, a journal and
//! faults around the real rules, and judges that share no code with them.
//!
//! A seed gives a [`plan`] of a sale and the behaviour of everybody in it. They think of steps, and
//! the [`world`] takes them: commands go to `onrush_core::Event`, committed changes into a journal
//! as JSON, and crashes rebuild the state from it. [`judges`] look at everything that is committed.
//! The same seed always comes to the same end.

#![forbid(unsafe_code)]

pub mod asked;
mod attempt;
mod buyers;
pub mod chance;
mod command_line;
pub mod counts;
mod course;
#[cfg(test)]
mod coverage;
pub mod faults;
mod floor;
#[cfg(feature = "planted")]
mod harm;
pub mod journal;
pub mod judge;
pub mod judges;
mod later_prices;
mod organiser;
pub mod plan;
#[cfg(feature = "planted")]
pub mod planted;
pub mod rules;
mod run;
pub mod shrink;
mod story;
mod types;
#[cfg(feature = "whole")]
pub mod whole;
pub mod world;

pub use command_line::{SimulateArgs, run};
pub use run::Outcome;
#[cfg(feature = "cluster")]
pub use whole::cluster;

use faults::Fault;
use run::Run;

/// Runs a seed. With `record`, the outcome has all steps.
#[must_use]
pub fn simulate(seed: u64, without: &[Fault], record: bool) -> Outcome {
    finish(seed, Run::new(seed, without, record))
}

/// Runs a seed with a bug planted.
#[cfg(feature = "planted")]
#[must_use]
pub fn simulate_planted(seed: u64, bug: planted::Bug, record: bool) -> Outcome {
    let mut run = Run::new(seed, &[], record);
    run.world.plant(bug);
    finish(seed, run)
}

fn finish(seed: u64, mut run: Run) -> Outcome {
    let violation = attempt::quietly(|| run.go()).err();
    Outcome {
        seed,
        counts: run.world.counts(),
        faults: run.faults(),
        observed: run.world.observed(),
        violation,
        steps: run.steps.unwrap_or_default(),
    }
}
