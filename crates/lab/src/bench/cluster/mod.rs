//! `onrush bench redis|postgres|compare`: the engines that many nodes share, on throw-away servers.

mod archive;
mod compare;
mod plain;
mod postgres;
mod redis;
mod shared;

use super::common::Common;
use super::results::Results;
use shared::CLIENTS;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    common: Common,
}

/// Runs `bench redis`.
pub(super) fn redis(args: &ClusterArgs) -> Result<(), String> {
    let mut results = Results::new(args.common.json);
    redis::run(&args.common, &mut results)?;
    results.finish();
    Ok(())
}

/// Runs `bench postgres`.
pub(super) fn postgres(args: &ClusterArgs) -> Result<(), String> {
    let mut results = Results::new(args.common.json);
    let rate = postgres::hot_row(&args.common)?;
    results.figure("hot_row_holds_per_s", rate);
    results.say(&format!("hot row    {rate:.0} holds/s by one statement, {CLIENTS} clients"));
    results.finish();
    Ok(())
}

/// Runs `bench compare`.
pub(super) fn compare(args: &ClusterArgs) -> Result<(), String> {
    let mut results = Results::new(args.common.json);
    compare::run(&args.common, &mut results)?;
    results.finish();
    Ok(())
}
