//! Sagas that nobody drives any more: at the start, and at each step's own deadline (S1.4).

use super::Sagas;
use onrush_core::ids::BookingId;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Sagas read from the ledger at a time.
const PAGE: usize = 1_024;
/// The system's clock may be set forward meanwhile, so the ledger is looked at at least this often.
const LONGEST_SLEEP_MS: i64 = 60_000;
/// How long to wait for sagas that are due and are being driven already, at most.
const BUSY_MS: i64 = 100;
/// How long to wait for a ledger that does not answer.
const LEDGER_PAUSE: Duration = Duration::from_secs(1);

/// Drives what is due, until told to stop.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    let driven = Arc::new(Mutex::new(HashSet::new()));
    while !sagas.is_stopping() {
        let page = match sagas.ledger.due(sagas.now(), PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "sagas cannot be looked up");
                tokio::time::sleep(LEDGER_PAUSE).await;
                continue;
            }
        };
        let (mut begun, busy) = (false, !page.is_empty());
        for booking in page {
            if sagas.is_stopping() {
                return;
            }
            begun |= spawn(&sagas, &driven, booking).await;
        }
        if !begun {
            wait(&sagas, busy).await;
        }
    }
}

/// Drives one saga beside the others; false if it is being driven.
async fn spawn(
    sagas: &Arc<Sagas>,
    driven: &Arc<Mutex<HashSet<BookingId>>>,
    booking: BookingId,
) -> bool {
    let set = || driven.lock().unwrap_or_else(PoisonError::into_inner);
    if set().contains(&booking) {
        return false;
    }
    let Ok(permit) = sagas.at_a_time.clone().acquire_owned().await else { return false };
    set().insert(booking.clone());
    let (sagas, driven) = (sagas.clone(), driven.clone());
    tokio::spawn(async move {
        if let Err(error) = sagas.drive(&booking, true).await {
            tracing::warn!(%booking, ?error, "a saga could not be driven");
            // It is due as before, and must not be tried without a pause.
            tokio::time::sleep(LEDGER_PAUSE).await;
        }
        driven.lock().unwrap_or_else(PoisonError::into_inner).remove(&booking);
        drop(permit);
        sagas.due.notify_one();
    });
    true
}

/// Waits until something may be due.
async fn wait(sagas: &Sagas, busy: bool) {
    // Until it is known when to wake, every write rings.
    sagas.wakes_at.store(i64::MAX, Ordering::SeqCst);
    let at = match sagas.ledger.next_due().await {
        Ok(Some(at)) => at,
        Ok(None) | Err(_) => sagas.now().plus_ms(LONGEST_SLEEP_MS),
    };
    // What is due and is being driven rings when it is done.
    let shortest_ms = if busy { BUSY_MS } else { 1 };
    let ms = at.since_ms(sagas.now()).clamp(shortest_ms, LONGEST_SLEEP_MS);
    sagas.wakes_at.store(sagas.now().plus_ms(ms).0, Ordering::SeqCst);
    let sleep = tokio::time::sleep(Duration::from_millis(ms.unsigned_abs()));
    tokio::select! {
        () = sleep => {}
        () = sagas.due.notified() => {}
    }
}
