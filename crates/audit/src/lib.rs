//! `onrush audit`: recomputes everything from the journal, compares it with the money, and says
//! what does not add up.

mod books;
mod borrowed;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod filed;
mod money;
mod receipts;
mod sold;
mod verdict;

use books::Journal;
use onrush_base::config::{Config, EngineName, LedgerName};
use onrush_core::ids::EventId;
use onrush_ledger::receipt::ReceiptRule;
use onrush_saga::Issuer;
use onrush_store::embedded::{self, AuditReport};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{count, print_json, say};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Violations of the money that are listed at most; all are counted.
const SHOWN: usize = 1_000;

/// What to audit.
#[derive(clap::Args)]
pub struct AuditArgs {
    /// The directory with the data; a server may be running on it
    #[arg(long, value_name = "DIR", env = "ONRUSH_DATA", default_value = "onrush-data")]
    data: PathBuf,
    /// The configuration of a cluster, whose servers are read instead of a directory
    #[arg(long, value_name = "FILE", env = "ONRUSH_CONFIG")]
    config: Option<PathBuf>,
    /// The sandbox gateway's directory, if it ran as a process of its own [default: `sandbox` in
    /// the data directory]
    #[arg(long, value_name = "DIR")]
    sandbox: Option<PathBuf>,
    /// Read the archive files, too: history that archived events have there is judged as if it were
    /// in the journal. A cluster's lie in DIR; one process has them in `archive` of its data directory
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "how clap says that a value may be left out")]
    archive: Option<Option<PathBuf>>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// The result. Its JSON is one line.
#[derive(Serialize)]
pub struct Report {
    /// How many violations there are.
    pub violations: u64,
    /// One sentence each, a thousand at most.
    pub found: Vec<String>,
    /// Decisions read.
    pub decisions: u64,
    /// Changes in them.
    pub changes: u64,
    /// Events they belong to.
    pub events: usize,
    /// Snapshots that were compared.
    pub snapshots: usize,
    /// Archive files that were read.
    pub archive_files: usize,
    /// Events whose history is in archive files, and was not read.
    pub unread: Vec<EventId>,
    /// Units confirmed or claimed in the end, but for those of events whose history was not read.
    pub sold: u64,
    /// Units that were taken from a pool beyond its capacity.
    pub oversold: u64,
    /// How often a seat went to a second booking while the first one had it.
    pub seats_sold_twice: u64,
    /// Admissions out of turn.
    pub fifo_violations: u64,
    /// The money, if anything was ever to be paid.
    #[serde(flatten)]
    money: Option<money::Money>,
}

impl AuditArgs {
    /// The directory of one process, and what is printed of it.
    #[must_use]
    pub fn of(data: &Path, json: bool) -> Self {
        Self { data: data.to_owned(), config: None, sandbox: None, archive: None, json }
    }

    /// The same with all archive files.
    #[must_use]
    pub fn with_archive(self) -> Self {
        Self { archive: Some(None), ..self }
    }
}

/// Recomputes everything.
///
/// # Errors
/// A sentence, if something cannot be read; what does not add up is in the report.
pub fn audit(args: &AuditArgs) -> Result<Report, String> {
    let mut found = Vec::new();
    let (mut audit, money) = read_books(args, &mut found)?;
    audit.violation_count += found.len() as u64;
    audit.violations.extend(found.into_iter().take(SHOWN));
    Ok(Report {
        violations: audit.violation_count,
        found: audit.violations,
        decisions: audit.seq.0,
        changes: audit.changes,
        events: audit.events,
        snapshots: audit.snapshots,
        archive_files: audit.archive_files,
        unread: audit.unread,
        sold: audit.sold,
        oversold: audit.oversold,
        seats_sold_twice: audit.seats_sold_twice,
        fifo_violations: audit.fifo_violations,
        money,
    })
}

/// Runs the audit, and prints what it found.
pub fn run(args: &AuditArgs) -> Exit {
    let report = match audit(args) {
        Ok(report) => report,
        Err(error) => {
            say(&format!("error: {error}"));
            return Exit::CouldNotRun;
        }
    };
    if args.json {
        print_json(&report);
    } else {
        for violation in &report.found {
            println!("VIOLATION: {violation}");
        }
        println!(
            "{} violations in {} decisions ({} changes, {} events, {} snapshots); {} units sold",
            count(report.violations),
            count(report.decisions),
            count(report.changes),
            count(report.events as u64),
            count(report.snapshots as u64),
            count(report.sold)
        );
        if report.archive_files > 0 {
            println!("with the history of {} events in archive files", report.archive_files);
        }
        if !report.unread.is_empty() {
            let mut names: Vec<&str> = report.unread.iter().map(EventId::as_str).collect();
            names.sort_unstable();
            println!(
                "not read: the history of {} events, which is in archive files (--archive reads it): {}",
                names.len(),
                names.join(", ")
            );
        }
        if let Some(money) = &report.money {
            for noticed in money.noticed.iter().take(SHOWN) {
                println!("NOTICED: {noticed}");
            }
            println!("{money}");
        }
    }
    if report.violations == 0 { Exit::Ok } else { Exit::Violation }
}

type Audited = (AuditReport, Option<money::Money>);

/// Audits the money, if there is a ledger, and then the feed: the sale may be running, and whoever
/// reads that all sagas are at their end must find what they sold among the units sold.
fn read_books(args: &AuditArgs, found: &mut Vec<String>) -> Result<Audited, String> {
    let Some(file) = &args.config else { return read_files(&args.data, None, args, found) };
    let config = Config::load_here(Some(file)).map_err(|error| error.to_string())?;
    match (config.engine, config.ledger) {
        (EngineName::Embedded, LedgerName::Sqlite) => {
            read_files(&config.data, rule_of(&config)?, args, found)
        }
        (EngineName::Embedded, LedgerName::Postgres) => {
            let (mut journal, audit) = read_journal(&config.data, args)?;
            let money = read_ledger(&config, args, &mut journal, found)?;
            Ok((audit()?, Some(money)))
        }
        (EngineName::Redis, LedgerName::Sqlite | LedgerName::Postgres) => {
            read_servers(&config, args, found)
        }
    }
}

/// Which payments have receipts, if there is a seller who issues any.
fn rule_of(config: &Config) -> Result<Option<ReceiptRule>, String> {
    let issuer = config.seller.as_ref().map(|seller| Issuer::of(seller, config.gateway));
    Ok(issuer.transpose()?.map(|issuer| issuer.rule()))
}

fn read_files(
    data: &Path,
    rule: Option<ReceiptRule>,
    args: &AuditArgs,
    found: &mut Vec<String>,
) -> Result<Audited, String> {
    let (mut journal, audit) = read_journal(data, args)?;
    let money = match journal.ledger_beside(found)? {
        None => None,
        Some(mut ledger) => {
            let own = data.join("sandbox");
            let sandbox = args.sandbox.as_deref().unwrap_or(&own);
            Some(money::audit(&mut journal, &mut ledger, Some(sandbox), rule, found)?)
        }
    };
    Ok((audit()?, money))
}

/// The journal in a directory for the audit of the money, and the audit of the feed to come after it.
fn read_journal<'a>(
    data: &'a Path,
    args: &AuditArgs,
) -> Result<(Journal, impl FnOnce() -> Result<AuditReport, String> + use<'a>), String> {
    if let Some(Some(dir)) = &args.archive {
        return Err(format!(
            "--archive {}: one process has its archive files in {}; put them there, and leave the \
             directory out",
            dir.display(),
            data.join("archive").display()
        ));
    }
    let with_archive = args.archive.is_some();
    let audit = move || {
        let audit =
            if with_archive { embedded::audit_with_archive(data) } else { embedded::audit(data) };
        audit.map_err(|error| error.to_string())
    };
    Ok((Journal::in_dir(data, with_archive), audit))
}

/// Audits the money by a ledger in PostgreSQL and the journal of one process.
#[cfg(feature = "cluster")]
fn read_ledger(
    config: &Config,
    args: &AuditArgs,
    journal: &mut Journal,
    found: &mut Vec<String>,
) -> Result<money::Money, String> {
    let own = config.data.join("sandbox");
    let sandbox = args.sandbox.as_deref().unwrap_or(&own);
    let mut ledger = cluster::SharedLedger::open(config)?;
    money::audit(journal, &mut ledger, Some(sandbox), rule_of(config)?, found)
}

#[cfg(feature = "cluster")]
fn read_servers(
    config: &Config,
    args: &AuditArgs,
    found: &mut Vec<String>,
) -> Result<Audited, String> {
    let dir = match &args.archive {
        None => None,
        Some(Some(dir)) => Some(dir.as_path()),
        Some(None) => {
            return Err(
                "--archive: name the directory that `onrush archive --to` wrote into".into()
            );
        }
    };
    let mut ledger = cluster::SharedLedger::open(config)?;
    let mut archive = cluster::Archive::open(&ledger, dir, found)?;
    let sandbox = args.sandbox.as_deref();
    let money = money::audit(&mut archive, &mut ledger, sandbox, rule_of(config)?, found)?;
    let audit = cluster::audit_feed(archive, config)?;
    Ok((audit, Some(money)))
}

#[cfg(not(feature = "cluster"))]
const WITHOUT_SERVERS: &str =
    "this program was built without Redis and PostgreSQL; build it with --features cluster";

#[cfg(not(feature = "cluster"))]
fn read_ledger(
    _: &Config,
    _: &AuditArgs,
    _: &mut Journal,
    _: &mut Vec<String>,
) -> Result<money::Money, String> {
    Err(WITHOUT_SERVERS.into())
}

#[cfg(not(feature = "cluster"))]
fn read_servers(_: &Config, _: &AuditArgs, _: &mut Vec<String>) -> Result<Audited, String> {
    Err(WITHOUT_SERVERS.into())
}
