//! `onrush archive`: the history of archived events goes from the journal into files.

use onrush_base::config::{Config, EngineName, LedgerName};
use onrush_store::embedded::{ArchiveReport, ArchiveStep, archive};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use std::path::{Path, PathBuf};

pub(super) const PROMISE: &str = "\
Each archived event's decisions go into archive/<event>.jsonl.gz, which is read back and compared before \
anything leaves the journal. Broken off, it is done again. `onrush audit --archive` reads the files; \
`onrush backup` copies them.

Exit codes: 0 all is well, 2 the command line is wrong, 3 it could not run.";

/// Which data.
#[derive(clap::Args)]
pub(crate) struct ArchiveArgs {
    /// The directory with the data; no server may be running on it [default: as the server's]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The server's configuration file
    #[arg(long, value_name = "FILE", env = "ONRUSH_CONFIG")]
    config: Option<PathBuf>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Writes the files.
pub(crate) fn run(args: &ArchiveArgs) -> Exit {
    let data = match data_of(args) {
        Ok(data) => data,
        Err(why) => {
            say(&format!("error: {why}"));
            return Exit::Usage;
        }
    };
    if let Err(why) = has_its_ledger(&data) {
        say(&format!("error: {why}"));
        return Exit::CouldNotRun;
    }
    let is_json = args.json;
    let mut on = |step: ArchiveStep| match step {
        ArchiveStep::Removed(event) if !is_json => {
            say(&format!("{event}: its history is in a file"))
        }
        ArchiveStep::Removed(_)
        | ArchiveStep::Drafted(_)
        | ArchiveStep::Written(_)
        | ArchiveStep::Removing(_)
        | ArchiveStep::Shrunk => {}
    };
    let report = match archive(&data, &mut on) {
        Ok(report) => report,
        Err(error) => {
            say(&format!("error: {error}"));
            return Exit::CouldNotRun;
        }
    };
    if args.json {
        print_json(&report);
    } else {
        tell(&report);
    }
    Exit::Ok
}

/// Where the journal is, if there is one.
fn data_of(args: &ArchiveArgs) -> Result<PathBuf, String> {
    let config = Config::load_here(args.config.as_deref()).map_err(|error| error.to_string())?;
    match (config.engine, config.ledger) {
        (EngineName::Embedded, LedgerName::Sqlite) => {
            Ok(args.data.clone().unwrap_or(config.data))
        }
        (EngineName::Embedded, LedgerName::Postgres) => Err(
            "by these settings the ledger is in PostgreSQL, and RabbitMQ and Kafka may still have to read \
             the history from the journal: it stays there"
                .into(),
        ),
        (EngineName::Redis, LedgerName::Sqlite | LedgerName::Postgres) => Err(
            "by these settings history is in PostgreSQL, and stays there; Redis gives the space of an \
             archived event back by itself"
                .into(),
        ),
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

fn tell(report: &ArchiveReport) {
    let ArchiveReport { archived, before, not_followed, journal_bytes_before, journal_bytes } =
        report;
    let decisions: u64 = archived.iter().map(|archived| archived.decisions).sum();
    let file_bytes: u64 = archived.iter().map(|archived| archived.file_bytes).sum();
    println!(
        "{} events and {} decisions went into files of {} bytes; {} were in files before; the journal has {} \
         bytes, and had {}",
        archived.len(),
        count(decisions),
        count(file_bytes),
        before,
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
