//! `onrush bench`: speed and size, on this machine, with the load made on the same machine.
//!
//! Nothing here passes or fails: a shared machine gives other figures each time. Ratios within one run are worth more
//! than figures across runs.

#[cfg(feature = "cluster")]
mod cluster;
mod engine;
mod hostile;
mod http;
mod overload;
mod paid;
mod results;
mod server;

use super::Exit;
use super::show::say;
use clap::Subcommand;
use results::Results;
use std::path::PathBuf;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure the rules and the embedded engine in this process
    Engine(engine::EngineArgs),
    /// Measure the server over real HTTP, beside a bare one with the same serve loop
    Http(http::HttpArgs),
    /// Measure the whole way from the queue to the paid ticket
    Paid(paid::PaidArgs),
    /// Have hostile clients at a server with little memory and few files, beside buyers who behave
    Hostile(hostile::HostileArgs),
    /// Offer many times more holds than the server can take, while others pay
    Overload(overload::OverloadArgs),
    /// Measure the engine on Redis beside a plain script, on a throw-away server
    #[cfg(feature = "cluster")]
    Redis(cluster::ClusterArgs),
    /// Measure holds on PostgreSQL, on a throw-away server
    #[cfg(feature = "cluster")]
    Postgres(cluster::ClusterArgs),
    /// Measure the same job on the embedded engine, on Redis and on PostgreSQL
    #[cfg(feature = "cluster")]
    Compare(cluster::ClusterArgs),
    /// Run the bare server that `http` compares with
    #[command(hide = true)]
    Bare,
}

/// What all measurements share.
#[derive(clap::Args)]
struct Common {
    /// Where data is written while it runs; on a disk, or an fsync costs nothing [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Sizes and times as a share of the usual ones, for a quick look
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    scale: f64,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0001..=10.0).contains(&share) => Ok(share),
        _ => Err("use a number from 0.0001 to 10".into()),
    }
}

impl Common {
    /// A size, scaled.
    fn size(&self, full: u64) -> u64 {
        ((full as f64 * self.scale) as u64).max(1)
    }

    /// A time, scaled, but long enough to mean something.
    fn time(&self, seconds: f64) -> std::time::Duration {
        std::time::Duration::from_secs_f64((seconds * self.scale).max(0.2))
    }

    /// A directory of our own that is removed at the end.
    fn scratch(&self) -> Result<tempfile::TempDir, String> {
        let made = match &self.dir {
            Some(dir) => tempfile::tempdir_in(dir),
            None => tempfile::tempdir(),
        };
        made.map_err(|error| format!("no temporary directory: {error}"))
    }
}

/// Runs one measurement to its end, or until Ctrl-C: what it has made is removed either way.
fn measure<T>(measurement: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    super::runtime()?.block_on(async {
        tokio::select! {
            done = measurement => done,
            () = super::interrupted() => Err("interrupted".to_owned()),
        }
    })
}

/// Runs the measurements.
pub(crate) fn run(args: &BenchArgs) -> Exit {
    let results = match &args.what {
        What::Engine(args) => engine::run(args),
        What::Http(args) => http::run(args),
        What::Paid(args) => paid::run(args),
        What::Hostile(args) => hostile::run(args),
        What::Overload(args) => overload::run(args),
        #[cfg(feature = "cluster")]
        What::Redis(args) => cluster::redis(args),
        #[cfg(feature = "cluster")]
        What::Postgres(args) => cluster::postgres(args),
        #[cfg(feature = "cluster")]
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
