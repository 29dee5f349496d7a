//! The process: its threads, and what ends it.

use std::future::poll_fn;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A runtime for everything that talks to others.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads: {error}"))
}

/// Waits for Ctrl-C, or for the request to end that a service manager sends. Either is heard from
/// this call on, and ends the process no longer by itself: call it before you say that you run.
///
/// # Panics
/// Outside of a runtime.
pub fn interrupted() -> impl Future<Output = ()> + Send + 'static {
    // A kind that cannot be caught ends the process, as it did before.
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let mut caught: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    poll_fn(move |context| {
        let came = caught.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if came { Poll::Ready(()) } else { Poll::Pending }
    })
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
