//! `onrush backup` and `onrush restore`: everything that a start needs, of one moment, while a server
//! sells; and the way back.
//!
//! ```text
//! data ── hold journal and ledger at one moment ─► copies ─► the start's own checks ─► manifest ─► a name
//! backup ── manifest and checksums ─► copies ─► the start's own checks ─► a name
//! ```
//!
//! docs/decisions/0038 says why it is done so.

mod check;
mod draft;
mod files;
mod put_back;
mod stop;
mod take;

use onrush_base::backup::Manifest;
use onrush_base::config::{Config, EngineName, LedgerName};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use serde::Serialize;
use std::path::{Path, PathBuf};
use stop::Stop;

/// What to back up.
#[derive(clap::Args)]
pub struct BackupArgs {
    /// The directory with the data; a server may be running on it [default: as the server's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the backup goes: a directory that is empty, or not there yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The server's configuration file
    #[arg(long, value_name = "FILE", env = "ONRUSH_CONFIG")]
    config: Option<PathBuf>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What to restore.
#[derive(clap::Args)]
pub struct RestoreArgs {
    /// The directory of a backup
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Where the data goes: a directory that is empty, or not there yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What was done. Its JSON is one line.
#[derive(Serialize)]
struct Done<'a> {
    to: &'a Path,
    decision: u64,
    decided_at: Option<&'a str>,
    taken_at: &'a str,
    followed: u64,
    open_sagas: u64,
    files: usize,
    bytes: u64,
    /// What is wrong with archive files in a backup, a sentence each.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a [String]>,
}

impl<'a> Done<'a> {
    fn new(to: &'a Path, manifest: &'a Manifest) -> Self {
        Self {
            to,
            decision: manifest.decision,
            decided_at: manifest.decided_at.as_deref(),
            taken_at: &manifest.taken_at,
            followed: manifest.followed,
            open_sagas: manifest.open_sagas,
            files: manifest.files.len(),
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            found: None,
        }
    }
}

/// Takes a backup; `version` says which program it is.
pub fn backup(args: &BackupArgs, version: &str) -> Exit {
    let made = data_of(args).and_then(|data| {
        let (manifest, found) = take::take(&data, &args.to, version)?;
        for what in &found {
            say(&format!(
                "warning: {what}, in {} and so in the backup; an event's history is nowhere else",
                data.display()
            ));
        }
        Ok((manifest, found))
    });
    let (manifest, found) = match made {
        Ok(made) => made,
        Err(stop) => return stop.say(),
    };
    let done = Done { found: Some(&found), ..Done::new(&args.to, &manifest) };
    if args.json {
        print_json(&done);
    } else {
        println!(
            "backed up to {}: {}; {} files, {} bytes, {} payments and refunds under way",
            args.to.display(),
            manifest.moment(),
            count(done.files as u64),
            count(done.bytes),
            count(done.open_sagas),
        );
    }
    Exit::Ok
}

/// The directory that has everything, if one has.
fn data_of(args: &BackupArgs) -> Result<PathBuf, Stop> {
    let config = Config::load_here(args.config.as_deref());
    let config = config.map_err(|error| Stop::Usage(error.to_string()))?;
    let elsewhere = match (config.engine, config.ledger) {
        (EngineName::Embedded, LedgerName::Sqlite) => None,
        (EngineName::Redis, LedgerName::Sqlite | LedgerName::Postgres) => Some(
            "by these settings everything is in PostgreSQL and Redis: back PostgreSQL up alone, by pg_dump \
             or point-in-time recovery, and Redis is filled again from it (docs/operating.md, \"A cluster\")",
        ),
        (EngineName::Embedded, LedgerName::Postgres) => Some(
            "by these settings the ledger is in PostgreSQL, and no backup has both at one moment: stop the \
             server, copy its directory and dump PostgreSQL (docs/operating.md, \"Backup\")",
        ),
    };
    match elsewhere {
        Some(why) => Err(Stop::Usage(why.into())),
        None => Ok(args.data.clone().unwrap_or(config.data)),
    }
}

/// Puts a backup into a directory of its own.
pub fn restore(args: &RestoreArgs) -> Exit {
    let manifest = match put_back::put_back(&args.from, &args.to) {
        Ok(manifest) => manifest,
        Err(stop) => return stop.say(),
    };
    if args.json {
        print_json(&Done::new(&args.to, &manifest));
    } else {
        let to = args.to.display();
        println!("restored to {to}: {}", manifest.moment());
        println!(
            "Nothing that happened after that is in it. What was sold since is free in it, and the gateway \
             may have money of it. {} payments and refunds were under way: the gateway is asked about them.",
            count(manifest.open_sagas),
        );
        println!(
            "Check-ins of the time since are lost with it, and so is that keys were retired or replaced (the \
             admin key, too), links withdrawn, visitors banned and buyers erased: do it again before anybody \
             is let in."
        );
        println!(
            "Next: onrush audit --data {to}; then docs/operating.md, \"After a restore\". The first start \
             needs --accept-restored={}, and every open sale is paused then.",
            manifest.decision,
        );
    }
    Exit::Ok
}

impl Stop {
    fn say(&self) -> Exit {
        match self {
            Self::Usage(why) => {
                say(&format!("error: {why}"));
                Exit::Usage
            }
            Self::Violation(why) => {
                say(&format!("error: {why}"));
                Exit::Violation
            }
            Self::CouldNotRun(why) => {
                say(&format!("error: {why}"));
                Exit::CouldNotRun
            }
        }
    }
}
