//! Sagas that nobody drives any more: at the start, and at each step's own deadline.

use super::sagas::Sagas;
use onrush_core::ids::BookingId;
use onrush_core::saga::Step;
use onrush_ledger::saga::SagaFilter;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sagas read from the ledger at a time.
const PAGE: usize = 1_024;
/// Sagas that one of several nodes takes up at a time: the others want some too.
const SHARED_PAGE: usize = 64;
/// The system's clock may be set forward meanwhile, so the ledger is looked at at least this often.
const LONGEST_SLEEP_MS: i64 = 60_000;
/// Another node may die before it drives what it made due, and nobody else hears of that.
const LONGEST_SHARED_SLEEP_MS: i64 = 1_000;
/// How long to wait for sagas that are due and are being driven already, at most.
const BUSY_MS: i64 = 100;
/// How long to wait for a ledger that does not answer.
const LEDGER_PAUSE: Duration = Duration::from_secs(1);

/// Drives what is due, until told to stop.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    let driven = Arc::new(Mutex::new(HashSet::new()));
    let asking = tokio::spawn(ask_about_all(sagas.clone(), driven.clone()));
    drive_what_is_due(&sagas, &driven).await;
    // It ends as soon as it sees that everything is stopping.
    drop(asking.await);
}

async fn drive_what_is_due(sagas: &Arc<Sagas>, driven: &Arc<Mutex<HashSet<BookingId>>>) {
    let limit = if sagas.cluster.is_some() { SHARED_PAGE } else { PAGE };
    while !sagas.is_stopping() {
        // Those that are being driven are due until they are done, and come first.
        let limit = limit + driven.lock().unwrap_or_else(PoisonError::into_inner).len();
        let page = match sagas.ledger.due(sagas.now(), limit).await {
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
            let Ok(permit) = sagas.at_a_time.clone().acquire_owned().await else { return };
            begun |= spawn(sagas, driven, booking, permit);
        }
        if !begun {
            wait(sagas, busy).await;
        }
    }
}

/// Looks at every payment that was under way when the process started: messages may have been lost
/// meanwhile.
///
/// It takes at most half of what may be driven at a time: a gateway that hangs must not keep the
/// others waiting.
async fn ask_about_all(sagas: Arc<Sagas>, driven: Arc<Mutex<HashSet<BookingId>>>) {
    let share = Arc::new(Semaphore::new(sagas.patience.at_a_time.div_ceil(2)));
    let begun = sagas.now();
    let mut filter = SagaFilter { step: Some(Step::PaymentSent), ..SagaFilter::default() };
    loop {
        let page = match sagas.ledger.sagas(filter.clone(), PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error,
                    "payments under way cannot be looked up; each is asked about in its time");
                return;
            }
        };
        for saga in page.rows {
            // The longest unchanged come first, so what was begun or looked at since is the end.
            if saga.updated_at >= begun || sagas.is_stopping() {
                return;
            }
            let Ok(permit) = share.clone().acquire_owned().await else { return };
            spawn(&sagas, &driven, saga.booking, permit);
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return,
        }
    }
}

/// Drives one saga beside the others, and gives the permit back; false if it is being driven already.
fn spawn(
    sagas: &Arc<Sagas>,
    driven: &Arc<Mutex<HashSet<BookingId>>>,
    booking: BookingId,
    permit: OwnedSemaphorePermit,
) -> bool {
    if !driven.lock().unwrap_or_else(PoisonError::into_inner).insert(booking.clone()) {
        return false;
    }
    let (sagas, begun) = (sagas.clone(), Driven { all: driven.clone(), booking: booking.clone() });
    tokio::spawn(async move {
        let done = sagas.drive(&booking, true).await;
        drop(permit);
        if let Err(error) = done {
            tracing::warn!(%booking, ?error, "a saga could not be driven");
            // It is due as before, and must not be tried without a pause.
            tokio::time::sleep(LEDGER_PAUSE).await;
        }
        drop(begun);
        sagas.due.notify_one();
    });
    true
}

/// A saga that is being driven, until this is dropped: also by a panic, after which it is due as before.
struct Driven {
    all: Arc<Mutex<HashSet<BookingId>>>,
    booking: BookingId,
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.booking);
    }
}

/// Waits until something may be due.
async fn wait(sagas: &Sagas, busy: bool) {
    // Until it is known when to wake, every write rings.
    sagas.wakes_at.store(i64::MAX, Ordering::SeqCst);
    let shared = sagas.cluster.is_some();
    let longest_ms = if shared { LONGEST_SHARED_SLEEP_MS } else { LONGEST_SLEEP_MS };
    let at = match sagas.ledger.next_due().await {
        Ok(Some(at)) => at,
        Ok(None) | Err(_) => sagas.now().plus_ms(longest_ms),
    };
    // What is due and is being driven rings when it is done.
    let shortest_ms = if busy { BUSY_MS } else { 1 };
    let ms = at.since_ms(sagas.now()).clamp(shortest_ms, longest_ms);
    sagas.wakes_at.store(sagas.now().plus_ms(ms).0, Ordering::SeqCst);
    let sleep = tokio::time::sleep(Duration::from_millis(ms.unsigned_abs()));
    tokio::select! {
        biased;
        () = sleep => {}
        () = sagas.due.notified() => {}
    }
}
