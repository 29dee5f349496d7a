//! `onrush bench`: speed and size, on this machine, with the load made on the same machine.
//!
//! Nothing here passes or fails: a shared machine gives other figures each time. Ratios within one
//! run are worth more than figures across runs.

mod arena;
mod backup;
#[cfg(feature = "servers")]
mod cluster;
mod commands;
mod common;
mod engine;
mod hostile;
mod http;
mod map;
mod overload;
mod paid;
mod results;
mod server;

use clap::Subcommand;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;

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
    /// Measure the engine on Redis beside a plain script, on a throw-away server
    #[cfg(feature = "servers")]
    Redis(cluster::ClusterArgs),
    /// Measure holds on PostgreSQL, on a throw-away server
    #[cfg(feature = "servers")]
    Postgres(cluster::ClusterArgs),
    /// Measure the same job on the embedded engine, on Redis and on PostgreSQL
    #[cfg(feature = "servers")]
    Compare(cluster::ClusterArgs),
    /// Run the bare server that `http` compares with
    #[command(hide = true)]
    Bare,
}

/// Runs the measurements.
pub fn run(args: &BenchArgs) -> Exit {
    let results = match &args.what {
        What::Engine(args) => engine::run(args),
        What::Http(args) => http::run(args),
        What::Map(args) => map::run(args),
        What::Paid(args) => paid::run(args),
        What::Hostile(args) => hostile::run(args),
        What::Overload(args) => overload::run(args),
        What::Backup(args) => backup::run(args),
        #[cfg(feature = "servers")]
        What::Redis(args) => cluster::redis(args),
        #[cfg(feature = "servers")]
        What::Postgres(args) => cluster::postgres(args),
        #[cfg(feature = "servers")]
        What::Compare(args) => cluster::compare(args),
        What::Bare => return http::bare(),
    };
    match results {
        Ok(()) => Exit::Ok,
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}
