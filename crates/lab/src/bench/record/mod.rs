//! `onrush bench all` and `onrush bench against`: one document of everything, and two of them compared.

mod compare;
mod machine;
mod parts;

use super::common::Common;
use super::results::Results;
use compare::{Verdict, compare};
use jiff::Timestamp;
use machine::Machine;
use onrush_terminal::show::{print_json, say};
use parts::PARTS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What can be chosen.
#[derive(clap::Args)]
pub(super) struct AllArgs {
    /// Also write the document there
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Which documents.
#[derive(clap::Args)]
pub(super) struct AgainstArgs {
    /// What was measured before, as `bench all --to` wrote it
    before: PathBuf,
    /// What was measured now
    after: PathBuf,
}

/// Everything that one run measured.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    /// The program's, with its commit.
    version: String,
    /// When the run began, in UTC.
    begun_at: String,
    machine: Machine,
    /// Sizes and times as a share of the usual ones.
    scale: f64,
    /// By part and name; `null` is what could not be measured.
    figures: BTreeMap<String, Option<f64>>,
    /// The least and the most of the rounds of a figure.
    spreads: BTreeMap<String, [f64; 2]>,
}

/// Measures everything, and makes one document of it.
pub(super) fn all(args: &AllArgs, version: &str) -> Result<(), String> {
    let common = &args.common;
    let begun_at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let machine = Machine::look(common)?;
    if let Some(file) = &args.to {
        // Known before the first measurement, and not after the last.
        write(file, "{}")?;
    }
    let (mut results, scale) = (Results::new(common.json), common.scale);
    let (version, figures, spreads) = (version.to_owned(), BTreeMap::new(), BTreeMap::new());
    let mut record = Record { version, begun_at, machine, scale, figures, spreads };
    for (part, measure) in PARTS {
        results.begin(part);
        measure(common, &mut results)?;
        (record.figures, record.spreads) = results.so_far();
        // After each part, so that one which fails late takes nothing away.
        if let Some(file) = &args.to {
            let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
            write(file, &(text + "\n"))?;
        }
    }
    if let Some(file) = &args.to {
        say(&format!("written to {}", file.display()));
    }
    if common.json {
        print_json(&record);
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Result<Record, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        format!("{}: no document of `onrush bench all --to`: {error}", file.display())
    })
}

/// Says what became better or worse by more than noise.
pub(super) fn against(args: &AgainstArgs) -> Result<(), String> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    println!("before: {} on {}, {}", before.version, before.begun_at, before.machine);
    println!("after:  {} on {}, {}", after.version, after.begun_at, after.machine);
    if before.scale != after.scale {
        return Err(format!(
            "one was measured with --scale {}, the other with {}: measure both alike",
            before.scale, after.scale
        ));
    }
    let compared = compare(&before, &after);
    for moved in &compared {
        let what = match moved.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "WORSE",
            Verdict::Same => continue,
        };
        println!("{what:<7} {:<32} {} → {}", moved.name, moved.before, moved.after);
    }
    let count = |verdict| compared.iter().filter(|moved| moved.verdict == verdict).count();
    println!(
        "{} figures in both: {} better, {} worse, {} the same but for noise",
        compared.len(),
        count(Verdict::Better),
        count(Verdict::Worse),
        count(Verdict::Same),
    );
    Ok(())
}
