//! The latest reading of something that many ask for at once.
//!
//! However many ask, one reading at a time runs, and one answers all who asked before it began:
//! nobody is told anything older than their question, and what is read is asked no more for a
//! crowd than for one.

use std::future::Future;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// The engine spends at most one part in so many on one reading after the other.
const PARTS: u32 = 16;
/// The longest pause between two of them: one that took long may have waited, and not worked.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What was read last, or why nothing was.
pub(super) struct Latest<T, E> {
    /// Whoever has it reads.
    reading: Mutex<Option<Reading<E>>>,
    known: StdMutex<Option<Arc<T>>>,
}

/// The last reading.
struct Reading<E> {
    began: Instant,
    ended: Instant,
    failed: Option<E>,
}

impl<T, E> Default for Latest<T, E> {
    fn default() -> Self {
        Self { reading: Mutex::new(None), known: StdMutex::new(None) }
    }
}

impl<T, E: Clone> Latest<T, E> {
    /// What somebody is told who asks now: another's reading, if it began after this question; the
    /// last one, if `is_good` says that it will do; or what `read` finds, which is given the last.
    ///
    /// # Errors
    /// What `read` says, also to those who waited for it.
    pub(super) async fn get<F: Future<Output = Result<T, E>>>(
        &self,
        is_good: impl FnOnce(&T) -> bool,
        read: impl FnOnce(Option<Arc<T>>) -> F,
    ) -> Result<Arc<T>, E> {
        let asked = Instant::now();
        let mut reading = self.reading.lock().await;
        let known = self.last();
        if let Some(last) = &*reading {
            match (&last.failed, &known) {
                (Some(error), _) if last.began >= asked => return Err(error.clone()),
                (None, Some(known)) if last.began >= asked || is_good(known) => {
                    return Ok(known.clone());
                }
                _ => {}
            }
            let pause = ((last.ended - last.began) * (PARTS - 1)).min(LONGEST_PAUSE);
            let pause = pause.saturating_sub(last.ended.elapsed());
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
        let began = Instant::now();
        let read = read(known).await.map(Arc::new);
        let failed = read.as_ref().err().cloned();
        if let Ok(value) = &read {
            *self.known() = Some(value.clone());
        }
        *reading = Some(Reading { began, ended: Instant::now(), failed });
        read
    }

    /// What was read last, however long ago.
    pub(super) fn last(&self) -> Option<Arc<T>> {
        self.known().clone()
    }

    /// Whether nothing was read.
    pub(super) fn is_empty(&self) -> bool {
        self.known().is_none()
    }

    fn known(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A reading that takes so long, and what it says: how many were made before it.
    async fn count(made: &AtomicU32, took_ms: u64) -> Result<u32, u32> {
        let before = made.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(took_ms)).await;
        if before == 2 { Err(before) } else { Ok(before) }
    }

    #[tokio::test(start_paused = true)]
    async fn one_reading_answers_all_who_asked_before_it_began_and_none_who_asked_after() {
        let (latest, made) = (Latest::default(), AtomicU32::new(0));
        let ask = |after_ms: u64| {
            let (latest, made) = (&latest, &made);
            async move {
                sleep(Duration::from_millis(after_ms)).await;
                let told = latest.get(|_| false, |_| count(made, 10)).await;
                told.map(|told| *told)
            }
        };
        // The first reads; all who come meanwhile share the second one, also one who comes in the
        // pause before it.
        let all = join_all([0, 1, 2, 9, 50].map(ask)).await;
        assert_eq!(all, [Ok(0), Ok(1), Ok(1), Ok(1), Ok(1)]);
        // What went wrong is everybody's answer who waited for it, and nobody's afterwards.
        let all = join_all([0, 0, 0].map(ask)).await;
        assert_eq!(all, [Err(2), Err(2), Err(2)]);
        assert_eq!(latest.last().as_deref(), Some(&1), "what was known still is");
        assert_eq!(ask(0).await, Ok(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_that_will_do_is_not_made_again_and_others_leave_time_to_the_engine() {
        let (latest, made) = (Latest::default(), AtomicU32::new(0));
        let ask = |is_good: bool| latest.get(move |_| is_good, |_| count(&made, 4));
        assert_eq!(*ask(true).await.unwrap(), 0);
        assert_eq!(*ask(true).await.unwrap(), 0);
        let begin = Instant::now();
        assert_eq!(*ask(false).await.unwrap(), 1);
        assert_eq!(begin.elapsed().as_millis(), 64, "4 ms after a pause of 60");
    }
}
