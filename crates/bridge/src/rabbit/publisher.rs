//! The publisher, on one node at a time: what the feed says about deadlines and freed slots goes to RabbitMQ.
//!
//! It reads the next page of the feed only when RabbitMQ has the last one for good. While RabbitMQ
//! is away the feed is not read, so that nothing piles up here, and nobody waits for it.

use super::bodies::{Content, Draft, Message, Timeout, Whose, drafts, seconds};
use super::deps::{RabbitDeps, stopped};
use super::error::RabbitError;
use super::link::{self, Outlet, Pauses};
use super::topology::Topology;
use crate::cursors::{CursorError, Fence};
use crate::page_span::page_span;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use lapin::PublisherConfirm;
use onrush_base::config::rabbit::RabbitSettings;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::question::BookingOf;
use onrush_store::{Ask, Failure, FeedEntry, FeedPage, Seq};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument;

/// How long the cursor may stay behind if the feed has nothing for RabbitMQ.
const QUIET: Duration = Duration::from_secs(1);
/// How long to wait for leases, cursors or an engine that do not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// Bookings whose users are asked for at a time.
const QUESTIONS: usize = 32;
/// How long giving the lease back may take at the end.
const GOODBYE: Duration = Duration::from_secs(2);

/// Publishes, whenever it is this node's turn, until `stop` says so or the engine has stopped.
pub(super) async fn run(
    settings: RabbitSettings,
    topology: Arc<Topology>,
    parts: RabbitDeps,
    mut stop: watch::Receiver<bool>,
) {
    let name = super::cursor_name(&settings);
    let publisher = Publisher { settings, topology, parts, name, pauses: Pauses::default() };
    while !*stop.borrow() {
        let ended = tokio::select! {
            ended = publisher.serve() => ended,
            () = stopped(&mut stop) => Ok(()),
        };
        publisher.step_down().await;
        let Err(trouble) = ended else { break };
        publisher.parts.health.count(|counts| &counts.failures, 1);
        let pause = publisher.pauses.next(&publisher.settings.tuning);
        tracing::warn!(%trouble, ?pause, "RabbitMQ is told nothing; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stopped(&mut stop) => break,
        }
    }
}

struct Publisher {
    settings: RabbitSettings,
    topology: Arc<Topology>,
    parts: RabbitDeps,
    /// Of the lease and the cursor.
    name: String,
    pauses: Pauses,
}

/// Why publishing ended.
enum Ended {
    /// The engine has stopped, and all was sent.
    Done,
    /// Another node has the lease.
    Overtaken,
    /// RabbitMQ is away.
    Link(RabbitError),
    /// Something else is.
    Other(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("the engine has stopped"),
            Self::Overtaken => f.write_str("another node publishes"),
            Self::Link(trouble) => trouble.fmt(f),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl From<RabbitError> for Ended {
    fn from(trouble: RabbitError) -> Self {
        Self::Link(trouble)
    }
}

impl From<CursorError> for Ended {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Fenced => Self::Overtaken,
            CursorError::Unavailable(_) => Self::Other(error.to_string()),
        }
    }
}

impl Publisher {
    /// Connects and publishes until the connection breaks, or for good if the engine has stopped.
    async fn serve(&self) -> Result<(), RabbitError> {
        let connection = link::connect(&self.settings, &self.topology, "onrush publisher").await?;
        let tuning = &self.settings.tuning;
        let outlet = Outlet::open(&connection, self.topology.clone(), tuning).await?;
        self.parts.health.set(|state| state.publisher_connected = true);
        let ended = tokio::select! {
            ended = self.take_turns(&outlet) => ended,
            trouble = link::broken(&connection) => Err(trouble),
        };
        link::close(&connection, tuning).await;
        ended
    }

    /// Lets another node go on: at the end, and as long as this one has no connection.
    async fn step_down(&self) {
        self.parts.health.set(|state| {
            (state.publisher_connected, state.publishing) = (false, false);
        });
        self.give_back().await;
    }

    async fn give_back(&self) {
        let released = self.parts.cursors.release(self.name.clone());
        // If it cannot be given back it runs out.
        drop(tokio::time::timeout(GOODBYE, released).await);
    }

    /// Publishes whenever the lease can be had.
    async fn take_turns(&self, outlet: &Outlet) -> Result<(), RabbitError> {
        loop {
            let ended = match self.lease().await {
                Ok(fence) => {
                    self.parts.health.set(|state| state.publishing = true);
                    let ended = tokio::select! {
                        ended = self.follow(outlet, fence) => ended,
                        ended = self.keep(fence) => ended,
                    };
                    self.parts.health.set(|state| state.publishing = false);
                    ended
                }
                Err(ended) => ended,
            };
            match ended {
                Ended::Done => return Ok(()),
                Ended::Link(trouble) => return Err(trouble),
                Ended::Overtaken => tokio::time::sleep(self.renewal()).await,
                Ended::Other(why) => {
                    tracing::warn!(why, "RabbitMQ cannot be told what happens; trying again");
                    // What stands in this node's way need not stand in another's.
                    self.give_back().await;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn renewal(&self) -> Duration {
        Duration::from_millis(u64::from(self.settings.tuning.lease_ms) / 3)
    }

    async fn lease(&self) -> Result<Fence, Ended> {
        let lease = self.parts.cursors.lease(self.name.clone(), self.settings.tuning.lease_ms);
        lease.await?.ok_or(Ended::Overtaken)
    }

    /// Renews the lease until it is lost.
    async fn keep(&self, fence: Fence) -> Ended {
        loop {
            tokio::time::sleep(self.renewal()).await;
            match self.lease().await {
                Ok(renewed) if renewed == fence => {}
                // It ran out and somebody had it meanwhile: what they sent is not to be sent again.
                Ok(_) => return Ended::Overtaken,
                Err(ended) => return ended,
            }
        }
    }

    /// Sends what the feed says from the cursor on.
    async fn follow(&self, outlet: &Outlet, fence: Fence) -> Ended {
        match self.try_follow(outlet, fence).await {
            Ok(()) => Ended::Done,
            Err(ended) => ended,
        }
    }

    async fn try_follow(&self, outlet: &Outlet, fence: Fence) -> Result<(), Ended> {
        let cursors = &self.parts.cursors;
        let after = cursors.cursor(self.name.clone()).await?;
        let mut feed = self.parts.engine.subscribe(after);
        let save = |last| cursors.set_cursor(self.name.clone(), fence, last);
        // What was looked through, had nothing for RabbitMQ, and is not written down yet.
        let mut quiet: Option<Seq> = None;
        let mut save_at = Instant::now() + QUIET;
        loop {
            let page = tokio::select! {
                page = feed.next() => page.map_err(Ended::Other)?,
                () = tokio::time::sleep_until(save_at), if quiet.is_some() => Some(FeedPage::new()),
            };
            let Some(page) = page else { break };
            let sent = self.send(outlet, &page).instrument(page_span("rabbitmq", &page)).await?;
            quiet = page.last().map(|entry| entry.seq).or(quiet);
            if let Some(last) = quiet
                && (sent > 0 || Instant::now() >= save_at)
            {
                save(last).await?;
                self.pauses.reset();
                quiet = None;
                save_at = Instant::now() + QUIET;
            }
            self.parts.health.count(|counts| &counts.published, sent);
        }
        match quiet {
            Some(last) => Ok(save(last).await?),
            None => Ok(()),
        }
    }

    /// Sends what a page says; comes back when RabbitMQ has all of it, with how many messages that was.
    async fn send(&self, outlet: &Outlet, page: &FeedPage) -> Result<u64, Ended> {
        let mut drafts: VecDeque<_> = page.iter().flat_map(numbered).collect();
        let mut asked = FuturesOrdered::new();
        let mut unconfirmed: VecDeque<PublisherConfirm> = VecDeque::new();
        let mut sent = 0;
        loop {
            while asked.len() < QUESTIONS
                && let Some((entry, index, draft)) = drafts.pop_front()
            {
                asked.push_back(self.message(entry, index, draft));
            }
            let Some(message) = asked.next().await else { break };
            let Some(message) = message? else { continue };
            if unconfirmed.len() >= self.settings.tuning.window
                && let Some(oldest) = unconfirmed.pop_front()
            {
                outlet.confirmed(oldest).await?;
            }
            unconfirmed.push_back(outlet.send(&message, self.parts.clock.now()).await?);
            sent += 1;
        }
        for oldest in unconfirmed {
            outlet.confirmed(oldest).await?;
        }
        Ok(sent)
    }

    /// A draft as a message; `None` if it concerns nobody any more.
    async fn message(
        &self,
        entry: Arc<FeedEntry>,
        index: usize,
        draft: Draft,
    ) -> Result<Option<Message>, Ended> {
        let content = match draft {
            Draft::SlotReleased(body) => Content::SlotReleased(body),
            Draft::Deadline { whose, until } => {
                let user_id = match whose {
                    Whose::User(user) => user,
                    Whose::Booking(booking) => match self.user(&entry.event, booking).await {
                        Some(user) => user,
                        None => return Ok(None),
                    },
                };
                let event_id = entry.event.clone();
                let (expire_time, scheduled_at) = (seconds(until), seconds(entry.at));
                let body = Timeout { user_id, event_id, expire_time, scheduled_at };
                Content::Timeout { body, due: until }
            }
        };
        let Seq(seq) = entry.seq;
        Ok(Some(Message { id: Some(format!("{seq}.{index}")), content }))
    }

    /// Whose a booking is; `None` if it is forgotten, or its event out of reach: a message only wakes
    /// somebody up, and the other events' are not held up for it.
    async fn user(&self, event: &EventId, booking: BookingId) -> Option<UserId> {
        match self.parts.engine.ask(event.clone(), BookingOf { booking, user: None }).await {
            Ok(answer) => Some(answer.value.terms.user.clone()),
            Err(failure) => {
                if !matches!(failure, Failure::Refused(_)) {
                    tracing::warn!(%event, %failure, "a wake-up is left out: it is not known for whom");
                }
                None
            }
        }
    }
}

/// What an entry asks to be sent, with the entry and a number within it.
fn numbered(entry: &Arc<FeedEntry>) -> Vec<(Arc<FeedEntry>, usize, Draft)> {
    let number = |(index, draft)| (entry.clone(), index, draft);
    drafts(entry).into_iter().enumerate().map(number).collect()
}
