//! The parts of `onrush bench all`, each called as its subcommand.

#[cfg(feature = "servers")]
use super::super::cluster;
use super::super::common::Common;
use super::super::results::Results;
use super::super::server::this_program;
use super::super::{backup, engine, hostile, http, map, overload, paid};
use onrush_terminal::show::say;
use serde_json::{Map, Value};
use std::process::Stdio;

/// Measures a part as it is measured without a choice.
type Measure = fn(&Common, &mut Results) -> Result<(), String>;

/// All of them, in the order in which they are measured: last those that fail where something does not
/// hold that must.
pub(super) const PARTS: &[(&str, Measure)] = &[
    ("engine", |common, results| engine::run(&engine::EngineArgs::all(common), results)),
    ("http", |common, results| http::run(&http::HttpArgs::all(common), results)),
    ("map", |common, results| map::run(&map::MapArgs::all(common), results)),
    ("paid", |common, results| paid::run(&paid::PaidArgs::all(common), results)),
    #[cfg(feature = "servers")]
    ("redis", |common, results| cluster::redis(&cluster::ClusterArgs::all(common), results)),
    #[cfg(feature = "servers")]
    ("peers", |common, results| cluster::peers(&cluster::ClusterArgs::all(common), results)),
    #[cfg(feature = "servers")]
    ("nodes", |common, results| cluster::nodes(&cluster::ClusterArgs::all(common), results)),
    ("archive", |common, results| apart("archive", common, results)),
    ("backup", |common, results| backup::run(&backup::BackupArgs::all(common), results)),
    ("overload", |common, results| overload::run(&overload::OverloadArgs::all(common), results)),
    ("hostile", |common, results| match hostile::can_run() {
        true => hostile::run(&hostile::HostileArgs::all(common), results),
        false => {
            say("hostile clients are not measured: there is no prlimit on this machine");
            Ok(())
        }
    }),
];

/// Measures a part in a process of its own, so that what it reads of memory is not what is left of
/// the parts before.
fn apart(part: &str, common: &Common, results: &mut Results) -> Result<(), String> {
    let mut command = this_program()?;
    command.args(["bench", part, "--json", "--scale"]).arg(common.scale.to_string());
    if let Some(dir) = &common.dir {
        command.arg("--dir").arg(dir);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{part} was not measured: {error}"))?;
    if !output.status.success() {
        return Err(format!("{part} was not measured"));
    }
    take_in(&output.stdout, results).map_err(|error| format!("{part}: {error}"))
}

/// Takes in the figures that another process has printed.
fn take_in(printed: &[u8], results: &mut Results) -> Result<(), serde_json::Error> {
    let figures: Map<String, Value> = serde_json::from_slice(printed)?;
    for (name, value) in figures {
        results.figure(&name, value.as_f64().unwrap_or(f64::NAN));
        results.say(&format!("{name:<40} {value}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::BenchArgs;
    use super::*;
    use clap::Args as _;

    /// Subcommands that are no part: `peers` has the rows of `postgres`, and the others measure nothing
    /// of their own.
    const NO_PART: [&str; 4] = ["postgres", "all", "against", "bare"];

    #[test]
    fn every_measurement_is_a_part_of_all() {
        let bench = BenchArgs::augment_args(clap::Command::new("bench"));
        let mut measurements: Vec<&str> =
            bench.get_subcommands().map(clap::Command::get_name).collect();
        measurements.retain(|name| !NO_PART.contains(name));
        measurements.sort_unstable();
        let mut parts: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        parts.sort_unstable();
        assert_eq!(parts, measurements);
    }

    #[test]
    fn figures_of_another_process_are_taken_in() {
        let mut results = Results::new(true);
        results.begin("archive");
        take_in(br#"{"archive_kept_last_mib":132.7,"archive_took_s":null}"#, &mut results)
            .expect("figures");
        let (figures, _) = results.so_far();
        assert_eq!(figures["archive.archive_kept_last_mib"], Some(132.7));
        assert_eq!(figures["archive.archive_took_s"], None);
        assert!(take_in(b"error: no space", &mut Results::new(true)).is_err());
    }
}
