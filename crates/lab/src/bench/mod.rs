//! `onrush bench`: speed and size, on this machine, with the load made on the same machine.
//!
//! Nothing here passes or fails: a shared machine gives other figures each time. Ratios within one
//! run are worth more than figures across runs.

mod archive;
mod arena;
mod backup;
#[cfg(feature = "servers")]
mod cluster;
mod commands;
mod common;
mod engine;
mod goals;
mod hostile;
mod http;
mod map;
mod overload;
mod paid;
mod record;
mod results;
mod server;

use clap::Subcommand;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use results::Results;

/// What to measure.
#[derive(clap::Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure the rules and the embedded engine in this process
    Engine(engine::EngineArgs),
    /// Measure the server over real HTTP, beside a bare one with the same serve loop
    Http(http::HttpArgs),
    /// Measure how many get the map of a large house while its seats are being taken
    Map(map::MapArgs),
    /// Measure the whole way from the queue to the paid ticket
    Paid(paid::PaidArgs),
    /// Have hostile clients at a server with little memory and few files, beside buyers who behave
    Hostile(hostile::HostileArgs),
    /// Offer many times more holds than the server can take, while others pay
    Overload(overload::OverloadArgs),
    /// Measure paid bookings while backups are taken of the running server
    Backup(backup::BackupArgs),
    /// Measure what a year of sales leaves in memory and on the disk once its events are archived
    Archive(archive::ArchiveArgs),
    /// Measure the engine on Redis beside a plain script, on a throw-away server
    #[cfg(feature = "servers")]
    Redis(cluster::ClusterArgs),
    /// Measure holds on PostgreSQL, on a throw-away server
    #[cfg(feature = "servers")]
    Postgres(cluster::ClusterArgs),
    /// Measure positions over HTTP on nodes of a cluster, beside the bare server
    #[cfg(feature = "servers")]
    Nodes(cluster::ClusterArgs),
    /// Measure the same job on Onrush and on what people would use instead, on throw-away servers
    #[cfg(feature = "servers")]
    #[command(alias = "compare")]
    Peers(cluster::ClusterArgs),
    /// Measure all of it, one after the other, and make one document of it
    All(record::AllArgs),
    /// Say what differs by more than noise between two documents of `all`
    Against(record::AgainstArgs),
    /// Run the bare server that `http` compares with
    #[command(hide = true)]
    Bare,
}

/// Runs the measurements; `version` is the program's, with its commit.
pub fn run(args: &BenchArgs, version: &str) -> Exit {
    let done = match &args.what {
        What::Engine(args) => told(args.common.json, |results| engine::run(args, results)),
        What::Http(args) => told(args.common.json, |results| http::run(args, results)),
        What::Map(args) => told(args.common.json, |results| map::run(args, results)),
        What::Paid(args) => told(args.common.json, |results| paid::run(args, results)),
        What::Hostile(args) => told(args.common.json, |results| hostile::run(args, results)),
        What::Overload(args) => told(args.common.json, |results| overload::run(args, results)),
        What::Backup(args) => told(args.common.json, |results| backup::run(args, results)),
        What::Archive(args) => told(args.common.json, |results| archive::run(args, results)),
        #[cfg(feature = "servers")]
        What::Redis(args) => told(args.common.json, |results| cluster::redis(args, results)),
        #[cfg(feature = "servers")]
        What::Postgres(args) => told(args.common.json, |results| cluster::postgres(args, results)),
        #[cfg(feature = "servers")]
        What::Nodes(args) => told(args.common.json, |results| cluster::nodes(args, results)),
        #[cfg(feature = "servers")]
        What::Peers(args) => told(args.common.json, |results| cluster::peers(args, results)),
        What::All(args) => record::all(args, version),
        What::Against(args) => record::against(args),
        What::Bare => return http::bare(),
    };
    match done {
        Ok(()) => Exit::Ok,
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}

/// The figures of one part.
fn told(
    json: bool,
    measure: impl FnOnce(&mut Results) -> Result<(), String>,
) -> Result<(), String> {
    let mut results = Results::new(json);
    measure(&mut results)?;
    results.finish();
    Ok(())
}
