//! Erases who bought, once their event has been over for as long as is configured.
//!
//! That an event is over is noted when it is seen, so what is counted is the time since then: it
//! may be longer than the time since the sale was closed, and is never shorter. An event that begins
//! later than was said when it was noted is counted from its beginning. On a cluster one node at a
//! time does it.

use super::sagas::Sagas;
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::{Phase, Refusal, Time};
use onrush_ledger::retention::ERASED_AT_ONCE;
use onrush_store::{Ask, Failure};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it is looked what there is to erase.
const EVERY: Duration = Duration::from_secs(3_600);
/// What the turn is called, and how long the other nodes wait for a word of the one that has it.
const TURN: &str = "retention";
const TURN_MS: u32 = 60_000;
/// Events that are looked at in one go.
const EVENTS: usize = 100;
const DAY_MS: i64 = 24 * 3_600_000;

/// Erases what is due, now and each hour, until everything stops.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    if sagas.retention.buyers_days == 0 {
        return;
    }
    while !sagas.is_stopping() {
        if let Err(why) = sagas.erase_past_buyers().await {
            tracing::warn!(why, "who bought long ago could not be erased; trying again in an hour");
        }
        tokio::select! {
            biased;
            () = sagas.stopped() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

impl Sagas {
    /// Notes which events are over, and erases who bought at those that have been for long enough;
    /// says how many. Nobody is erased while another node does it, or while a payment, a refund or
    /// something for an operator to do is under way for what they bought.
    ///
    /// # Errors
    /// What could not be asked, as a sentence. What was erased until then stays so.
    pub async fn erase_past_buyers(&self) -> Result<u64, String> {
        if self.retention.buyers_days == 0 || !self.take_turn().await? {
            return Ok(0);
        }
        let erased = self.erase_in_turn().await;
        if let Some(cluster) = &self.cluster {
            // If this cannot be said now, the others wait a little longer.
            drop(cluster.end_turn(TURN.into()).await);
        }
        erased
    }

    /// An event that nobody tells of keeps no other from what is due: the first trouble is told in the
    /// end.
    async fn erase_in_turn(&self) -> Result<u64, String> {
        let mut done = self.note_what_is_over().await;
        let kept_ms = i64::from(self.retention.buyers_days) * DAY_MS;
        let by = self.now().plus_ms(-kept_ms);
        let (mut after, mut all) = (None, 0);
        loop {
            let events = self.ledger.events_over(by, after, EVENTS).await;
            let events = events.map_err(|error| error.to_string())?;
            for event in &events {
                // What is to be undone by nobody is looked at twice: it may begin later by now.
                match self.is_over(event, by).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(why) => {
                        done = done.and(Err(why));
                        continue;
                    }
                }
                let erased = self.erase_buyers_of(event).await?;
                if erased > 0 {
                    tracing::info!(%event, erased, "who bought was erased: the event is long over");
                }
                all += erased;
            }
            after = events.last().cloned();
            if events.len() < EVENTS || self.is_stopping() || !self.take_turn().await? {
                return done.map(|()| all);
            }
        }
    }

    async fn note_what_is_over(&self) -> Result<(), String> {
        let (mut after, mut done) = (None, Ok(()));
        loop {
            let events = self.ledger.events_not_over(after, EVENTS).await;
            let events = events.map_err(|error| error.to_string())?;
            let mut over = Vec::new();
            for event in &events {
                match self.is_over(event, self.now()).await {
                    Ok(true) => over.push(event.clone()),
                    Ok(false) => {}
                    Err(why) => done = done.and(Err(why)),
                }
            }
            if !over.is_empty() {
                let noted = self.ledger.note_over(over, self.now()).await;
                noted.map_err(|error| error.to_string())?;
            }
            after = events.last().cloned();
            if events.len() < EVENTS || self.is_stopping() || !self.take_turn().await? {
                return done;
            }
        }
    }

    /// Erases who bought at an event, some at a time.
    async fn erase_buyers_of(&self, event: &EventId) -> Result<u64, String> {
        let mut all = 0;
        loop {
            let erased = self.ledger.erase_buyers_of(event).await;
            let erased = erased.map_err(|error| error.to_string())?;
            self.counts.erased.fetch_add(erased, Ordering::Relaxed);
            all += erased;
            if erased < ERASED_AT_ONCE || self.is_stopping() || !self.take_turn().await? {
                return Ok(all);
            }
        }
    }

    /// Whether an event is over: it is closed, and had begun by then as far as the organiser says
    /// when it does; or it is gone. Sales are often closed long before the doors open.
    async fn is_over(&self, event: &EventId, by: Time) -> Result<bool, String> {
        match self.engine.ask(event.clone(), EventNow).await {
            Ok(answer) => {
                let event = answer.value;
                let had_begun = event.settings.starts_at.is_none_or(|starts_at| starts_at <= by);
                Ok(event.phase == Phase::Closed && had_begun)
            }
            Err(Failure::Refused(Refusal::EventNotFound | Refusal::EventArchived { .. })) => {
                Ok(true)
            }
            Err(failure) => Err(format!("{event} cannot be looked at: {failure}")),
        }
    }

    /// Takes or keeps the turn; true where there is one node only.
    async fn take_turn(&self) -> Result<bool, String> {
        let Some(cluster) = &self.cluster else { return Ok(true) };
        cluster.take_turn(TURN.into(), TURN_MS).await.map_err(|error| error.to_string())
    }
}
