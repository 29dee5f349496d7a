//! When a node looks at which event, and what came of its looks.
//!
//! An event in which nothing is due for a while is looked at less often, and at the very time of its
//! next deadline. Whoever set an earlier one looks at it then; should that node die before, the others
//! find it within [`IDLE_SWEEPS`] and one more.

use crate::engine::Failure;
use onrush_core::Time;
use onrush_core::ids::EventId;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;

/// An event in which nothing is due for longer than so many sweeps is passed over for as long.
const IDLE_SWEEPS: u32 = 10;
/// Nor is it passed over for longer, however long a sweep is: one that nobody looks at for half a minute
/// is taken for one that was away.
const IDLE_AT_MOST: Duration = Duration::from_secs(10);
/// How long each sweep looks at an event in which something was asked for and not answered. A Redis
/// that stood still does what it was sent once it goes on, and a look may come before that.
const IN_DOUBT_FOR: Duration = Duration::from_secs(10);
/// Events that are looked at in the same moment; of those in trouble as many again.
const EVENTS_AT_ONCE: usize = 8;
/// A look that takes longer is trouble: it keeps nobody waiting from then on.
const SLOW: Duration = Duration::from_millis(200);
/// Looks at once, however many of them are slow.
const MOST_AT_ONCE: usize = 64;
/// Changes within this time are dealt with together.
const COALESCE: Duration = Duration::from_millis(5);
/// After trouble with an event the next look waits that long.
const AFTER_TROUBLE: Duration = Duration::from_millis(500);

/// What ticks of an event did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticked {
    /// The engine's time.
    pub(super) at: Time,
    /// Things decided.
    pub(super) count: u32,
    /// When the next is due; `Time(0)` whatever the clock says.
    pub(super) next: Option<Time>,
}

impl Ticked {
    /// How long it is until the next is due; `None` if nothing is to come.
    fn wait(&self) -> Option<Duration> {
        let wait_ms = self.next?.since_ms(self.at);
        Some(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)))
    }
}

/// When this node looks at which event.
///
/// A shard of a cluster that is gone keeps each look at its events until patience ends. They have a
/// lane of their own, so that deadlines on the other shards are met meanwhile.
#[derive(Debug, Default)]
pub(super) struct Plan {
    due: BTreeSet<(Instant, EventId)>,
    events: HashMap<EventId, Planned>,
    running: Running,
}

/// Looks that have begun and not ended.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    calm: usize,
    troubled: usize,
}

impl Running {
    fn lane(&mut self, is_troubled: bool) -> &mut usize {
        if is_troubled { &mut self.troubled } else { &mut self.calm }
    }

    fn has_room(mut self, is_troubled: bool) -> bool {
        self.calm + self.troubled < MOST_AT_ONCE && *self.lane(is_troubled) < EVENTS_AT_ONCE
    }
}

#[derive(Debug, Default)]
struct Planned {
    at: Option<Instant>,
    looked_at: Option<Instant>,
    running: bool,
    /// Until when sweeps pass over it, because nothing is due for longer. Not how many of them: a sweep
    /// waits for the list of events, however long Redis takes for it.
    idle_until: Option<Instant>,
    /// Until when none does all the same, because more may have been decided than anybody here was told.
    doubted_until: Option<Instant>,
    /// Whether the last look failed, or the one that runs takes long.
    is_troubled: bool,
}

impl Planned {
    /// When the look that runs becomes a slow one.
    fn slow_at(&self) -> Option<Instant> {
        let is_calm = self.running && !self.is_troubled;
        self.looked_at.filter(|_| is_calm).map(|looked_at| looked_at + SLOW)
    }

    /// Whether a sweep whose turn for it comes then passes over it.
    fn is_passed_over(&self, at: Instant) -> bool {
        let is_idle = self.idle_until.is_some_and(|until| at <= until);
        let is_doubted = self.doubted_until.is_some_and(|until| at < until);
        is_idle && !is_doubted
    }
}

/// What came of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// Something will be due soon, or may be.
    Busy,
    /// Nothing is due for longer than that from the look on.
    Idle { pause: Duration },
    /// The event is out of reach.
    Troubled,
}

impl Looked {
    pub(super) fn of(ticked: &Result<Ticked, Failure>, sweep: Duration) -> Self {
        match ticked {
            Ok(ticked) => {
                let pause = (sweep * IDLE_SWEEPS).min(IDLE_AT_MOST);
                let is_soon = ticked.wait().is_some_and(|wait| wait <= pause);
                if is_soon { Self::Busy } else { Self::Idle { pause } }
            }
            Err(Failure::Refused(_)) => Self::Busy,
            Err(
                Failure::Busy { .. }
                | Failure::DiskLow
                | Failure::Rebuilding { .. }
                | Failure::Unreachable
                | Failure::Faulty
                | Failure::Stopped,
            ) => Self::Troubled,
        }
    }
}

impl Plan {
    /// Looks at the event then, or earlier if that is planned already.
    fn look(&mut self, event: &EventId, at: Instant) {
        let planned = self.events.entry(event.clone()).or_default();
        if planned.at.is_some_and(|planned| planned <= at) {
            return;
        }
        if let Some(later) = planned.at.replace(at) {
            self.due.remove(&(later, event.clone()));
        }
        self.due.insert((at, event.clone()));
    }

    /// Looks at it soon, but not twice within [`COALESCE`].
    pub(super) fn look_soon(&mut self, event: &EventId, now: Instant) {
        let looked_at = self.events.get(event).and_then(|planned| planned.looked_at);
        let at = looked_at.map_or(now, |looked_at| now.max(looked_at + COALESCE));
        self.look(event, at);
    }

    /// Has sweeps look at it, whatever was due when it was looked at last.
    pub(super) fn doubt(&mut self, event: &EventId, now: Instant) {
        // One that was never looked at is not passed over.
        if let Some(planned) = self.events.get_mut(event) {
            planned.doubted_until = Some(now + IN_DOUBT_FOR);
        }
    }

    /// Looks at all events within the time of a sweep, one after the other, but passes over those
    /// that are idle.
    pub(super) fn sweep(&mut self, events: &[EventId], now: Instant, sweep: Duration) {
        let each = sweep / u32::try_from(events.len().max(1)).unwrap_or(u32::MAX);
        let mut at = now;
        for event in events {
            let planned = self.events.entry(event.clone()).or_default();
            if !planned.is_passed_over(at) {
                self.look(event, at);
            }
            at += each;
        }
        let there: HashSet<_> = events.iter().collect();
        self.events.retain(|event, planned| {
            planned.running || planned.at.is_some() || there.contains(event)
        });
    }

    /// An event that is due and not being looked at, if its lane has room.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<EventId> {
        let found = self.due.iter().take_while(|(at, _)| *at <= now);
        let found = found.clone().find(|(_, event)| self.can_begin(event)).cloned()?;
        self.due.remove(&found);
        let planned = self.events.get_mut(&found.1).expect("what is due is planned");
        let Planned { doubted_until, is_troubled, .. } = *planned;
        *planned = Planned {
            at: None,
            looked_at: Some(now),
            running: true,
            idle_until: None,
            doubted_until,
            is_troubled,
        };
        *self.running.lane(is_troubled) += 1;
        Some(found.1)
    }

    fn can_begin(&self, event: &EventId) -> bool {
        let planned = self.events.get(event);
        planned.is_some_and(|found| !found.running && self.running.has_room(found.is_troubled))
    }

    /// Looks that take long by now go to the other lane.
    pub(super) fn note_slow(&mut self, now: Instant) {
        if self.running.calm == 0 {
            return;
        }
        for planned in self.events.values_mut() {
            if planned.slow_at().is_some_and(|slow_at| slow_at <= now) {
                planned.is_troubled = true;
                self.running.calm -= 1;
                self.running.troubled += 1;
            }
        }
    }

    pub(super) fn done(&mut self, event: &EventId, looked: Looked) {
        if let Some(planned) = self.events.get_mut(event) {
            *self.running.lane(planned.is_troubled) -= 1;
            planned.running = false;
            planned.idle_until = match looked {
                Looked::Idle { pause } => planned.looked_at.map(|looked_at| looked_at + pause),
                Looked::Busy | Looked::Troubled => None,
            };
            planned.is_troubled = looked == Looked::Troubled;
        }
    }

    /// When something that can be begun is due, or makes room for it.
    pub(super) fn next(&self) -> Option<Instant> {
        let due = self.due.iter().find(|(_, event)| self.can_begin(event)).map(|(at, _)| *at);
        let is_full = self.running.calm >= EVENTS_AT_ONCE && !self.due.is_empty();
        let room = is_full.then(|| self.events.values().filter_map(Planned::slow_at).min());
        due.into_iter().chain(room.flatten()).min()
    }
}

/// Looks at an event again when a look at it has told that it should.
pub(super) fn plan_next(plan: &mut Plan, event: &EventId, ticked: &Result<Ticked, Failure>) {
    let now = Instant::now();
    match ticked {
        Ok(ticked) => {
            let Some(wait) = ticked.wait() else { return };
            // What is due and yet was not done is somebody else's turn: it is not asked for without a pause.
            let is_others = wait.is_zero() && ticked.count == 0;
            let pause = if is_others { COALESCE } else { Duration::ZERO };
            plan.look(event, now + wait.min(Duration::from_secs(3_600)).max(pause));
        }
        Err(Failure::Refused(_)) => {}
        Err(
            failure @ (Failure::Busy { .. }
            | Failure::DiskLow
            | Failure::Rebuilding { .. }
            | Failure::Unreachable
            | Failure::Faulty
            | Failure::Stopped),
        ) => {
            tracing::debug!(%event, %failure, "a tick has to wait");
            plan.look(event, now + AFTER_TROUBLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        COALESCE, EVENTS_AT_ONCE, IDLE_SWEEPS, IN_DOUBT_FOR, Looked, MOST_AT_ONCE, Plan, SLOW,
        Ticked, plan_next,
    };
    use crate::engine::Failure;
    use onrush_core::Time;
    use onrush_core::ids::EventId;
    use std::time::Duration;
    use tokio::time::Instant;

    fn event(id: &str) -> EventId {
        id.parse().expect("an id")
    }

    /// A look that did nothing, and found that the next is due so much later.
    fn ticked(wait_ms: Option<i64>) -> Result<Ticked, Failure> {
        let at = Time(1_800_000_000_000);
        Ok(Ticked { at, count: 0, next: wait_ms.map(|wait_ms| at.plus_ms(wait_ms)) })
    }

    #[test]
    fn the_earlier_of_two_looks_counts_and_an_event_is_looked_at_once_at_a_time() {
        let (now, mut plan) = (Instant::now(), Plan::default());
        plan.look(&event("a"), now + Duration::from_secs(9));
        plan.look(&event("a"), now);
        plan.look(&event("a"), now + Duration::from_secs(5));
        assert_eq!(plan.next(), Some(now));
        assert_eq!(plan.take_due(now), Some(event("a")));
        assert_eq!(plan.take_due(now), None, "nothing else is planned");
        plan.look(&event("a"), now);
        assert_eq!(plan.take_due(now), None, "it is being looked at");
        plan.done(&event("a"), Looked::Busy);
        assert_eq!(plan.take_due(now), Some(event("a")), "what changed meanwhile is looked at");
    }

    #[test]
    fn many_changes_lead_to_few_looks() {
        let (now, mut plan) = (Instant::now(), Plan::default());
        plan.look_soon(&event("a"), now);
        assert_eq!(plan.take_due(now), Some(event("a")));
        plan.done(&event("a"), Looked::Busy);
        (0..100).for_each(|_| plan.look_soon(&event("a"), now));
        assert_eq!(plan.take_due(now), None);
        assert_eq!(plan.take_due(now + COALESCE), Some(event("a")));
        plan.done(&event("a"), Looked::Busy);
        assert_eq!(plan.take_due(now + COALESCE), None);
    }

    #[test]
    fn a_sweep_looks_at_all_events_in_turn_and_rarely_at_idle_ones() {
        let (mut now, mut plan) = (Instant::now(), Plan::default());
        let (sweep, events) = (Duration::from_secs(1), [event("a"), event("b")]);
        let mut looked_at = [0, 0];
        for _ in 0..=IDLE_SWEEPS {
            plan.sweep(&events, now, sweep);
            now += sweep / 2;
            while let Some(found) = plan.take_due(now) {
                // Event b has nothing that could become due.
                let index = usize::from(found == event("b"));
                looked_at[index] += 1;
                let idle = Looked::Idle { pause: sweep * IDLE_SWEEPS };
                plan.done(&found, if index == 1 { idle } else { Looked::Busy });
            }
            now += sweep / 2;
        }
        assert_eq!(looked_at, [IDLE_SWEEPS + 1, 1]);
        plan.sweep(&events, now, sweep);
        assert_eq!(plan.events[&event("b")].at, Some(now + sweep / 2), "it is its turn again");
        plan.look_soon(&event("b"), now);
        assert_eq!(plan.take_due(now), Some(event("a")));
        assert_eq!(plan.take_due(now), Some(event("b")), "what changes is looked at, idle or not");
    }

    #[test]
    fn an_event_is_idle_if_nothing_is_due_for_longer_than_it_is_passed_over() {
        let (second, slow) = (Duration::from_secs(1), Duration::from_millis(2_500));
        let (ten_s, day_ms) = (Looked::Idle { pause: second * 10 }, 86_400_000);
        for (sweep, wait_ms, expected) in [
            (second, None, ten_s),
            (second, Some(day_ms), ten_s),
            (second, Some(10_001), ten_s),
            (second, Some(10_000), Looked::Busy),
            (second, Some(0), Looked::Busy),
            // Due whatever the clock says.
            (second, Some(-1_800_000_000_000), Looked::Busy),
            (second / 20, Some(501), Looked::Idle { pause: second / 2 }),
            (second / 20, Some(500), Looked::Busy),
            // Ten of these would be close to the half minute after which an event counts as away.
            (slow, Some(day_ms), ten_s),
            (slow, None, ten_s),
            (slow, Some(10_000), Looked::Busy),
        ] {
            let looked = Looked::of(&ticked(wait_ms), sweep);
            assert_eq!(looked, expected, "{wait_ms:?} ms, looked at every {sweep:?}");
        }
    }

    /// Nobody tells a node of a deadline that another one has set.
    #[test]
    fn a_deadline_far_off_is_met_when_it_comes_and_an_earlier_one_found_within_eleven_sweeps() {
        let (sweep, events) = (Duration::from_secs(1), [event("a")]);
        let (begun, mut plan) = (Instant::now(), Plan::default());
        plan.sweep(&events, begun, sweep);
        assert_eq!(plan.take_due(begun), Some(event("a")));
        let found = ticked(Some(30_000));
        plan.done(&event("a"), Looked::of(&found, sweep));
        plan_next(&mut plan, &event("a"), &found);
        let exact = plan.events[&event("a")].at.expect("it is looked at when the deadline comes");
        let wait = Duration::from_secs(30);
        assert!((begun + wait..=Instant::now() + wait).contains(&exact));
        for nth in 1..=IDLE_SWEEPS {
            plan.sweep(&events, begun + sweep * nth, sweep);
        }
        assert_eq!(plan.next(), Some(exact), "ten sweeps passed over it");
        let last = begun + sweep * (IDLE_SWEEPS + 1);
        plan.sweep(&events, last, sweep);
        assert_eq!(plan.take_due(last), Some(event("a")), "what others have set is found");
        // From here on the deadline is near, and each sweep looks again.
        plan.done(&event("a"), Looked::of(&ticked(Some(9_000)), sweep));
        plan.sweep(&events, last + sweep, sweep);
        assert_eq!(plan.take_due(last + sweep), Some(event("a")));
    }

    /// A sweep waits for the list of events, which a Redis in trouble takes its time for.
    #[test]
    fn an_idle_event_is_passed_over_for_ten_seconds_however_far_apart_sweeps_come() {
        let (sweep, apart) = (Duration::from_secs(1), Duration::from_secs(3));
        let (begun, mut plan) = (Instant::now(), Plan::default());
        for (nth, is_looked_at) in [true, false, false, false, true, false].into_iter().enumerate()
        {
            let now = begun + apart * u32::try_from(nth).expect("a few");
            plan.sweep(&[event("a")], now, sweep);
            assert_eq!(plan.take_due(now).is_some(), is_looked_at, "after {nth} times {apart:?}");
            if is_looked_at {
                plan.done(&event("a"), Looked::of(&ticked(None), sweep));
            }
        }
    }

    /// A change has it looked at just when a sweep begins, in which its turn comes late.
    #[test]
    fn an_idle_event_is_looked_at_again_within_eleven_sweeps_whenever_its_turn_is() {
        let (sweep, events) = (Duration::from_secs(1), [event("a"), event("b")]);
        let (begun, mut plan) = (Instant::now(), Plan::default());
        plan.look_soon(&event("b"), begun);
        assert_eq!(plan.take_due(begun), Some(event("b")));
        plan.done(&event("b"), Looked::of(&ticked(None), sweep));
        (0..IDLE_SWEEPS).for_each(|nth| plan.sweep(&events, begun + sweep * nth, sweep));
        assert_eq!(plan.events[&event("b")].at, None, "its turns of ten seconds passed over it");
        plan.sweep(&events, begun + sweep * IDLE_SWEEPS, sweep);
        assert_eq!(plan.events[&event("b")].at, Some(begun + sweep * IDLE_SWEEPS + sweep / 2));
    }

    /// What nobody answered may be done after the next look, too.
    #[test]
    fn sweeps_look_at_an_idle_event_in_which_something_was_asked_for_and_not_answered() {
        let (sweep, events) = (Duration::from_secs(1), [event("a")]);
        let (begun, mut plan) = (Instant::now(), Plan::default());
        let look = |plan: &mut Plan, now| {
            plan.sweep(&events, now, sweep);
            let looked_at = plan.take_due(now).is_some();
            if looked_at {
                plan.done(&event("a"), Looked::of(&ticked(None), sweep));
            }
            looked_at
        };
        assert!(look(&mut plan, begun));
        assert!(!look(&mut plan, begun + sweep));
        let asked = begun + sweep * 2;
        plan.doubt(&event("a"), asked);
        assert_eq!(plan.next(), None, "it is not looked at before the next sweep");
        let mut now = asked;
        while now < asked + IN_DOUBT_FOR {
            assert!(look(&mut plan, now), "after {:?}", now - asked);
            now += sweep;
        }
        assert!(!look(&mut plan, now), "by then it is done, or never will be");
        // One that nobody looked at is not kept for that.
        plan.doubt(&event("b"), now);
        assert!(!plan.events.contains_key(&event("b")));
    }

    #[test]
    fn events_out_of_reach_keep_no_other_waiting() {
        let (now, mut plan) = (Instant::now(), Plan::default());
        let away: Vec<_> =
            (0..EVENTS_AT_ONCE * 2).map(|nth| event(&format!("away-{nth}"))).collect();
        away.iter().for_each(|event| plan.look(event, now));
        let begin =
            |plan: &mut Plan, now| std::iter::from_fn(|| plan.take_due(now)).collect::<Vec<_>>();
        let first = begin(&mut plan, now);
        assert_eq!(first.len(), EVENTS_AT_ONCE);
        plan.look(&event("here"), now + COALESCE);
        assert_eq!(
            plan.next(),
            Some(now + SLOW),
            "nothing has room before these are known to be slow"
        );
        plan.note_slow(now + SLOW);
        let then = begin(&mut plan, now + SLOW);
        assert_eq!(then.len(), EVENTS_AT_ONCE, "the slow ones are in nobody's way");
        // None of them is answered, and they are due again: their lane is all that they take.
        first.iter().chain(&then).for_each(|event| plan.done(event, Looked::Troubled));
        away.iter().for_each(|event| plan.look(event, now));
        let again = begin(&mut plan, now + SLOW * 2);
        assert!(again.contains(&event("here")), "{again:?}");
        plan.look(&event("another"), now);
        assert_eq!(begin(&mut plan, now + SLOW * 2), [event("another")]);
        // One that answers again is an event like others.
        plan.done(&again[0], Looked::Busy);
        assert!(!plan.events[&again[0]].is_troubled);
    }

    #[test]
    fn however_many_looks_are_slow_there_is_an_end_to_them() {
        let (mut now, mut plan) = (Instant::now(), Plan::default());
        for nth in 0..MOST_AT_ONCE * 2 {
            plan.look(&event(&format!("away-{nth}")), now);
        }
        let mut begun = 0;
        for _ in 0..MOST_AT_ONCE {
            begun += std::iter::from_fn(|| plan.take_due(now)).count();
            now += SLOW;
            plan.note_slow(now);
        }
        assert_eq!(begun, MOST_AT_ONCE);
        assert_eq!(plan.next(), None);
    }
}
