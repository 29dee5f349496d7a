//! Work that takes long or waits for a disk, beside the runtime's tasks.

use tokio::task::{JoinError, spawn_blocking};

/// Runs the work on a thread that may block. In a simulation it runs at once and in its turn: when a
/// thread is done is nobody's to deal.
///
/// # Errors
/// That the work panicked, or the runtime stopped before it began.
pub async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    #[cfg(feature = "simulated")]
    if crate::auth::chance::now_s().is_some() {
        return Ok(work());
    }
    spawn_blocking(work).await
}
