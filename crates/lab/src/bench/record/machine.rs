//! What a run was measured on.

use super::super::common::Common;
use super::super::results::median;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::time::Instant;

/// Writes that are timed.
const SYNCS: usize = 50;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// Its name, as the system tells it.
    processor: String,
    processors: u32,
    memory_mib: u64,
    system: String,
    /// The middle one of some: 4 KiB written and on the disk.
    fdatasync_ms: f64,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, processors, memory_mib, system, fdatasync_ms } = self;
        write!(
            f,
            "{processors} × {processor}, {memory_mib} MiB, {system}, fdatasync {fdatasync_ms} ms"
        )
    }
}

impl Machine {
    /// Looks at this one, and at the disk that is measured on.
    pub(super) fn look(common: &Common) -> Result<Self, String> {
        let told = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let value = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let memory = value(&told("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let memory_kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or(0);
        let processors = std::thread::available_parallelism().map_or(0, |count| count.get());
        let release = told("/proc/sys/kernel/osrelease");
        // What follows is who built it.
        let release = release.split('-').next().unwrap_or_default();
        Ok(Self {
            processor: value(&told("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            memory_mib: memory_kib / 1024,
            system: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
            fdatasync_ms: fdatasync_ms(common).map_err(|error| format!("the disk: {error}"))?,
        })
    }
}

fn fdatasync_ms(common: &Common) -> Result<f64, String> {
    let scratch = common.scratch()?;
    let text = |error: std::io::Error| error.to_string();
    let mut file = File::create(scratch.path().join("sync")).map_err(text)?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let begun = Instant::now();
        file.write_all(&[b'x'; 4096]).map_err(text)?;
        file.sync_data().map_err(text)?;
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok((median(times) * 1_000.0).round() / 1_000.0)
}
