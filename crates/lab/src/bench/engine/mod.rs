//! `onrush bench engine`: the rules and the embedded engine, without HTTP.

mod best;
mod deadlines;
mod holds;
mod recovery;
mod room;
mod score;
mod snapshot;

use super::common::Common;
use super::results::Results;
use clap::ValueEnum;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct EngineArgs {
    /// Only these rows [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Row>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl EngineArgs {
    /// All rows, as they are measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { only: Vec::new(), common: common.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Durable holds, 1,024 callers each waiting for its answer
    Holds,
    /// 10 million visitors joined and served: memory, cost of a position
    Room,
    /// Recovery of 5 million changes, with and without a snapshot
    Recovery,
    /// 1,000 deadlines a second under load, and a burst
    Deadlines,
    /// The longest pause while a snapshot with a million visitors is made
    Snapshot,
    /// Durable holds of the best four seats beside named ones, and the choice by itself
    Best,
    /// One composite score
    Score,
}

/// Runs the rows that are chosen.
pub(super) fn run(args: &EngineArgs, results: &mut Results) -> Result<(), String> {
    for row in Row::value_variants() {
        if !args.only.is_empty() && !args.only.contains(row) {
            continue;
        }
        match row {
            Row::Holds => holds::run(&args.common, results)?,
            Row::Room => room::run(&args.common, results)?,
            Row::Recovery => recovery::run(&args.common, results)?,
            Row::Deadlines => deadlines::run(&args.common, results)?,
            Row::Snapshot => snapshot::run(&args.common, results)?,
            Row::Best => best::run(&args.common, results)?,
            Row::Score => score::run(results),
        }
    }
    Ok(())
}
