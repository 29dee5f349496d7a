//! Open files: each connection is one, and some are kept back from visitors.

use onrush_base::config::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that visitors never get: databases, gateways, the operator's listener, the log.
const KEPT_BACK: u64 = 2_000;
/// Connections that are wanted even where few streams are.
const LEAST_WANTED: u64 = 10_000;
/// What one address gets at least, as far as there is so much.
const LEAST_PER_ADDRESS: u32 = 256;
/// One address gets one part of so many; so do requests of what streams leave them.
const PARTS: u32 = 8;

/// How much of the public listener there is, and how much of it one address may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Connections at a time.
    pub connections: u32,
    /// Connections from one address.
    pub per_address: u32,
    /// Streams at a time. Requests always find connections that streams cannot have.
    pub streams: u32,
    /// Streams of one address.
    pub streams_per_address: u32,
}

impl Share {
    /// What the configuration wants and so many open files allow.
    #[must_use]
    pub fn of(config: &Config, files: u64) -> Self {
        let kept_back = KEPT_BACK.min(files / 4);
        let there = files.saturating_sub(kept_back).min(connections_wanted(config));
        let connections = u32::try_from(there).unwrap_or(u32::MAX).max(1);
        let for_streams = (connections - connections / (PARTS + 1)).max(1);
        let streams = u32::try_from(config.max_streams).unwrap_or(u32::MAX).min(for_streams);
        let part = |set: u32, all: u32| match set {
            0 => (all / PARTS).max(LEAST_PER_ADDRESS).min(all),
            set => set,
        };
        Self {
            connections,
            per_address: part(config.connections.connections_per_address, connections),
            streams,
            streams_per_address: part(config.connections.streams_per_address, streams),
        }
    }

    /// The same with the files that this process may open.
    #[must_use]
    pub fn of_this_process(config: &Config) -> Self {
        Self::of(config, getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }
}

fn connections_wanted(config: &Config) -> u64 {
    match config.connections.max_connections {
        0 => (config.max_streams as u64).saturating_mul(9).div_ceil(8).max(LEAST_WANTED),
        set => set.into(),
    }
}

/// How many files have to be open for everything that the configuration lets in.
#[must_use]
pub fn files_wanted(config: &Config) -> u64 {
    let wanted = connections_wanted(config);
    // A quarter is kept back of few files, and never more than a certain number.
    wanted.saturating_add(KEPT_BACK.min(wanted.div_ceil(3)))
}

/// What to tell the operator if fewer files may be open than that.
#[must_use]
pub fn shortage(config: &Config, files: u64) -> Option<String> {
    let wanted = files_wanted(config);
    if files >= wanted {
        return None;
    }
    let Share { connections, streams, .. } = Share::of(config, files);
    Some(format!(
        "only {files} files may be open, so {connections} connections are let in at a time, \
         {streams} of them streams; for what max_streams and max_connections say, allow {wanted} \
         (ulimit -n {wanted}, or LimitNOFILE={wanted})"
    ))
}

/// Raises the limit on open files to at least `wanted` if that is allowed, and says what it is now.
pub fn allow_open_files(wanted: u64) -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    // No limit at all is written as `None`.
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= wanted {
        return soft;
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < wanted {
        // Only a privileged process may raise its own ceiling; asking costs nothing.
        let raised = Rlimit { current: Some(wanted), maximum: Some(wanted) };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return wanted;
        }
    }
    limit.current = Some(wanted.min(hard));
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => wanted.min(hard),
        Err(_) => soft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(connections: u32, per_address: u32, streams: u32, streams_per_address: u32) -> Share {
        Share { connections, per_address, streams, streams_per_address }
    }

    #[test]
    fn visitors_never_get_all_files_and_streams_never_all_connections() {
        let config = Config::default();
        for (files, expected) in [
            (114_500, share(112_500, 14_062, 100_000, 12_500)),
            (1_000_000, share(112_500, 14_062, 100_000, 12_500)),
            (20_000, share(18_000, 2_250, 16_000, 2_000)),
            (1_200, share(900, 256, 800, 256)),
            (256, share(192, 192, 171, 171)),
            (0, share(1, 1, 1, 1)),
        ] {
            assert_eq!(Share::of(&config, files), expected, "{files} files");
        }
    }

    #[test]
    fn what_is_set_counts_as_far_as_files_go() {
        let mut config = Config { max_streams: 1, ..Config::default() };
        assert_eq!(Share::of(&config, u64::MAX), share(10_000, 1_250, 1, 1));
        config.connections.max_connections = 800;
        config.connections.connections_per_address = 20;
        config.connections.streams_per_address = 10;
        assert_eq!(Share::of(&config, u64::MAX), share(800, 20, 1, 10));
        assert_eq!(Share::of(&config, 1_000), share(750, 20, 1, 10));
    }

    #[test]
    fn a_shortage_of_files_is_told_with_the_number_that_would_do() {
        let mut config = Config::default();
        for max_connections in [0, 10, 3_000, 6_000, 200_000] {
            config.connections.max_connections = max_connections;
            let enough = files_wanted(&config);
            assert_eq!(shortage(&config, enough), None);
            let all = Share::of(&config, u64::MAX);
            assert_eq!(Share::of(&config, enough), all, "{max_connections}");
            let told = shortage(&config, enough - 1).expect("a sentence");
            assert!(told.contains(&format!("ulimit -n {enough}")), "{told}");
        }
        let told = shortage(&Config::default(), 1_024).expect("a sentence");
        assert!(told.contains("768 connections") && told.contains("683 of them streams"), "{told}");
    }
}
