//! `onrush bench redis|postgres|nodes|peers`: the engines that many nodes share, on throw-away servers.

mod archive;
mod nodes;
mod peers;
mod plain;
mod postgres;
mod redis;
mod shared;

use super::common::Common;
use super::results::Results;
use onrush_store::redis::RedisEngine;
use onrush_testkit::Redis;
use shared::CLIENTS;
use std::sync::Arc;

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl ClusterArgs {
    /// All rows, as they are measured without a choice.
    pub(super) fn all(common: &Common) -> Self {
        Self { common: common.clone() }
    }
}

/// An engine on a throw-away Redis that archives nowhere.
pub(super) async fn redis_engine(server: &Redis) -> Result<Arc<RedisEngine>, String> {
    redis::engine(server).await
}

/// Runs `bench redis`.
pub(super) fn redis(args: &ClusterArgs, results: &mut Results) -> Result<(), String> {
    redis::run(&args.common, results)?;
    Ok(())
}

/// Runs `bench postgres`.
pub(super) fn postgres(args: &ClusterArgs, results: &mut Results) -> Result<(), String> {
    for way in postgres::Way::ALL {
        let rate = postgres::holds_per_s(&args.common, way)?;
        results.figure(&format!("{}_holds_per_s", way.name()), rate);
        results.say(&format!("{:<13} {rate:.0} holds/s, {CLIENTS} clients", way.name()));
    }
    Ok(())
}

/// Runs `bench peers`.
pub(super) fn peers(args: &ClusterArgs, results: &mut Results) -> Result<(), String> {
    peers::run(&args.common, results)?;
    Ok(())
}

/// Runs `bench nodes`.
pub(super) fn nodes(args: &ClusterArgs, results: &mut Results) -> Result<(), String> {
    nodes::run(&args.common, results)
}
