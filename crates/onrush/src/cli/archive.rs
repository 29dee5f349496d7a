//! `onrush archive`: the history of archived events goes into files, from an embedded engine's journal
//! while no server runs, or from a cluster's PostgreSQL while nodes sell.

mod cluster;

use onrush_base::config::{Config, EngineName, LedgerName};
use onrush_store::archive_file::ArchivedEvent;
use onrush_store::embedded::{ArchiveReport, ArchiveStep, archive};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use std::path::{Path, PathBuf};

pub(super) const PROMISE: &str = "\
Each archived event's decisions go into a file, <event>.jsonl.gz, which is read back and compared before \
anything leaves the journal or PostgreSQL. Broken off, it is done again. `onrush audit --archive` reads the \
files; `onrush backup` copies those of one process.

Exit codes: 0 all is well, 2 the command line is wrong, 3 it could not run.";

/// Which data.
#[derive(clap::Args)]
pub(crate) struct ArchiveArgs {
    /// The directory with the data of one process; no server may be running on it [default: as the
    /// server's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server's configuration file
    #[arg(long, value_name = "FILE", env = "ONRUSH_CONFIG")]
    config: Option<PathBuf>,
    /// Where the files of a cluster go, always the same; nodes may be running
    #[arg(long, value_name = "DIR", conflicts_with = "data")]
    to: Option<PathBuf>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Writes the files.
pub(crate) fn run(args: &ArchiveArgs) -> Exit {
    let place = Config::load_here(args.config.as_deref())
        .map_err(|error| error.to_string())
        .and_then(|config| place_of(args, config));
    let moved = match place {
        Ok(Place::Directory(data)) => of_process(args, &data),
        Ok(Place::Servers(config, to)) => of_cluster(args, &config, &to),
        Err(why) => {
            say(&format!("error: {why}"));
            return Exit::Usage;
        }
    };
    match moved {
        Ok(()) => Exit::Ok,
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}

/// Where history is.
enum Place {
    /// In a data directory.
    Directory(PathBuf),
    /// In these settings' PostgreSQL, and it goes into this directory.
    Servers(Box<Config>, PathBuf),
}

fn place_of(args: &ArchiveArgs, config: Config) -> Result<Place, String> {
    match (config.engine, config.ledger) {
        (EngineName::Embedded, LedgerName::Sqlite) if args.to.is_some() => Err(
            "--to: by these settings one process has all its data in a directory, and its files go \
             into `archive` there: leave it out, or name a cluster's settings by --config"
                .into(),
        ),
        (EngineName::Embedded, LedgerName::Sqlite) => {
            Ok(Place::Directory(args.data.clone().unwrap_or(config.data)))
        }
        (EngineName::Embedded, LedgerName::Postgres) => Err(
            "by these settings the ledger is in PostgreSQL, and RabbitMQ and Kafka may still have to read \
             the history from the journal: it stays there"
                .into(),
        ),
        (EngineName::Redis, LedgerName::Sqlite | LedgerName::Postgres) => match &args.to {
            Some(to) => Ok(Place::Servers(Box::new(config), to.clone())),
            None => Err("by these settings history is in PostgreSQL: name the directory that it goes \
                         into, by --to, and leave --data out"
                .into()),
        },
    }
}

fn of_process(args: &ArchiveArgs, data: &Path) -> Result<(), String> {
    has_its_ledger(data)?;
    let mut on = telling(args);
    let report = archive(data, &mut on).map_err(|error| error.to_string())?;
    if args.json {
        print_json(&report);
    } else {
        tell(&report);
    }
    Ok(())
}

fn of_cluster(args: &ArchiveArgs, config: &Config, to: &Path) -> Result<(), String> {
    let report = cluster::move_files(config, to, &mut telling(args))?;
    if args.json {
        print_json(&report);
    } else {
        report.tell();
    }
    Ok(())
}

/// Says which event's history is in a file, unless JSON is wanted.
fn telling(args: &ArchiveArgs) -> impl FnMut(ArchiveStep) + Send {
    let is_json = args.json;
    move |step| match step {
        ArchiveStep::Removed(event) if !is_json => {
            say(&format!("{event}: its history is in a file"))
        }
        ArchiveStep::Removed(_)
        | ArchiveStep::Drafted(_)
        | ArchiveStep::Written(_)
        | ArchiveStep::Removing(_)
        | ArchiveStep::Shrunk => {}
    }
}

/// Says no to a journal whose ledger is elsewhere: others may read it, too, and nobody knows how far.
fn has_its_ledger(data: &Path) -> Result<(), String> {
    let ledger = data.join("ledger.db");
    if ledger.exists() || !data.join("engine.db").exists() {
        return Ok(());
    }
    Err(format!(
        "{}: it is missing, and a journal whose ledger is elsewhere keeps its history: put it back, or \
         name the directory that has both",
        ledger.display()
    ))
}

/// What went into files, as a part of a sentence.
fn summed(archived: &[ArchivedEvent], before: usize) -> String {
    let decisions: u64 = archived.iter().map(|archived| archived.decisions).sum();
    let file_bytes: u64 = archived.iter().map(|archived| archived.file_bytes).sum();
    format!(
        "{} events and {} decisions went into files of {} bytes; {before} were in files before",
        archived.len(),
        count(decisions),
        count(file_bytes),
    )
}

fn tell(report: &ArchiveReport) {
    let ArchiveReport { archived, before, not_followed, journal_bytes_before, journal_bytes } =
        report;
    println!(
        "{}; the journal has {} bytes, and had {}",
        summed(archived, *before),
        count(*journal_bytes),
        count(*journal_bytes_before),
    );
    for event in not_followed {
        println!(
            "{event} stays in the journal: the ledger has not followed it to its end; start the server, stop \
             it a second later, and try again"
        );
    }
}
