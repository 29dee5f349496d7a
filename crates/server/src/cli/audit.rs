//! `onrush audit`: recomputes everything from the journal and says what does not add up.

use super::Exit;
use super::show::{count, print_json, say};
use serde::Serialize;
use std::path::PathBuf;

/// What to audit.
#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    /// The directory with the data; a server may be running on it
    #[arg(long, value_name = "DIR", env = "ONRUSH_DATA", default_value = "onrush-data")]
    data: PathBuf,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// The result. Its JSON is one line.
#[derive(Serialize)]
struct Report<'a> {
    /// How many violations there are.
    violations: usize,
    /// One sentence each.
    found: &'a [String],
    /// Decisions read.
    decisions: u64,
    /// Changes in them.
    changes: u64,
    /// Events they belong to.
    events: usize,
    /// The last decision of the snapshot that was compared, if there is one.
    snapshot: Option<u64>,
}

/// Runs the audit.
pub(crate) fn run(args: &AuditArgs) -> Exit {
    let audit = match onrush_store::audit(&args.data) {
        Ok(audit) => audit,
        Err(error) => {
            say(&format!("error: {error}"));
            return Exit::CouldNotRun;
        }
    };
    let report = Report {
        violations: audit.violations.len(),
        found: &audit.violations,
        decisions: audit.decisions,
        changes: audit.changes,
        events: audit.events,
        snapshot: audit.snapshot,
    };
    if args.json {
        print_json(&report);
    } else {
        for violation in report.found {
            println!("VIOLATION: {violation}");
        }
        println!(
            "{} violations in {} decisions ({} changes, {} events)",
            count(report.violations as u64),
            count(report.decisions),
            count(report.changes),
            count(report.events as u64)
        );
    }
    if report.violations == 0 { Exit::Ok } else { Exit::Violation }
}
