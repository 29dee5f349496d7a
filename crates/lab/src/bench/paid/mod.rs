//! `onrush bench paid`: the whole way from the queue to the paid ticket, over real HTTP, with the
//! sandbox as the gateway.
//!
//! Server, gateway and buyers share the machine, and the whole cost is counted.

mod journeys;
mod restart;
pub(super) mod shop;
mod webhooks;

use super::common::{Common, measure};
use super::results::Results;
use clap::ValueEnum;

/// Buyers at a time, if no others are asked for.
const BUYERS: u32 = 512;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct PaidArgs {
    /// Only these rows [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Row>,
    /// Buyers at a time
    #[arg(long, default_value_t = BUYERS, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    buyers: u32,
    #[command(flatten)]
    pub(super) common: Common,
}

impl PaidArgs {
    /// All rows, as they are measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { only: Vec::new(), buyers: BUYERS, common: common.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// Join, be admitted, hold, pay, be confirmed: bookings a second
    Journeys,
    /// From the gateway's message to the confirmed booking, at 500 a second
    Webhooks,
    /// A restart with 100,000 payments whose end nobody has heard of
    Restart,
}

/// Runs the rows that are chosen.
pub(super) fn run(args: &PaidArgs, results: &mut Results) -> Result<(), String> {
    let wanted = |row| args.only.is_empty() || args.only.contains(&row);
    if wanted(Row::Journeys) {
        measure(journeys::run(&args.common, args.buyers, results))?;
    }
    if wanted(Row::Webhooks) {
        measure(webhooks::run(&args.common, results))?;
    }
    if wanted(Row::Restart) {
        measure(restart::run(&args.common, results))?;
    }
    Ok(())
}
