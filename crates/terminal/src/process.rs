//! The process: its threads, and what ends it.

/// A runtime for everything that talks to others.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads: {error}"))
}

/// Waits for Ctrl-C, or for the request to end that a service manager sends.
pub async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        // Without it, Ctrl-C is still there.
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Waits for the end of the input, which comes at the latest when the process that writes it is gone.
pub async fn input_ended() {
    // Reading blocks, so it has a thread; it ends with the process at the latest.
    let (ended, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Whatever goes wrong while reading, there is no more to come.
        drop(std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()));
        // Nobody may be waiting any more.
        let _ = ended.send(());
    });
    drop(wait.await);
}
