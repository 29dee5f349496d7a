//! One event as this node has it for itself: what the rules make of its decisions.
//!
//! A copy answers only while it is known to have been all there was a moment ago, and then with the
//! time of that moment: an answer is one that Redis would have given then.

use super::head::{Head, differ};
use super::rebuild::replay_page;
use crate::engine::{Answer, AsOf, FeedEntry, Seq};
use onrush_core::ids::EventId;
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Event, Query, Time, View};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A copy of an event.
pub(super) struct EventCopy {
    pub(super) event: EventId,
    state: RwLock<State>,
    records: AtomicUsize,
    asked: AtomicBool,
    given_up: AtomicBool,
    /// Wakes whoever keeps it up: somebody asked, and it could not answer.
    pub(super) wanted: Notify,
}

struct State {
    event: Event,
    head: Head,
    /// Redis' time when this was all there was.
    at: Time,
    /// Until when it may answer; `None` while it is not known to be all there is.
    good_until: Option<Instant>,
    /// How old its answers may be.
    age: Duration,
}

/// When a copy was all there was: looked for from then on here, and found at that time of Redis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub(super) asked: Instant,
    pub(super) at: Time,
    /// For how long that is good.
    pub(super) age: Duration,
}

/// Why decisions were not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// They do not go on from what is here.
    Other,
    /// The rules say that they cannot be.
    Broken(String),
}

impl EventCopy {
    /// A copy of an event of which nothing is known yet.
    pub(super) fn new(event: EventId) -> Self {
        let state = State {
            event: Event::new(event.clone()),
            head: Head::default(),
            at: Time(0),
            good_until: None,
            age: Duration::ZERO,
        };
        Self {
            event,
            state: RwLock::new(state),
            records: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            wanted: Notify::new(),
        }
    }

    /// Answers somebody who was told how far the event had come, if their place waits here.
    ///
    /// Anything else is Redis' to say: a place that is not here may have been taken a moment ago.
    pub(super) fn answer(&self, query: &Query, as_of: AsOf, now: Instant) -> Option<Answer<View>> {
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
        // Whoever writes may take as long as a draw does: nobody waits for that.
        let state = self.state.try_read().ok().filter(|_| !self.is_given_up());
        let answer = state.and_then(|state| state.answer(query, as_of, now));
        if answer.is_none() {
            self.wanted.notify_one();
        }
        answer
    }

    /// Whether anybody asked since this was asked last.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.swap(false, Ordering::Relaxed)
    }

    pub(super) fn head(&self) -> Head {
        self.read().head
    }

    pub(super) fn records(&self) -> usize {
        self.records.load(Ordering::Relaxed)
    }

    /// Applies decisions, the last of which has this mark, and notes if that is all there is.
    pub(super) fn apply(
        &self,
        page: &[FeedEntry],
        last: Head,
        fresh: Option<Fresh>,
    ) -> Result<(), Unfit> {
        let mut state = self.write();
        state.good_until = None;
        let goes_on = (state.head.seq.0 + 1..).zip(page).all(|(seq, entry)| entry.seq == Seq(seq));
        if !goes_on || page.last().is_none_or(|entry| entry.seq != last.seq) {
            return Err(Unfit::Other);
        }
        replay_page(&mut state.event, page).map_err(Unfit::Broken)?;
        state.head = last;
        state.good(fresh);
        self.records.store(state.event.records(), Ordering::Relaxed);
        Ok(())
    }

    /// Takes note that what is here was all there was: Redis was as far.
    pub(super) fn is_all(&self, head: Head, fresh: Fresh) -> Result<(), Unfit> {
        let mut state = self.write();
        let ours = state.head;
        if ours.seq != head.seq || differ(ours.mark, head.mark) {
            state.good_until = None;
            return Err(Unfit::Other);
        }
        state.head = head;
        state.good(Some(fresh));
        Ok(())
    }

    /// Ends it: who still has it is not answered by it.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.wanted.notify_one();
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn good(&mut self, fresh: Option<Fresh>) {
        if let Some(Fresh { asked, at, age }) = fresh {
            (self.at, self.age) = (at, age);
            self.good_until = Some(asked + age);
        }
    }

    fn answer(&self, query: &Query, as_of: AsOf, now: Instant) -> Option<Answer<View>> {
        let ours = AsOf { epoch: self.head.epoch, seq: self.head.seq };
        if self.good_until.is_none_or(|until| now >= until) || ours < as_of {
            return None;
        }
        let view = self.event.query(self.at, query).ok()?;
        let tells = waits(&view) && !self.may_have_lapsed(&view);
        tells.then_some(Answer { at: self.at, as_of: Some(ours), value: view })
    }

    /// Whether the place may have lapsed since: time passes without a decision, so no `as_of` tells.
    fn may_have_lapsed(&self, view: &View) -> bool {
        let age_ms = i64::try_from(self.age.as_millis()).unwrap_or(i64::MAX);
        let lapses_at = if let View::Place(PlaceView { state, .. }) = view
            && let PlaceState::Queued { lapses_at, .. } = state
        {
            *lapses_at
        } else {
            None
        };
        lapses_at.is_some_and(|lapses_at| lapses_at <= self.at.plus_ms(age_ms))
    }
}

/// Whether it is the view of a place that waits.
pub(super) fn waits(view: &View) -> bool {
    matches!(view, View::Place(PlaceView { state: PlaceState::Queued { .. }, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::head::Mark;
    use onrush_core::Command;
    use onrush_core::ids::{PlaceId, UserId};
    use onrush_core::question::{EventNow, PlaceOf};
    use onrush_core::settings::{RoomSettings, Settings};

    const AGE: Duration = Duration::from_secs(1);

    fn user(number: u32) -> UserId {
        format!("u{number}").parse().expect("an id")
    }

    fn place_of(number: u32) -> Query {
        PlaceOf { user: user(number), place: None }.into()
    }

    fn head(seq: u64) -> Head {
        Head { epoch: 3, seq: Seq(seq), mark: Some(Mark(seq)) }
    }

    fn as_of(seq: u64) -> AsOf {
        AsOf { epoch: 3, seq: Seq(seq) }
    }

    fn fresh(asked: Instant) -> Option<Fresh> {
        Some(Fresh { asked, at: Time(5_000), age: AGE })
    }

    /// A line of two, decided one after the other.
    fn line() -> Vec<FeedEntry> {
        let id: EventId = "e".parse().expect("an id");
        let settings = Settings::new("Show", "EUR".parse().expect("a currency"));
        let settings = Settings { room: Some(RoomSettings::default()), ..settings };
        let join = |number: u32| {
            let place = PlaceId::from_u128(u128::from(number) + 1);
            Command::Join { place, user: user(number) }
        };
        let commands = [
            Command::CreateEvent { settings: Box::new(settings) },
            Command::OpenPrequeue,
            join(0),
            join(1),
        ];
        let mut event = Event::new(id.clone());
        let decided = (1..).zip(commands).map(|(seq, command)| {
            let at = Time(1_000);
            let changes = event.decide(at, &command).expect("accepted").changes.to_vec();
            changes.iter().for_each(|change| event.evolve(at, change));
            FeedEntry { seq: Seq(seq), at, event: id.clone(), changes }
        });
        decided.collect()
    }

    fn copy(asked: Instant) -> EventCopy {
        let copy = EventCopy::new("e".parse().expect("an id"));
        copy.apply(&line(), head(4), fresh(asked)).expect("they go on from nothing");
        copy
    }

    #[test]
    fn copy_answers_as_long_as_it_is_known_to_be_all_there_was_and_no_longer() {
        let begun = Instant::now();
        let copy = copy(begun);
        let answer = copy.answer(&place_of(1), as_of(4), begun).expect("it is fresh");
        assert_eq!((answer.at, answer.as_of), (Time(5_000), Some(as_of(4))));
        let last = begun + AGE;
        let just = last.checked_sub(Duration::from_nanos(1)).expect("a time");
        assert!(copy.answer(&place_of(1), as_of(4), just).is_some());
        assert_eq!(copy.answer(&place_of(1), as_of(4), last), None);
        // Looked at again, it is good for as long from that look on.
        let Some(again) = fresh(last) else { panic!("it is") };
        copy.is_all(head(4), again).expect("Redis is as far");
        assert!(copy.answer(&place_of(1), as_of(4), last).is_some());
        copy.give_up();
        assert_eq!(copy.answer(&place_of(1), as_of(4), last), None);
    }

    #[test]
    fn copy_tells_only_who_waits_and_was_told_no_more() {
        let now = Instant::now();
        let copy = copy(now);
        assert!(copy.answer(&place_of(0), AsOf { epoch: 2, seq: Seq(9) }, now).is_some());
        assert_eq!(copy.answer(&place_of(0), as_of(5), now), None);
        assert_eq!(copy.answer(&place_of(0), AsOf { epoch: 4, seq: Seq(0) }, now), None);
        assert_eq!(copy.answer(&place_of(2), as_of(4), now), None, "nobody has that place");
        assert_eq!(copy.answer(&EventNow.into(), as_of(4), now), None);
        assert!(copy.was_asked() && !copy.was_asked());
    }

    /// Of a user with two places, the second would be told of once the first has lapsed.
    #[test]
    fn place_that_lapses_before_its_answer_is_too_old_is_not_told_of() {
        let now = Instant::now();
        let copy = copy(now);
        let at = Time(1_000);
        let mut decided = Event::new(copy.event.clone());
        replay_page(&mut decided, &line()).expect("it fits");
        let opened = Command::OpenSale { seed: None, public_value: None };
        let changes = decided.decide(at, &opened).expect("accepted").changes.to_vec();
        changes.iter().for_each(|change| decided.evolve(at, change));
        let view = decided.ask(at, PlaceOf { user: user(1), place: None }).expect("a place");
        let PlaceState::Queued { lapses_at: Some(lapses_at), .. } = view.state else {
            panic!("{view:?}")
        };
        let event = copy.event.clone();
        let entry = FeedEntry { seq: Seq(5), at, event, changes };
        let look = |at: Time| Fresh { asked: now, at, age: AGE };
        let age_ms = 1_000;
        let before = look(lapses_at.plus_ms(-age_ms - 1));
        copy.apply(&[entry], head(5), Some(before)).expect("it goes on");
        assert!(copy.answer(&place_of(1), as_of(5), now).is_some());
        copy.is_all(head(5), look(lapses_at.plus_ms(-age_ms))).expect("Redis is as far");
        assert_eq!(copy.answer(&place_of(1), as_of(5), now), None);
    }

    #[test]
    fn copy_whose_history_is_another_answers_no_more() {
        let now = Instant::now();
        let refuses = |copy: &EventCopy, unfit: Result<(), Unfit>| {
            assert_eq!(unfit, Err(Unfit::Other));
            assert_eq!(copy.answer(&place_of(0), as_of(4), now), None);
        };
        let Some(later) = fresh(now) else { panic!("it is") };
        let other = Head { mark: Some(Mark(9)), ..head(4) };
        let of = copy(now);
        refuses(&of, of.is_all(other, later));
        let of = copy(now);
        refuses(&of, of.is_all(head(5), later));
        let of = copy(now);
        let gap = FeedEntry { seq: Seq(6), ..line().remove(3) };
        refuses(&of, of.apply(&[gap], head(6), fresh(now)));
        let of = copy(now);
        let created_twice = FeedEntry { seq: Seq(5), ..line().remove(0) };
        let broken = of.apply(&[created_twice], head(5), fresh(now));
        assert!(matches!(broken, Err(Unfit::Broken(_))), "{broken:?}");
        assert_eq!(of.answer(&place_of(0), as_of(4), now), None);
    }

    /// As while an opening with a draw is applied: nobody stands in line for it.
    #[test]
    fn who_asks_while_a_copy_is_written_is_not_kept_waiting() {
        let now = Instant::now();
        let copy = copy(now);
        let written = copy.write();
        assert_eq!(copy.answer(&place_of(0), as_of(4), now), None);
        drop(written);
        assert!(copy.answer(&place_of(0), as_of(4), now).is_some());
    }
}
