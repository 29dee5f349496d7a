//! The latest reading of something that many ask for at once.
//!
//! However many ask, one reading at a time runs, and one answers all who asked before it began:
//! nobody is told anything older than their question, unless they say that the last reading will do,
//! and what is read is asked no more for a crowd than for one. A reading goes on to its end where
//! whoever began it has hung up: it has cost what it costs by then, and the pause after it is kept.

use onrush_base::spans::carried;
use std::future::{Future, pending, poll_fn};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// The engine spends at most one part in so many on one reading after the other.
const PARTS: u32 = 16;
/// The longest pause between two of them, where reading is little work: one that took long has
/// waited, and not worked.
pub(super) const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// What was read last, or why nothing was.
pub(super) struct Latest<T, E> {
    /// Whoever has it reads, or waits until it may.
    turn: Arc<Mutex<()>>,
    known: Arc<StdMutex<Known<T, E>>>,
    /// The longest pause after such a reading.
    longest_pause: fn(&T) -> Duration,
}

/// What is known of it.
struct Known<T, E> {
    value: Option<Arc<T>>,
    last: Option<Reading<E>>,
}

/// The last reading.
struct Reading<E> {
    began: Instant,
    ended: Instant,
    /// How long the engine is left alone afterwards.
    pause: Duration,
    failed: Option<E>,
}

impl<E> Reading<E> {
    fn pause_left(&self) -> Duration {
        self.pause.saturating_sub(self.ended.elapsed())
    }
}

impl<T, E> Default for Latest<T, E> {
    fn default() -> Self {
        Self::pausing(|_| SHORT_PAUSE)
    }
}

impl<T, E> Clone for Latest<T, E> {
    fn clone(&self) -> Self {
        let Self { turn, known, longest_pause } = self;
        Self { turn: turn.clone(), known: known.clone(), longest_pause: *longest_pause }
    }
}

impl<T, E> Latest<T, E> {
    /// Nothing yet. After each reading there is a pause of so long at most.
    pub(super) fn pausing(longest_pause: fn(&T) -> Duration) -> Self {
        let known = Known { value: None, last: None };
        Self { turn: Arc::default(), known: Arc::new(StdMutex::new(known)), longest_pause }
    }

    /// What was read last, however long ago.
    pub(super) fn last(&self) -> Option<Arc<T>> {
        self.known().value.clone()
    }

    /// Whether nothing was read, nor is being read.
    pub(super) fn is_empty(&self) -> bool {
        self.known().value.is_none() && self.turn.try_lock().is_ok()
    }

    fn known(&self) -> MutexGuard<'_, Known<T, E>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + Sync + 'static, E: Clone + Send + 'static> Latest<T, E> {
    /// What somebody is told who asks now: another's reading, if it began after this question; the
    /// last one, if `is_good` says that it will do for whoever would have to wait so long until
    /// another may begin; or what `read` finds, which is given the last. `kept` is let go of when
    /// that has ended, whoever waits for it.
    ///
    /// # Errors
    /// What `read` says, also to those who waited for it.
    pub(super) async fn get<F>(
        &self,
        kept: impl Send + 'static,
        is_good: impl Fn(&T, Duration) -> bool,
        read: impl FnOnce(Option<Arc<T>>) -> F,
    ) -> Result<Arc<T>, E>
    where
        F: Future<Output = Result<Arc<T>, E>> + Send + 'static,
    {
        let asked = Instant::now();
        // Whoever is content with the last one does not stand behind those who are not.
        if let Some(told) = self.told(asked, &is_good) {
            return told;
        }
        let turn = self.turn.clone().lock_owned().await;
        if let Some(told) = self.told(asked, &is_good) {
            return told;
        }
        let pause = self.known().last.as_ref().map(Reading::pause_left).unwrap_or_default();
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let began = Instant::now();
        let mut read = Box::pin(read(self.last()));
        // What is answered at once needs no task of its own.
        let at_once = poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await;
        if let Poll::Ready(read) = at_once {
            self.note(began, &read);
            return read;
        }
        let latest = self.clone();
        let work = async move {
            let read = read.await;
            latest.note(began, &read);
            drop(turn);
            drop(kept);
            read
        };
        match tokio::spawn(carried(work)).await {
            Ok(read) => read,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime stops, and whoever waits for an answer does too.
                Err(_) => pending().await,
            },
        }
    }

    /// What the last reading tells somebody who asked at this time, if it tells them anything.
    fn told(
        &self,
        asked: Instant,
        is_good: impl Fn(&T, Duration) -> bool,
    ) -> Option<Result<Arc<T>, E>> {
        let known = self.known();
        let last = known.last.as_ref()?;
        match (&last.failed, &known.value) {
            (Some(error), _) if last.began >= asked => Some(Err(error.clone())),
            (None, Some(value)) if last.began >= asked || is_good(value, last.pause_left()) => {
                Some(Ok(value.clone()))
            }
            _ => None,
        }
    }

    /// Notes a reading that has just ended.
    fn note(&self, began: Instant, read: &Result<Arc<T>, E>) {
        let ended = Instant::now();
        let longest = match read {
            Ok(value) => (self.longest_pause)(value),
            Err(_) => SHORT_PAUSE,
        };
        let pause = ((ended - began) * (PARTS - 1)).min(longest);
        let mut known = self.known();
        if let Ok(value) = read {
            known.value = Some(value.clone());
        }
        known.last = Some(Reading { began, ended, pause, failed: read.as_ref().err().cloned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::time::timeout;

    /// A reading that takes so long, and what it says: how many were made before it.
    async fn count(made: Arc<AtomicU32>, took_ms: u64) -> Result<Arc<u32>, u32> {
        let before = made.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(took_ms)).await;
        if before == 2 { Err(before) } else { Ok(Arc::new(before)) }
    }

    #[tokio::test(start_paused = true)]
    async fn one_reading_answers_all_who_asked_before_it_began_and_none_who_asked_after() {
        let (latest, made) = (Latest::default(), Arc::<AtomicU32>::default());
        let ask = |after_ms: u64| {
            let (latest, made) = (&latest, &made);
            async move {
                sleep(Duration::from_millis(after_ms)).await;
                let told = latest.get((), |_, _| false, |_| count(made.clone(), 10)).await;
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
        let (latest, made) = (Latest::default(), Arc::<AtomicU32>::default());
        let ask = |is_good: bool| latest.get((), move |_, _| is_good, |_| count(made.clone(), 4));
        assert_eq!(*ask(true).await.unwrap(), 0);
        assert_eq!(*ask(true).await.unwrap(), 0);
        let begin = Instant::now();
        assert_eq!(*ask(false).await.unwrap(), 1);
        assert_eq!(begin.elapsed().as_millis(), 64, "4 ms after a pause of 60");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_hangs_up_saves_nobody_the_pause() {
        let (latest, made) = (Latest::default(), Arc::<AtomicU32>::default());
        let ask = || latest.get((), |_, _| false, |_| count(made.clone(), 4));
        let begin = Instant::now();
        let told = timeout(Duration::from_millis(1), ask()).await;
        assert!(told.is_err(), "the reading takes longer");
        assert!(!latest.is_empty(), "it goes on");
        assert_eq!(*ask().await.unwrap(), 1);
        assert_eq!(begin.elapsed().as_millis(), 68, "the first took 4 ms, and its pause 60");
        // So does whoever hangs up in the pause.
        let told = timeout(Duration::from_millis(1), ask()).await;
        assert!(told.is_err(), "there is a pause");
        assert_eq!(made.load(Ordering::Relaxed), 2, "nothing was read for them");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_much_work_has_its_share_and_whoever_is_content_with_the_last_need_not_wait() {
        let latest = Latest::pausing(|_: &u32| Duration::from_secs(2));
        let made = Arc::<AtomicU32>::default();
        let ask = |patience_ms: u64| {
            let is_good = move |_: &u32, wait: Duration| wait > Duration::from_millis(patience_ms);
            latest.get((), is_good, |_| count(made.clone(), 100))
        };
        let (always, begin) = (u64::MAX, Instant::now());
        assert_eq!(*ask(always).await.unwrap(), 0);
        // Somebody waits for another one all the while.
        let waits = ask(always);
        let content = async {
            sleep(Duration::from_millis(1_300)).await;
            assert_eq!(*ask(100).await.unwrap(), 0);
            assert_eq!(begin.elapsed().as_millis(), 1_400, "at once");
            sleep(Duration::from_millis(150)).await;
            assert_eq!(*ask(100).await.unwrap(), 1, "the next one may soon begin");
        };
        let (waited, ()) = tokio::join!(biased; waits, content);
        assert_eq!(*waited.unwrap(), 1);
        assert_eq!(begin.elapsed().as_millis(), 1_700, "100 ms, 15 times as much, and 100 ms");
    }
}
