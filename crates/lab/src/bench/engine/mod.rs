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
    common: Common,
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
pub(super) fn run(args: &EngineArgs) -> Result<(), String> {
    let mut results = Results::new(args.common.json);
    for row in Row::value_variants() {
        if !args.only.is_empty() && !args.only.contains(row) {
            continue;
        }
        match row {
            Row::Holds => holds::run(&args.common, &mut results)?,
            Row::Room => room::run(&args.common, &mut results)?,
            Row::Recovery => recovery::run(&args.common, &mut results)?,
            Row::Deadlines => deadlines::run(&args.common, &mut results)?,
            Row::Snapshot => snapshot::run(&args.common, &mut results)?,
            Row::Best => best::run(&args.common, &mut results)?,
            Row::Score => score::run(&mut results),
        }
    }
    results.finish();
    Ok(())
}
