//! Sheds load early: sends new business away at the door while answers take too long.
//!
//! A server that takes in more than it can do makes everybody wait, and those who wait longest are
//! those who came to pay. So the time that an ask waits is measured all the while, in two places: a
//! probe goes through the same queues as every request does (a socket that a thread writes to and
//! the runtime reads from), and the engine says what its oldest ask without an answer has been
//! waiting for. While the longer of the two is above half of the bound, a growing share of requests
//! is answered with 503 before anything is done for them; while it is below, a shrinking one.
//!
//! What can be asked for again at little loss goes first: looks at places, seats and events. Then
//! what would begin: tokens, places, holds, claims. Everything else is never sent away: payments,
//! confirmations, releases, tickets, admins, and pages with their parts, which are ready to be sent:
//! a page of which some parts are missing is none, and shows nobody when to come back.

use axum::http::Method;
use onrush_store::Engine;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

/// How often the wait is measured, and the shares are adjusted.
const TURN: Duration = Duration::from_millis(20);
/// Everything of one kind, in thousandths.
const ALL: u32 = 1_000;
/// The highest level: all looks and nearly all that would begin. The rest shows whether things are better.
const HIGHEST: u32 = 2 * ALL - 20;
/// How much the level rises in a turn for each time that the wait is half as long as it may be:
/// everybody comes at once, and those who wait meanwhile wait for long.
const RISE: u32 = 240;
/// How many times at most.
const STEEPEST: u32 = 4;
/// How much the level falls in a turn: from the highest one to zero in a second, so that it settles
/// where as many come as can be served.
const FALL: u32 = 40;
/// Probes that may be under way: if none comes through, sending more tells nothing.
const MAX_PROBES: usize = 50;
/// After how many milliseconds those who are sent away come back, at least and less than: spread, so
/// that not all come back at once.
pub(crate) const COME_BACK_MS: Range<u64> = 500..3_000;

/// What a request would have the server do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A look that can be repeated.
    Look,
    /// The beginning of something.
    Beginning,
    /// Anything that goes on with something, or ends it.
    Rest,
}

/// How much is sent away, and how much was.
#[derive(Debug)]
pub struct Pressure {
    /// The longest time that an ask should wait; zero never sends anybody away.
    bound: Duration,
    /// In thousandths: up to [`ALL`] of the looks, what is above of the beginnings.
    level: AtomicU32,
    /// Requests that were weighed, so that shares are spread evenly.
    weighed: AtomicU32,
    looks_shed: AtomicU64,
    beginnings_shed: AtomicU64,
    /// The wait that was measured last.
    wait_us: AtomicU64,
    /// Where the engine is asked how long answers take.
    engine: OnceLock<Weak<dyn Engine>>,
}

/// A request is sent away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAway {
    /// After how long to come back.
    pub after_ms: u32,
}

/// What was measured and done so far, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PressureFigures {
    /// The wait that was measured last.
    pub wait: Duration,
    /// Looks sent away so far.
    pub looks_shed: u64,
    /// Tokens, places, holds and claims sent away so far.
    pub beginnings_shed: u64,
}

impl Pressure {
    /// Nothing is sent away before [`Pressure::start`]. `bound` is the longest time that an ask
    /// should wait; zero never sends anybody away.
    #[must_use]
    pub fn new(bound: Duration) -> Self {
        Self {
            bound,
            level: AtomicU32::new(0),
            weighed: AtomicU32::new(0),
            looks_shed: AtomicU64::new(0),
            beginnings_shed: AtomicU64::new(0),
            wait_us: AtomicU64::new(0),
            engine: OnceLock::new(),
        }
    }

    /// Asks this engine too how long answers take, from now on.
    pub fn watch(&self, engine: &Arc<dyn Engine>) {
        drop(self.engine.set(Arc::downgrade(engine)));
    }

    /// Measures until this is dropped.
    ///
    /// # Errors
    /// No thread or no socket can be had.
    pub fn start(self: &Arc<Self>) -> io::Result<()> {
        if self.bound.is_zero() {
            return Ok(());
        }
        let (probe, seen) = UnixStream::pair()?;
        probe.set_nonblocking(true)?;
        seen.set_nonblocking(true)?;
        let seen = tokio::net::UnixStream::from_std(seen)?;
        let arrived = Arc::new(Arrived::default());
        tokio::spawn(arrived.clone().read(seen));
        let pressure = Arc::downgrade(self);
        let run = move || measure(&pressure, &arrived, probe);
        thread::Builder::new().name("onrush-pressure".into()).spawn(run)?;
        Ok(())
    }

    /// When whoever is sent away now may come back; `None` for everybody else. Costs next to
    /// nothing while nobody is.
    ///
    /// Clients that come too early, before the time they were told, do not get another chance:
    /// whatever is sent away of its kind at all is sent away of theirs.
    #[must_use]
    pub fn sends_away(&self, method: &Method, path: &str, too_early: bool) -> Option<SentAway> {
        let level = self.level.load(Ordering::Relaxed);
        if level == 0 {
            return None;
        }
        let (share, shed) = match kind(method, path) {
            Kind::Look => (level.min(ALL), &self.looks_shed),
            Kind::Beginning => (level.saturating_sub(ALL), &self.beginnings_shed),
            Kind::Rest => return None,
        };
        let number = self.weighed.fetch_add(1, Ordering::Relaxed);
        let share = if too_early && share > 0 { ALL } else { share };
        if spread(number, 0..ALL.into()) >= share.into() {
            return None;
        }
        let turned = shed.fetch_add(1, Ordering::Relaxed);
        // Counted by themselves: the numbers weighed are spread already.
        Some(SentAway { after_ms: spread(turned as u32, COME_BACK_MS) as u32 })
    }

    /// What was measured and done so far.
    #[must_use]
    pub fn figures(&self) -> PressureFigures {
        PressureFigures {
            wait: Duration::from_micros(self.wait_us.load(Ordering::Relaxed)),
            looks_shed: self.looks_shed.load(Ordering::Relaxed),
            beginnings_shed: self.beginnings_shed.load(Ordering::Relaxed),
        }
    }

    /// Adjusts the shares to what was measured.
    fn adjust(&self, wait: Duration) {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.wait_us.store(us(wait), Ordering::Relaxed);
        let times = us(wait) / us(self.bound / 2).max(1);
        let times = u32::try_from(times).unwrap_or(STEEPEST).min(STEEPEST);
        let level = self.level.load(Ordering::Relaxed);
        let level = match times {
            0 => level.saturating_sub(FALL),
            times => (level + RISE * times).min(HIGHEST),
        };
        // This thread alone writes it.
        self.level.store(level, Ordering::Relaxed);
    }

    /// Sends away as much as it ever does.
    #[cfg(test)]
    pub(crate) fn at_its_highest() -> Self {
        let pressure = Self::new(Duration::from_millis(50));
        pressure.level.store(HIGHEST, Ordering::Relaxed);
        pressure
    }

    fn engine_waits(&self) -> Duration {
        let engine = self.engine.get().and_then(Weak::upgrade);
        engine.map_or(Duration::ZERO, |engine| engine.waiting())
    }
}

/// A number of the range for each number there is. Neighbours are spread, so a share is kept also
/// over few of them.
fn spread(number: u32, over: Range<u64>) -> u64 {
    // The golden ratio's multiples are as even as numbers come.
    let spread = u64::from(number.wrapping_mul(2_654_435_769));
    over.start + ((spread * (over.end - over.start)) >> 32)
}

fn kind(method: &Method, path: &str) -> Kind {
    let below_events = path.strip_prefix("/api/v1/events").is_some();
    // What is asked with HEAD is worked out like the whole answer.
    if matches!(*method, Method::GET | Method::HEAD) {
        // The door's scanners go by it: an old list lets in who gave their ticket back.
        let is_doors = path.ends_with("/revoked-tickets");
        // No page asks for a part with HEAD. For itself it does, to learn whether the server is there.
        let is_head_of_part = *method == Method::HEAD && path.starts_with("/assets/");
        // One booking is no such look: whoever pays follows it.
        let look = is_head_of_part
            || (below_events && !is_doors)
            || path == "/api/v1/bookings"
            || path == "/api/booking/position"
            || path == "/api/seats/available";
        return if look { Kind::Look } else { Kind::Rest };
    }
    // A price is a look, though its body is too long for an address; so is what channels have left,
    // though codes are nothing for an address.
    let is_look = path.ends_with("/quote") || path.ends_with("/channels");
    if *method == Method::POST && below_events && is_look {
        return Kind::Look;
    }
    let begins = *method == Method::POST
        && match path {
            "/api/v1/visitors" | "/api/booking/request" | "/api/booking/select-seat" => true,
            path => {
                below_events
                    && ["/queue", "/bookings", "/claims"].iter().any(|end| path.ends_with(end))
            }
        };
    if begins { Kind::Beginning } else { Kind::Rest }
}

/// What came through of the probes.
#[derive(Debug, Default)]
struct Arrived {
    probes: AtomicU64,
    /// How long the last one took.
    took_us: AtomicU64,
    /// When each probe was sent, in microseconds since the thread began.
    origin: OnceLock<Instant>,
}

impl Arrived {
    /// Reads probes until nobody sends any.
    async fn read(self: Arc<Self>, mut seen: tokio::net::UnixStream) {
        let mut sent_us = [0; 8];
        while seen.read_exact(&mut sent_us).await.is_ok() {
            let now = self.origin.get().map_or(Duration::ZERO, Instant::elapsed);
            let took = now.saturating_sub(Duration::from_micros(u64::from_le_bytes(sent_us)));
            let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.took_us.store(took_us, Ordering::Relaxed);
            self.probes.fetch_add(1, Ordering::Release);
        }
    }
}

/// Sends probes and adjusts the shares, on a thread of its own: a runtime that is overloaded would
/// measure itself late.
fn measure(pressure: &Weak<Pressure>, arrived: &Arrived, mut probe: UnixStream) {
    let origin = *arrived.origin.get_or_init(Instant::now);
    let mut under_way = VecDeque::new();
    let mut seen = 0;
    loop {
        let now_us = u64::try_from(origin.elapsed().as_micros()).unwrap_or(u64::MAX);
        if under_way.len() < MAX_PROBES {
            match probe.write_all(&now_us.to_le_bytes()) {
                Ok(()) => under_way.push_back(origin.elapsed()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The runtime is gone.
                Err(_) => return,
            }
        }
        thread::sleep(TURN);
        let Some(pressure) = pressure.upgrade() else { return };
        let came = arrived.probes.load(Ordering::Acquire);
        let new = usize::try_from(came - seen).unwrap_or(usize::MAX).min(under_way.len());
        under_way.drain(..new);
        seen = came;
        let oldest = under_way.front().map_or(Duration::ZERO, |sent| origin.elapsed() - *sent);
        let took = Duration::from_micros(arrived.took_us.load(Ordering::Relaxed));
        let probed = if new > 0 { took.max(oldest) } else { oldest };
        pressure.adjust(probed.max(pressure.engine_waits()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_millis(50);

    fn hold(pressure: &Pressure) -> bool {
        pressure.sends_away(&Method::POST, "/api/v1/events/tour-1/bookings", false).is_some()
    }

    fn look(pressure: &Pressure) -> bool {
        pressure.sends_away(&Method::GET, "/api/v1/events/tour-1/queue", false).is_some()
    }

    fn quote(pressure: &Pressure) -> bool {
        pressure.sends_away(&Method::POST, "/api/v1/events/tour-1/quote", false).is_some()
    }

    fn pay(pressure: &Pressure) -> bool {
        pressure.sends_away(&Method::POST, "/api/v1/bookings/tour-1.00/payment", false).is_some()
    }

    fn of_a_thousand(pressure: &Pressure, sent_away: fn(&Pressure) -> bool) -> usize {
        (0..1_000).filter(|_| sent_away(pressure)).count()
    }

    #[test]
    fn nobody_is_sent_away_while_answers_are_quick() {
        let pressure = Pressure::new(BOUND);
        (0..100).for_each(|_| pressure.adjust(Duration::from_millis(24)));
        assert_eq!(of_a_thousand(&pressure, look), 0);
        assert_eq!(of_a_thousand(&pressure, hold), 0);
    }

    #[test]
    fn looks_go_first_then_beginnings_and_payments_never() {
        let pressure = Pressure::new(BOUND);
        pressure.adjust(Duration::from_millis(30));
        let looks = of_a_thousand(&pressure, look);
        assert!((220..=260).contains(&looks), "{looks} looks of 1,000");
        assert_eq!(of_a_thousand(&pressure, hold), 0);

        (0..40).for_each(|_| pressure.adjust(Duration::from_secs(1)));
        assert_eq!(of_a_thousand(&pressure, look), 1_000);
        assert_eq!(of_a_thousand(&pressure, quote), 1_000, "anybody can ask for prices");
        let holds = of_a_thousand(&pressure, hold);
        assert!((970..1_000).contains(&holds), "{holds} holds of 1,000: some always pass");
        assert_eq!(of_a_thousand(&pressure, pay), 0);
    }

    #[test]
    fn whoever_comes_too_early_is_sent_away_if_anybody_is() {
        let pressure = Pressure::new(BOUND);
        let early = |path| pressure.sends_away(&Method::POST, path, true).is_some();
        let (hold, pay) = ("/api/v1/events/e/bookings", "/api/v1/bookings/e.1/payment");
        pressure.adjust(Duration::from_millis(30));
        assert!(!early(hold), "only looks are sent away");
        (0..40).for_each(|_| pressure.adjust(Duration::from_secs(1)));
        assert!((0..1_000).all(|_| early(hold)));
        assert!(!early(pay));
        (0..40).for_each(|_| pressure.adjust(Duration::ZERO));
        assert!(!early(hold), "all is as usual");
    }

    #[test]
    fn all_are_let_in_again_within_a_second() {
        let pressure = Pressure::new(BOUND);
        (0..40).for_each(|_| pressure.adjust(Duration::from_secs(1)));
        let turns = u32::try_from(Duration::from_secs(1).as_millis() / TURN.as_millis()).unwrap();
        (0..turns).for_each(|_| pressure.adjust(Duration::from_millis(1)));
        assert_eq!(of_a_thousand(&pressure, hold), 0);
        assert_eq!(of_a_thousand(&pressure, look), 0);
    }

    #[test]
    fn whoever_is_sent_away_comes_back_at_a_time_of_their_own() {
        let pressure = Pressure::at_its_highest();
        let path = "/api/v1/events/e/queue";
        let sent_away = || pressure.sends_away(&Method::GET, path, false).unwrap().after_ms;
        let mut after_ms: Vec<_> = (0..1_000).map(|_| sent_away()).collect();
        after_ms.sort_unstable();
        assert!(COME_BACK_MS.contains(&after_ms[0].into()) && after_ms[999] < 3_000);
        for pair in after_ms.windows(2) {
            assert!(pair[1] - pair[0] <= 10, "nobody between {} and {} ms", pair[0], pair[1]);
        }
    }

    #[test]
    fn share_is_spread_evenly() {
        for share in [1_usize, 10, 333, 500, 999, 1_000] {
            let fell =
                (0..100_000).filter(|number| spread(*number, 0..1_000) < share as u64).count();
            let exact = share * 100;
            assert!(fell.abs_diff(exact) <= 20, "{share} thousandths were {fell} of 100,000");
        }
    }

    #[test]
    fn only_what_begins_or_looks_is_ever_sent_away() {
        let post = |path| kind(&Method::POST, path);
        for path in [
            "/api/v1/visitors",
            "/api/v1/events/e/queue",
            "/api/v1/events/e/bookings",
            "/api/v1/events/e/pools/p/claims",
            "/api/booking/request",
            "/api/booking/select-seat",
        ] {
            assert_eq!(post(path), Kind::Beginning, "{path}");
        }
        for path in [
            "/api/v1/bookings/e.1/payment",
            "/api/v1/bookings/e.1/confirm",
            "/api/v1/bookings/e.1/cancel",
            "/api/v1/bookings/e.1/extend",
            "/api/v1/events/e/queue/arrive",
            "/api/v1/payments/webhook/stripe",
            "/api/v1/check-in",
            "/api/v1/admin/events",
            "/api/v1/admin/events/e/pause",
            "/api/booking/payment/initiate",
            "/api/booking/payment/success",
        ] {
            assert_eq!(post(path), Kind::Rest, "{path}");
        }
        assert_eq!(post("/api/v1/events/e/channels"), Kind::Look);
        assert_eq!(kind(&Method::DELETE, "/api/v1/events/e/queue"), Kind::Rest);
        assert_eq!(kind(&Method::GET, "/api/v1/bookings/e.1"), Kind::Rest);
        assert_eq!(kind(&Method::GET, "/api/v1/bookings"), Kind::Look, "it asks many events");
        assert_eq!(kind(&Method::GET, "/api/v1/events/e/queue"), Kind::Look);
        assert_eq!(kind(&Method::HEAD, "/api/v1/events/e/availability"), Kind::Look);
        assert_eq!(kind(&Method::HEAD, "/api/seats/available"), Kind::Look);
        assert_eq!(kind(&Method::GET, "/api/v1/events/e/revoked-tickets"), Kind::Rest);
        assert_eq!(kind(&Method::GET, "/readyz"), Kind::Rest);
        assert_eq!(kind(&Method::HEAD, "/assets/index-B2c_x-9Z.js"), Kind::Look);
    }

    #[test]
    fn pages_load_as_a_whole_however_long_answers_take() {
        let pressure = Pressure::at_its_highest();
        let is_answered =
            |method: &Method, path: &str| pressure.sends_away(method, path, true).is_none();
        for path in [
            "/",
            "/events/e",
            "/events/e/seats",
            "/assets/index-B2c_x-9Z.js",
            "/bookings/e.1",
            "/carry",
            "/admin/events",
            "/docs",
        ] {
            assert!((0..1_000).all(|_| is_answered(&Method::GET, path)), "{path}");
        }
        for path in ["/", "/events/e", "/bookings/e.1"] {
            let is_there = || is_answered(&Method::HEAD, path);
            assert!((0..1_000).all(|_| is_there()), "{path}: so a page learns of its server");
        }
    }

    #[tokio::test]
    async fn probe_that_does_not_come_through_counts_as_waiting() {
        let pressure = Arc::new(Pressure::new(BOUND));
        pressure.start().unwrap();
        // The only thread of this runtime is held up: nobody reads the probe.
        let deadline = Instant::now() + Duration::from_secs(30);
        while pressure.figures().wait < BOUND {
            assert!(Instant::now() < deadline, "the wait was never noticed");
            thread::yield_now();
        }
        while pressure.level.load(Ordering::Relaxed) <= ALL {
            assert!(Instant::now() < deadline, "nothing was sent away");
            thread::yield_now();
        }
        // And all is well again once it is read.
        while pressure.level.load(Ordering::Relaxed) > 0 {
            assert!(Instant::now() < deadline, "nobody was let in again");
            tokio::task::yield_now().await;
        }
    }
}
