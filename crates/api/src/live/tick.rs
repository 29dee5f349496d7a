//! What streams are told at intervals: positions that changed, holds that run out soon, seats that changed.

use super::conn::{Conn, Doing};
use super::error::LiveError;
use super::message::{Content, Message};
use super::{EXPIRING_MS, FAR_TICKS, Hub, KEEP_ALIVE_TICKS, Streams, TICKS_PER_S, doing};
use futures_util::future::join_all;
use indexmap::IndexMap;
use onrush_core::ids::EventId;
use onrush_core::question::{BookingOf, EventNow, PlaceOf};
use onrush_core::view::PlaceView;
use onrush_core::{Command, Refusal, Time};
use onrush_store::{Answer, Ask, Failure};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// Positions of an event that are asked for at once.
const AT_ONCE: usize = 256;

/// What an event's streams are to be told at one tick.
#[derive(Default)]
pub(super) struct Due {
    positions: Vec<Arc<Conn>>,
    /// Streams of shoppers, who may wait with other places besides.
    shoppers: Vec<Arc<Conn>>,
    expiring: bool,
    seats: bool,
    admission: bool,
}

/// An event whose streams are told something, until it is dropped.
struct Telling<'a> {
    hub: &'a Hub,
    event: &'a EventId,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if let Some(channel) = self.hub.streams().events.get_mut(self.event) {
            channel.telling = false;
        }
    }
}

impl Hub {
    /// Ticks as long as streams are open. Each event is told by a task of its own: where an event's
    /// part of the engine does not answer, its streams wait, and no others.
    pub(super) async fn tick(self: Arc<Self>) {
        let mut interval = tokio::time::interval(Duration::from_secs(1) / TICKS_PER_S);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let mut streams = self.streams();
            if streams.events.is_empty() {
                streams.ticking = false;
                return;
            }
            while streams.tasks.try_join_next().is_some() {}
            for (event, due) in streams.due() {
                streams.tasks.spawn(self.clone().tell(event, due));
            }
        }
    }

    async fn tell(self: Arc<Self>, event: EventId, due: Due) {
        let _telling = Telling { hub: &self, event: &event };
        self.tell_positions(&due.positions).await;
        self.look_at_shoppers(&due.shoppers).await;
        if due.expiring
            && let Err(error) = self.tell_expiring(&event).await
        {
            tracing::debug!(%error, %event, "holds that run out were not told");
        }
        if due.admission
            && let Err(error) = self.tell_admission(&event).await
        {
            tracing::debug!(%error, %event, "whether anybody is let in was not told");
        }
        if due.seats
            && let Err(error) = self.tell_seats(&event).await
        {
            tracing::debug!(%error, %event, "changed seats are told later");
            if let Some(channel) = self.streams().events.get_mut(&event) {
                channel.seats_changed = true;
            }
        }
    }

    async fn tell_positions(&self, conns: &[Arc<Conn>]) {
        let mut parts = conns.chunks(AT_ONCE);
        while let Some(part) = parts.next() {
            let answers = self.places_of(part).await;
            let away = [Failure::Unreachable, Failure::Faulty].map(Err);
            let is_away = away.iter().any(|away| answers.contains(away));
            for (conn, answer) in part.iter().zip(answers) {
                self.tell_position(conn, answer);
            }
            if is_away {
                // The others are asked for at their next turn.
                let others = parts.by_ref().flatten();
                others.for_each(|conn| conn.seen_moves.store(u64::MAX, Ordering::Relaxed));
            }
        }
    }

    /// Where these visitors stand.
    async fn places_of(&self, conns: &[Arc<Conn>]) -> Vec<Result<Answer<PlaceView>, Failure>> {
        // All are asked before any answer is awaited, so that they are decided and committed together.
        let ask = |conn: &Arc<Conn>| {
            let place = PlaceOf { user: conn.user.clone(), place: conn.place };
            self.engine.ask_since(conn.event.clone(), place, conn.as_of())
        };
        join_all(conns.iter().map(ask).collect::<Vec<_>>()).await
    }

    /// Nothing is told to shoppers: the feed has what concerns them. But the places with which they
    /// wait besides do not lapse.
    async fn look_at_shoppers(&self, conns: &[Arc<Conn>]) {
        for part in conns.chunks(AT_ONCE) {
            for (conn, answer) in part.iter().zip(self.places_of(part).await) {
                if let Ok(answer) = answer {
                    self.give_sign_of_life(conn, &answer.value);
                    conn.set_as_of(answer.as_of);
                }
            }
        }
    }

    fn tell_position(&self, conn: &Conn, answer: Result<Answer<PlaceView>, Failure>) {
        // What the feed told meanwhile is newer than this answer, and has the visitor looked at again.
        if conn.seen_moves.load(Ordering::Relaxed) == u64::MAX {
            return;
        }
        let place = match answer {
            Ok(answer) => {
                self.give_sign_of_life(conn, &answer.value);
                conn.set_as_of(answer.as_of);
                if answer.as_of.is_some() && !self.knows_moves(&conn.event, answer.at) {
                    // A node's copy may be behind what the feed told: it is looked at again.
                    conn.seen_moves.store(u64::MAX, Ordering::Relaxed);
                }
                Some(answer.value)
            }
            Err(Failure::Refused(Refusal::PlaceNotFound)) => None,
            // Asked again at its next turn.
            Err(_) => {
                conn.seen_moves.store(u64::MAX, Ordering::Relaxed);
                return;
            }
        };
        // An admission that the feed told meanwhile is newer than this answer.
        if conn.doing() == Doing::Shopping {
            return;
        }
        conn.set_doing(doing(place.as_ref()));
        if place.is_some() {
            conn.send(Message::new(&self.content_of(conn, place)));
        }
    }

    /// Whether a state of that time has all moves of the line that the feed told of.
    fn knows_moves(&self, event: &EventId, at: Time) -> bool {
        self.streams().events.get(event).is_none_or(|channel| channel.moved_at < at)
    }

    /// A visitor with a stream open is there: the places with which they wait do not lapse.
    fn give_sign_of_life(&self, conn: &Conn, place: &PlaceView) {
        if place.state.see_due() {
            let command = Command::See { place: place.place, user: conn.user.clone() };
            // Nobody waits for the answer: a sign that is lost is given again at the next look.
            drop(self.engine.execute(conn.event.clone(), command));
        }
    }

    async fn tell_expiring(&self, event: &EventId) -> Result<(), LiveError> {
        let now = self.engine.ask(event.clone(), EventNow).await?.at;
        let soon = now.plus_ms(EXPIRING_MS);
        let mut due: Vec<_> = Vec::new();
        if let Some(channel) = self.streams().events.get_mut(event) {
            while channel.expiring.first().is_some_and(|(until, _)| *until <= soon) {
                due.extend(channel.expiring.pop_first());
            }
        }
        for nth in 0..due.len() {
            let booking = due[nth].1.clone();
            let anyones = BookingOf { booking: booking.clone(), user: None };
            let view = match self.engine.ask(event.clone(), anyones).await {
                Ok(answer) => answer.value,
                Err(Failure::Refused(_)) => continue,
                Err(failure) => {
                    // They are told with the next look.
                    if let Some(channel) = self.streams().events.get_mut(event) {
                        channel.expiring.extend(due.drain(nth..));
                    }
                    return Err(failure.into());
                }
            };
            // A hold that was extended has another entry for its new end.
            if let Some(until) = view.state.until().filter(|until| *until <= soon)
                && let Some(channel) = self.streams().events.get(event)
                && let Some(watcher) = channel.users.get(&view.terms.user)
            {
                let message = Message::new(&Content::HoldExpiring { booking: &booking, until });
                watcher.conns.iter().for_each(|conn| conn.send(message.clone()));
            }
        }
        Ok(())
    }

    /// Tells everybody whether anybody is let in, if that has changed.
    async fn tell_admission(&self, event: &EventId) -> Result<(), LiveError> {
        let answer = self.engine.ask(event.clone(), EventNow).await;
        let mut streams = self.streams();
        let Some(channel) = streams.events.get_mut(event) else { return Ok(()) };
        // Without an answer it is looked at again.
        channel.admission_may_differ |= answer.is_err();
        let admission = answer?.value.admission;
        if std::mem::replace(&mut channel.admission_told, admission) != admission {
            channel.tell_all(&Message::new(&Content::Admission { admission }));
        }
        Ok(())
    }

    async fn tell_seats(&self, event: &EventId) -> Result<(), LiveError> {
        let decided = self.engine.committed();
        let now = self.boards.lately(event).await?;
        let mut streams = self.streams();
        let Some(channel) = streams.events.get_mut(event) else { return Ok(()) };
        // What was decided since it was read is told at a later turn.
        channel.seats_changed |= now.committed() < decided;
        if let Some(told) = channel.seats_told.replace(now.clone()) {
            let changed = now.changed_since(&told);
            if !changed.is_empty() {
                let content = Content::Seats { at: now.at(), changed: &changed };
                let message = Message::new(&content);
                for conn in channel.users.values().flat_map(|watcher| &watcher.conns) {
                    if channel.roomless || conn.doing() == Doing::Shopping {
                        conn.send(message.clone());
                    }
                }
            }
        }
        Ok(())
    }
}

impl Streams {
    /// What is due now, by event. Whoever is told something just now is looked at again at their
    /// next turn.
    fn due(&mut self) -> IndexMap<EventId, Due> {
        self.tick = self.tick.wrapping_add(1);
        let tick = self.tick;
        let slot = (tick % FAR_TICKS) as usize;
        let mut due = IndexMap::<EventId, Due>::new();
        for weak in std::mem::take(&mut self.ring[slot]) {
            let Some(conn) = weak.upgrade() else { continue };
            let channel = self.events.get(&conn.event);
            let (moves, telling) =
                channel.map_or((0, false), |channel| (channel.moves, channel.telling));
            let next = match conn.doing() {
                Doing::WaitingNear => (slot + TICKS_PER_S as usize) % FAR_TICKS as usize,
                Doing::WaitingFar | Doing::Shopping | Doing::Nothing => slot,
            };
            let waits = matches!(conn.doing(), Doing::WaitingNear | Doing::WaitingFar);
            let silent_ticks = tick.wrapping_sub(conn.last_sent_tick.load(Ordering::Relaxed));
            let asks = waits && !telling;
            if asks && conn.seen_moves.swap(moves, Ordering::Relaxed) != moves {
                conn.last_sent_tick.store(tick, Ordering::Relaxed);
                due.entry(conn.event.clone()).or_default().positions.push(conn);
            } else if silent_ticks >= KEEP_ALIVE_TICKS {
                conn.last_sent_tick.store(tick, Ordering::Relaxed);
                if asks {
                    // Also in a line that stands still: the look tells whether the place needs a
                    // sign of life.
                    due.entry(conn.event.clone()).or_default().positions.push(conn);
                } else {
                    conn.send(Message::keep_alive());
                    if conn.doing() == Doing::Shopping && !telling {
                        due.entry(conn.event.clone()).or_default().shoppers.push(conn);
                    }
                }
            }
            self.ring[next].push(weak);
        }
        if tick.is_multiple_of(TICKS_PER_S) {
            let quiet = self.events.iter_mut().filter(|(_, channel)| !channel.telling);
            for (event, channel) in quiet {
                let expiring = !channel.expiring.is_empty();
                let admission =
                    std::mem::take(&mut channel.admission_may_differ) && !channel.roomless;
                let someone_may_hold = channel.roomless || channel.has_shoppers();
                let seats = someone_may_hold && std::mem::take(&mut channel.seats_changed);
                if expiring || admission || seats {
                    let due = due.entry(event.clone()).or_default();
                    *due = Due { expiring, admission, seats, ..std::mem::take(due) };
                }
            }
        }
        for event in due.keys() {
            if let Some(channel) = self.events.get_mut(event) {
                channel.telling = true;
            }
        }
        due
    }
}

impl super::Channel {
    fn has_shoppers(&self) -> bool {
        let mut conns = self.users.values().flat_map(|watcher| &watcher.conns);
        conns.any(|conn| conn.doing() == Doing::Shopping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::message::Kind;
    use crate::live::samples;
    use crate::live::seats::Boards;
    use crate::live::{Open, StreamLimits};
    use crate::plans::PlanDir;
    use onrush_base::auth::keys::KeyDir;
    use onrush_base::auth::pass::PassSigner;
    use onrush_core::ids::{PlaceId, UserId};
    use onrush_core::question::Query;
    use onrush_core::settings::RoomSettings;
    use onrush_core::view::{AvailabilityView, PlaceState};
    use onrush_core::{Time, View};
    use onrush_store::embedded::{Clock, ManualClock};
    use std::sync::atomic::AtomicBool;
    use tokio::time::timeout;

    /// What the engine says, in which `silent` tells nothing once it is said to.
    fn told(event: &EventId, query: &Query, is_silent: &AtomicBool) -> Option<View> {
        if event.as_str() == "silent" && is_silent.load(Ordering::Relaxed) {
            return None;
        }
        let position = Some(7);
        let state =
            PlaceState::Queued { position, total: 9, lapses_at: Some(Time(2)), see_due: false };
        Some(match query {
            Query::Event(_) => {
                let mut view = samples::tests::view(event.as_str());
                view.settings.room = Some(RoomSettings::default());
                View::Event(Box::new(view))
            }
            Query::Seats(_) => View::Seats(vec![]),
            Query::Bookings(_) => View::Bookings(vec![]),
            Query::Availability(_) => {
                View::Availability(Box::new(AvailabilityView { pools: vec![], categories: vec![] }))
            }
            _ => View::Place(PlaceView { place: PlaceId::from_u128(1), number: 1, state }),
        })
    }

    /// Moves an event's line, and waits for a stream to tell its position.
    async fn is_told(hub: &Hub, open: &Open) -> bool {
        let event = &open.conn.event;
        hub.streams().events.get_mut(event).unwrap().moves += 1;
        let told = async { while open.next().await.unwrap().kind() != Kind::Position {} };
        timeout(Duration::from_secs(30), told).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_the_engine_does_not_answer_for_keeps_no_other_waiting() {
        let (dir, is_silent) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
        let answers = {
            let is_silent = is_silent.clone();
            move |event: &EventId, query: &Query| told(event, query, &is_silent).map(Ok)
        };
        let engine = Arc::new(EngineStub::telling(answers));
        let keys = KeyDir::open(dir.path()).unwrap();
        let boards = Boards::new(engine.clone(), PlanDir::open(dir.path(), None).unwrap());
        let clock = Clock::Manual(ManualClock::new(Time(0)));
        let passes = PassSigner::open(&keys, "onrush", clock).unwrap();
        let limits = StreamLimits { all: 9, per_user: 9, per_address: 9 };
        let hub = Hub::new(engine, Arc::new(boards), Arc::new(passes), limits);
        let (event, user) = (|name: &str| name.parse().unwrap(), "ann".parse::<UserId>().unwrap());
        let mut streams = Vec::new();
        for name in ["silent", "works"] {
            let open = hub.open(event(name), user.clone(), None, None).await.unwrap();
            assert!(is_told(&hub, &open).await && is_told(&hub, &open).await, "{name}");
            streams.push(open);
        }
        is_silent.store(true, Ordering::Relaxed);
        assert!(!is_told(&hub, &streams[0]).await, "it tells nothing");
        assert!(is_told(&hub, &streams[1]).await, "its line moves");
        assert!(!hub.streams().events[&event("works")].telling);
        hub.ended().await;
    }

    /// They wait with another place, whose last sign of life is long ago.
    #[tokio::test(start_paused = true)]
    async fn a_shopper_with_a_stream_open_gives_signs_of_life() {
        let dir = tempfile::tempdir().unwrap();
        let silent = AtomicBool::new(false);
        let answers = move |event: &EventId, query: &Query| match query {
            Query::Place(_) => {
                let state = PlaceState::Active { until: Time(9), arrive_by: None, see_due: true };
                Some(Ok(View::Place(PlaceView { place: PlaceId::from_u128(1), number: 1, state })))
            }
            _ => told(event, query, &silent).map(Ok),
        };
        let engine = Arc::new(EngineStub::telling(answers));
        let keys = KeyDir::open(dir.path()).unwrap();
        let boards = Boards::new(engine.clone(), PlanDir::open(dir.path(), None).unwrap());
        let clock = Clock::Manual(ManualClock::new(Time(0)));
        let passes = PassSigner::open(&keys, "onrush", clock).unwrap();
        let limits = StreamLimits { all: 9, per_user: 9, per_address: 9 };
        let hub = Hub::new(engine.clone(), Arc::new(boards), Arc::new(passes), limits);
        let (event, user) = ("works".parse().unwrap(), "ann".parse().unwrap());
        let open = hub.open(event, user, None, None).await.unwrap();
        assert_eq!(open.conn.doing(), Doing::Shopping);
        // The look that begins with one is over by the next.
        for _ in 0..2 {
            while open.next().await.unwrap().kind() != Kind::KeepAlive {}
        }
        assert!(engine.signs.load(Ordering::Relaxed) > 0);
        hub.ended().await;
    }
}
