//! What all measurements share.

use onrush_terminal::process::{interrupted, runtime};
use std::path::PathBuf;

/// What all measurements share.
#[derive(Clone, clap::Args)]
pub(super) struct Common {
    /// Where data is written while it runs; on a disk, or an fsync costs nothing [default: the
    /// system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Sizes and times as a share of the usual ones, for a quick look
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = share)]
    pub(super) scale: f64,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0001..=10.0).contains(&share) => Ok(share),
        _ => Err("use a number from 0.0001 to 10".into()),
    }
}

impl Common {
    /// A size, scaled.
    pub(super) fn size(&self, full: u64) -> u64 {
        ((full as f64 * self.scale) as u64).max(1)
    }

    /// A time, scaled, but long enough to mean something.
    pub(super) fn time(&self, seconds: f64) -> std::time::Duration {
        std::time::Duration::from_secs_f64((seconds * self.scale).max(0.2))
    }

    /// A directory of our own that is removed at the end.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, String> {
        let made = match &self.dir {
            Some(dir) => tempfile::tempdir_in(dir),
            None => tempfile::tempdir(),
        };
        made.map_err(|error| format!("no temporary directory: {error}"))
    }
}

/// Runs one measurement to its end, or until Ctrl-C: what it has made is removed either way.
pub(super) fn measure<T>(
    measurement: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    runtime()?.block_on(async {
        tokio::select! {
            done = measurement => done,
            () = interrupted() => Err("interrupted".to_owned()),
        }
    })
}
