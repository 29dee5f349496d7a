//! The history of archived events goes from a cluster's archive into files; or why it cannot, in a
//! program that was built without clusters.

use crate::moved::Moved;
use onrush_base::config::Config;
use onrush_store::archive_file::ArchiveStep;
use std::path::Path;

/// Moves what can be moved into files in `dir`, while nodes may run. `on` is told of each step.
///
/// # Errors
/// Why it has stopped, as a sentence. Everything is whole, and what was done is done: asked again,
/// it goes on.
#[cfg(feature = "cluster")]
pub async fn move_history(
    config: &Config,
    dir: &Path,
    on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    use crate::cluster::history::{move_into_files, publishers_in};
    let settings = config.postgres.as_ref().ok_or("postgres: it is not configured")?;
    let ledger = crate::cluster::open_ledger(settings).await;
    let ledger = ledger.map_err(|error| error.to_string())?;
    move_into_files(&ledger, &publishers_in(config), dir, on).await
}

/// Moves nothing.
///
/// # Errors
/// Always: this program was built without Redis and PostgreSQL.
#[cfg(not(feature = "cluster"))]
pub async fn move_history(
    _config: &Config,
    _dir: &Path,
    _on: &mut (dyn FnMut(ArchiveStep) + Send),
) -> Result<Moved, String> {
    Err("this program was built without Redis and PostgreSQL; build it with --features cluster"
        .into())
}
