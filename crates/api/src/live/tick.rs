//! What streams are told at intervals: positions that changed, holds that run out soon, seats that changed.

use super::conn::{Conn, Doing};
use super::error::LiveError;
use super::message::{Content, Message};
use super::{EXPIRING_MS, FAR_TICKS, Hub, KEEP_ALIVE_TICKS, Streams, TICKS_PER_S, doing};
use onrush_core::ids::EventId;
use onrush_core::question::{BookingOf, EventNow, PlaceOf};
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Command, Refusal, Time};
use onrush_store::{Ask, Failure};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// What is to be done at one tick.
#[derive(Default)]
struct Due {
    positions: Vec<Arc<Conn>>,
    expiring: Vec<EventId>,
    seats: Vec<EventId>,
    admissions: Vec<EventId>,
}

impl Hub {
    /// Ticks as long as streams are open.
    pub(super) async fn tick(self: Arc<Self>) {
        let mut interval = tokio::time::interval(Duration::from_secs(1) / TICKS_PER_S);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let due = {
                let mut streams = self.streams();
                if streams.events.is_empty() {
                    streams.ticking = false;
                    return;
                }
                streams.due()
            };
            self.tell_positions(due.positions).await;
            for event in due.expiring {
                if let Err(error) = self.tell_expiring(&event).await {
                    tracing::debug!(%error, %event, "holds that run out were not told");
                }
            }
            for event in due.admissions {
                if let Err(error) = self.tell_admission(&event).await {
                    tracing::debug!(%error, %event, "whether anybody is let in was not told");
                }
            }
            for event in due.seats {
                if let Err(error) = self.tell_seats(&event).await {
                    tracing::debug!(%error, %event, "changed seats are told later");
                    if let Some(channel) = self.streams().events.get_mut(&event) {
                        channel.seats_changed = true;
                    }
                }
            }
        }
    }

    async fn tell_positions(&self, conns: Vec<Arc<Conn>>) {
        // All are asked before any answer is awaited, so that they are decided and committed together.
        let ask = |conn: Arc<Conn>| {
            let place = PlaceOf { user: conn.user.clone(), place: conn.place };
            let answer = self.engine.ask_since(conn.event.clone(), place, conn.as_of());
            (conn, answer)
        };
        let asked: Vec<_> = conns.into_iter().map(ask).collect();
        for (conn, answer) in asked {
            let answer = answer.await;
            // What the feed told meanwhile is newer than this answer, and has the visitor looked at again.
            if conn.seen_moves.load(Ordering::Relaxed) == u64::MAX {
                continue;
            }
            let place = match answer {
                Ok(answer) => {
                    self.give_sign_of_life(&conn, &answer.value);
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
                    continue;
                }
            };
            // An admission that the feed told meanwhile is newer than this answer.
            if conn.doing() == Doing::Shopping {
                continue;
            }
            conn.set_doing(doing(place.as_ref()));
            if place.is_some() {
                conn.send(Message::new(&self.content_of(&conn, place)));
            }
        }
    }

    /// Whether a state of that time has all moves of the line that the feed told of.
    fn knows_moves(&self, event: &EventId, at: Time) -> bool {
        self.streams().events.get(event).is_none_or(|channel| channel.moved_at < at)
    }

    /// A visitor who waits with a stream open is there: their place does not lapse.
    fn give_sign_of_life(&self, conn: &Conn, place: &PlaceView) {
        if matches!(place.state, PlaceState::Queued { see_due: true, .. }) {
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
        let now = self.boards.now(event).await?;
        let mut streams = self.streams();
        let Some(channel) = streams.events.get_mut(event) else { return Ok(()) };
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
    fn due(&mut self) -> Due {
        self.tick = self.tick.wrapping_add(1);
        let tick = self.tick;
        let slot = (tick % FAR_TICKS) as usize;
        let mut due = Due::default();
        for weak in std::mem::take(&mut self.ring[slot]) {
            let Some(conn) = weak.upgrade() else { continue };
            let moves = self.events.get(&conn.event).map_or(0, |channel| channel.moves);
            let next = match conn.doing() {
                Doing::WaitingNear => (slot + TICKS_PER_S as usize) % FAR_TICKS as usize,
                Doing::WaitingFar | Doing::Shopping | Doing::Nothing => slot,
            };
            let waits = matches!(conn.doing(), Doing::WaitingNear | Doing::WaitingFar);
            let silent_ticks = tick.wrapping_sub(conn.last_sent_tick.load(Ordering::Relaxed));
            if waits && conn.seen_moves.swap(moves, Ordering::Relaxed) != moves {
                conn.last_sent_tick.store(tick, Ordering::Relaxed);
                due.positions.push(conn);
            } else if silent_ticks >= KEEP_ALIVE_TICKS {
                conn.last_sent_tick.store(tick, Ordering::Relaxed);
                if waits {
                    // Also in a line that stands still: the look tells whether the place needs a
                    // sign of life.
                    due.positions.push(conn);
                } else {
                    conn.send(Message::keep_alive());
                }
            }
            self.ring[next].push(weak);
        }
        if tick.is_multiple_of(TICKS_PER_S) {
            for (event, channel) in &mut self.events {
                if !channel.expiring.is_empty() {
                    due.expiring.push(event.clone());
                }
                if std::mem::take(&mut channel.admission_may_differ) && !channel.roomless {
                    due.admissions.push(event.clone());
                }
                let someone_may_hold = channel.roomless || channel.has_shoppers();
                if channel.seats_changed && someone_may_hold {
                    channel.seats_changed = false;
                    due.seats.push(event.clone());
                }
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
