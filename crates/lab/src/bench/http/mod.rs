//! `onrush bench http`: the server over real HTTP, beside a bare one with the same accept loop and settings.
//!
//! Each server is a process of its own; the load comes from this one, over the same kind of
//! connections for all.

pub(super) mod closed_loop;
pub(super) mod rates;

mod streams;

use super::common::{Common, measure};
use super::results::Results;
use clap::ValueEnum;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use rates::Price;

/// Rounds of each measurement, if no others are asked for.
const ROUNDS: u32 = 5;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct HttpArgs {
    /// Only these rows [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Row>,
    /// Rounds of each measurement, one after the other in turns; medians are taken
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    #[command(flatten)]
    pub(super) common: Common,
}

impl HttpArgs {
    /// All rows, as they are measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { only: Vec::new(), rounds: ROUNDS, common: common.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Durable holds against a bare JSON echo, at 256 and at 64 connections
    Holds,
    /// The same with a price: the ledger hears of each hold
    Priced,
    /// Exact positions against a bare GET
    Positions,
    /// 20,000 open streams: memory, and how fast "your turn" reaches 1,000 of them
    Streams,
}

/// Runs the rows that are chosen.
pub(super) fn run(args: &HttpArgs, results: &mut Results) -> Result<(), String> {
    let wanted = |row| args.only.is_empty() || args.only.contains(&row);
    if wanted(Row::Holds) {
        measure(rates::holds(&args.common, args.rounds, Price::Free, results))?;
    }
    if wanted(Row::Priced) {
        measure(rates::holds(&args.common, args.rounds, Price::Priced, results))?;
    }
    if wanted(Row::Positions) {
        measure(rates::positions(&args.common, args.rounds, results))?;
    }
    if wanted(Row::Streams) {
        measure(streams::run(&args.common, results))?;
    }
    Ok(())
}

/// Runs the bare server until it is killed.
pub(super) fn bare() -> Exit {
    match onrush_terminal::process::runtime()
        .and_then(|runtime| runtime.block_on(super::server::bare()))
    {
        Ok(()) => Exit::Ok,
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}
