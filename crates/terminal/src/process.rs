//! The process: its threads, and what ends it.

/// A runtime for everything that talks to others.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads: {error}"))
}

/// Waits for Ctrl-C, or for the request to end that a service manager sends. From this call on, within
/// a runtime, neither ends the process by itself: call it before saying that the process is ready.
pub fn interrupted() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let listened = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        let [interrupt, terminate] = listened.map(|listened| async {
            match listened {
                Ok(mut signal) => drop(signal.recv().await),
                // The other one is still there.
                Err(_) => std::future::pending().await,
            }
        });
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
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
