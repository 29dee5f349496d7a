//! `onrush kit-worker`: returns the stock of the script kit's holds that have run out, for programs
//! whose client is not Rust.

use super::certificates::{CertificateArgs, said};
use onrush_server::kit::{EXPIRY_INDEX, KitWorker};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub(super) const EXIT_CODES: &str = "\
Any number of workers may look after the same Redis. While it is away they try again every second. \
docs/script-kit.md says more.

Exit codes: 0 stopped as asked, 2 the command line is wrong, 3 it could not run.";

/// Which Redis, and what is in it.
#[derive(clap::Args)]
pub(crate) struct KitWorkerArgs {
    /// Redis, or some nodes of a cluster; rediss:// speaks TLS
    #[arg(
        long,
        value_name = "URL",
        env = "ONRUSH_REDIS__URLS",
        hide_env_values = true,
        value_delimiter = ',',
        required_unless_present = "redis_file"
    )]
    redis: Vec<String>,
    /// The same out of a file, so that a password is in no list of processes
    #[arg(long, value_name = "FILE", env = "ONRUSH_REDIS__URLS_FILE", conflicts_with = "redis")]
    redis_file: Option<PathBuf>,
    /// It is a Redis Cluster
    #[arg(long)]
    cluster: bool,
    /// Sentinels, if they say which server is the master: the host of --redis is its name then
    #[arg(
        long,
        value_name = "URL",
        env = "ONRUSH_REDIS__SENTINELS",
        hide_env_values = true,
        value_delimiter = ','
    )]
    sentinels: Vec<String>,
    /// The same out of a file
    #[arg(
        long,
        value_name = "FILE",
        env = "ONRUSH_REDIS__SENTINELS_FILE",
        conflicts_with = "sentinels"
    )]
    sentinels_file: Option<PathBuf>,
    #[command(flatten)]
    certificates: CertificateArgs,
    /// The key of an expiry index, if `reserve_seats` is given another one; may come several times,
    /// and on a cluster once for each event
    #[arg(long = "index", value_name = "KEY", default_value = EXPIRY_INDEX)]
    indexes: Vec<String>,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "ONRUSH_LOG", default_value = "info")]
    log: tracing::level_filters::LevelFilter,
}

/// Runs the worker until it is told to stop.
pub(crate) fn run(args: &KitWorkerArgs) -> Exit {
    tracing_subscriber::fmt()
        .with_max_level(args.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let worker = match worker(args) {
        Ok(worker) => worker,
        Err(why) => {
            say(&format!("error: {why}"));
            return Exit::Usage;
        }
    };
    let ran = onrush_terminal::process::runtime().and_then(|runtime| {
        let run = async { worker.run(onrush_terminal::process::interrupted()).await };
        runtime.block_on(run).map_err(|why| on_command_line(&why))
    });
    match ran {
        Ok(()) => Exit::Ok,
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}

fn worker(args: &KitWorkerArgs) -> Result<KitWorker, String> {
    let is_tagged = |index: &&String| {
        let tag = index.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        tag.is_some_and(|(tag, _)| !tag.is_empty())
    };
    if let Some(index) = args.indexes.iter().find(|index| args.cluster && !is_tagged(index)) {
        return Err(format!(
            "--index: on a cluster no event can use {index}; name each event's own, with the event \
             in braces: --index 'expiries:{{gala}}' --index 'expiries:{{fair}}'"
        ));
    }
    let urls = match &args.redis_file {
        Some(file) => addresses("--redis-file", file)?,
        None => args.redis.clone(),
    };
    let sentinels = match &args.sentinels_file {
        Some(file) => addresses("--sentinels-file", file)?,
        None => args.sentinels.clone(),
    };
    Ok(KitWorker {
        urls,
        is_cluster: args.cluster,
        sentinels,
        certificates: args.certificates.load()?,
        indexes: args.indexes.clone(),
    })
}

/// Addresses in a file, with commas between them.
fn addresses(flag: &str, file: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{flag}: {}: {error}", file.display()))?;
    Ok(text.trim().split(',').map(|url| url.trim().to_owned()).collect())
}

/// A sentence that names settings of the server as one about the command line.
fn on_command_line(why: &str) -> String {
    said(why)
        .replace("redis.--", "--")
        .replace("redis.urls", "--redis")
        .replace("redis.sentinels", "--sentinels")
}
