//! The seam between the rules and everything around them.

use crate::durations::Counted;
use onrush_core::change::Change;
use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Question, Refusal, Reply, Time, View};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The number of a decision in the journal.
///
/// Numbers of one event's decisions rise, with gaps; an embedded engine numbers all its events in
/// one sequence.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// An answer, and the time it was decided at.
///
/// Where one process keeps the journal, no crash can undo what it tells of. Where nodes share Redis,
/// that is so of commands that [`Traits::waits_for_archive`](onrush_core::command::Traits) names;
/// others, and answers to questions, may tell of what Redis can still lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    /// The engine's time.
    pub at: Time,
    /// How far the event had come; `None` where nobody needs to know, because there is one state only.
    pub as_of: Option<AsOf>,
    /// What was answered.
    pub value: T,
}

/// How far an event had come when something was answered: later ones compare as greater. Written as
/// `<epoch>-<number>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsOf {
    /// How often the event had been rebuilt.
    pub epoch: u64,
    /// The event's last decision, by its own number.
    pub seq: Seq,
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.seq.0)
    }
}

/// The text is no [`AsOf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the as_of of an earlier answer, as it was")]
pub struct NoAsOf;

impl FromStr for AsOf {
    type Err = NoAsOf;

    fn from_str(text: &str) -> Result<Self, NoAsOf> {
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse().ok()).flatten().ok_or(NoAsOf)
        };
        let (epoch, seq) = text.split_once('-').ok_or(NoAsOf)?;
        Ok(Self { epoch: number(epoch)?, seq: Seq(number(seq)?) })
    }
}

impl Serialize for AsOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AsOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Why there is no answer, or what the rules said instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The rules said no; nothing changed.
    #[error("{0}")]
    Refused(Refusal),
    /// Too much is asked at once; nothing changed. Ask again after this many milliseconds.
    #[error("too much is asked at once; try again in {retry_after_ms} ms")]
    Busy {
        /// How long to wait.
        retry_after_ms: u32,
    },
    /// The disk is nearly full, and this would need space; nothing changed.
    #[error("the disk is nearly full; free some space, then try again")]
    DiskLow,
    /// The event lost its latest changes and is being rebuilt from the archive; nothing changed.
    /// Ask again after this many milliseconds.
    #[error("the event is being rebuilt after a loss of data; try again in {retry_after_ms} ms")]
    Rebuilding {
        /// How long to wait.
        retry_after_ms: u32,
    },
    /// The engine's servers do not answer, or what they decided is not archived in time. Whether the
    /// command took effect is unknown: ask again with the same ids.
    #[error(
        "the engine cannot be reached just now, and may have done what was asked; try again with the \
         same key"
    )]
    Unreachable,
    /// The engine's servers answer with an error that they should not make, or with what cannot be read;
    /// the log has it. Whether the command took effect is unknown: ask again with the same ids.
    #[error("the engine answers with an error; try again with the same key")]
    Faulty,
    /// The engine has stopped. Whether the command took effect is unknown: ask again with the same ids.
    #[error("the engine has stopped; try again with the same key")]
    Stopped,
}

impl Failure {
    /// Whether the command surely changed nothing.
    #[must_use]
    pub const fn changed_nothing(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Busy { .. } | Self::DiskLow | Self::Rebuilding { .. } => true,
            Self::Unreachable | Self::Faulty | Self::Stopped => false,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Why servers that answer change nothing: all that is asked for is [`Failure::Unreachable`] meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    /// Fewer replicas follow than the server was told to wait for.
    #[error(
        "Redis refuses all writes, since fewer replicas follow it than min-replicas-to-write asks for; \
         start a replica, or CONFIG SET min-replicas-to-write 0 until there is one"
    )]
    FewReplicas,
    /// The server cannot save what it has.
    #[error(
        "Redis refuses all writes, since it cannot save to its disk (MISCONF); its log says why: see \
         whether the disk is full"
    )]
    CannotSave,
    /// The server follows another one.
    #[error(
        "Redis refuses all writes, since it is a replica (READONLY); have redis.urls name the master, or \
         set redis.sentinels"
    )]
    IsReplica,
}

/// A future answer. Dropping it does not undo the command.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<Answer<T>, Failure>> + Send>>;

/// One decision, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    /// Its number.
    pub seq: Seq,
    /// When it was decided.
    pub at: Time,
    /// The event it belongs to.
    pub event: EventId,
    /// What changed; at least one, unless the event was archived and its changes are in a file.
    pub changes: Vec<Change>,
}

/// Entries that are committed, in order, none left out: at least once each across restarts, if the
/// reader keeps the number of the last one it dealt with.
pub type FeedPage = Vec<Arc<FeedEntry>>;

/// A reader of the feed with a cursor of its own. The engine never waits for it.
pub trait Feed: Send {
    /// The entries after the cursor, at least one, as soon as there are any; `None` once the engine
    /// has stopped and all were read.
    ///
    /// # Errors
    /// What stands in the way of reading the journal.
    fn next(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + '_>>;

    /// The same for readers who end where the feed ends, asked only before what [`Engine::committed`]
    /// says: `None` also where there is nothing more. In a cluster that may be so: after a failover to a
    /// standby that lagged behind, the archive has less than was seen before.
    ///
    /// # Errors
    /// As of [`Self::next`].
    fn next_if_any(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = Result<Option<FeedPage>, String>> + Send + '_>> {
        self.next()
    }
}

/// What runs the rules: one command at a time per event. What is durable once somebody is answered,
/// [`Answer`] says.
///
/// ```
#[doc = include_str!("../examples/embed.rs")]
/// ```
pub trait Engine: Send + Sync + 'static {
    /// Runs a command. What is answered, also a refusal, is as durable by then as [`Answer`] says.
    /// Whoever goes on with the reply takes [`Ask::run`].
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply>;

    /// Answers a question, as durably as [`Answer`] says. [`Ask::ask`] has the answer's type from the
    /// question.
    fn query(&self, event: EventId, query: Query) -> Pending<View>;

    /// Answers a question of somebody who was told how far the event had come: by a state that is at
    /// least as far, and at most a second old. An engine that many nodes share may take the node's own
    /// copy for it; others answer as ever.
    fn query_since(&self, event: EventId, query: Query, as_of: AsOf) -> Pending<View> {
        // There is one state only, and nothing that was told is ahead of it.
        let _ = as_of;
        self.query(event, query)
    }

    /// The ids of all events that were not archived, in the order they were created.
    fn events(&self) -> Pending<Vec<EventId>>;

    /// Answers if anything at all is decided just now: where several servers share the events, by one
    /// of them at least.
    fn reach(&self) -> Pending<()> {
        let events = self.events();
        Box::pin(async move {
            let Answer { at, as_of, value: _ } = events.await?;
            Ok(Answer { at, as_of, value: () })
        })
    }

    /// What kept the engine from changing anything when it was last looked at, as by [`Self::reach`],
    /// although its servers answer; `None` if nothing did.
    fn hindrance(&self) -> Option<Hindrance> {
        None
    }

    /// Whether servers of the engine refused something new within the last minute, as their memory is
    /// full: [`Failure::DiskLow`]. What is under way goes on there.
    fn is_full(&self) -> bool {
        false
    }

    /// The feed of all events after `after` ([`Seq::default`] is the beginning).
    fn subscribe(&self, after: Seq) -> Box<dyn Feed>;

    /// The number of the last committed decision, as far as is known here.
    fn committed(&self) -> Seq;

    /// A number in the feed by which all that was decided about an event until now is in it, whoever
    /// decided it.
    ///
    /// # Errors
    /// `EVENT_NOT_FOUND`, `EVENT_ARCHIVED`.
    fn settled(&self, event: EventId) -> Pending<Seq>;

    /// How long answers take just now: what the oldest ask without one has been waiting for; zero
    /// while nothing waits.
    fn waiting(&self) -> Duration;

    /// What instruments show of it.
    fn figures(&self) -> Figures;
}

/// What instruments show of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How long decisions took: a turn of many on an embedded engine, each by itself on Redis, there
    /// and back.
    pub decide: Counted,
    /// How long it took until they were durable: a commit of the journal, or waiting for the archive.
    pub commit: Counted,
    /// Decisions that are known here and not in the archive yet; none where the journal is the archive.
    pub unarchived: u64,
    /// Copies of events that this node answers from, and how often each was asked where somebody
    /// stands; `None` where there is no state but the engine's own.
    pub copies: Option<CopyFigures>,
}

/// What instruments show of a node's copies of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyFigures {
    /// Copies that are held.
    pub held: u64,
    /// Records in them.
    pub records: u64,
    /// Places that a copy told of.
    pub answered: u64,
    /// Places that the shared state was asked for.
    pub passed_on: u64,
}

/// Answers of the type that was asked for, from any engine.
pub trait Ask: Engine {
    /// Asks a question now; the future waits for its answer.
    ///
    /// # Panics
    /// The future does, if the engine answers another question than it was asked: a bug of the
    /// engine.
    fn ask<Q: Question>(
        &self,
        event: EventId,
        question: Q,
    ) -> impl Future<Output = Result<Answer<Q::Answer>, Failure>> + Send + use<Self, Q> {
        only(self.query(event, question.into()))
    }

    /// Asks a question now, as [`Engine::query_since`] answers it: `None` for who was told nothing.
    ///
    /// # Panics
    /// As [`Self::ask`].
    fn ask_since<Q: Question>(
        &self,
        event: EventId,
        question: Q,
        as_of: Option<AsOf>,
    ) -> impl Future<Output = Result<Answer<Q::Answer>, Failure>> + Send + use<Self, Q> {
        only(match as_of {
            Some(as_of) => self.query_since(event, question.into(), as_of),
            None => self.query(event, question.into()),
        })
    }

    /// Runs a command now; the future waits for the reply: a
    /// [`HoldView`](onrush_core::view::HoldView) for what is about bookings, `()` where there is
    /// nothing to tell. [`Reply`] says which command has which.
    ///
    /// # Panics
    /// The future does, if the command's reply is of another kind: a bug of the caller or of the
    /// engine.
    fn run<R: TryFrom<Reply, Error = Reply>>(
        &self,
        event: EventId,
        command: Command,
    ) -> impl Future<Output = Result<Answer<R>, Failure>> + Send + use<Self, R> {
        only(self.execute(event, command))
    }
}

impl<E: Engine + ?Sized> Ask for E {}

/// What an answer carries.
async fn only<T, A>(pending: Pending<A>) -> Result<Answer<T>, Failure>
where
    T: TryFrom<A, Error = A>,
    A: fmt::Debug,
{
    let Answer { at, as_of, value } = pending.await?;
    let value = value.try_into().expect("an engine answers what it was asked");
    Ok(Answer { at, as_of, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_done_is_not_said_to_have_changed_nothing() {
        for (failure, changed_nothing) in [
            (Failure::Refused(Refusal::AlreadyConfirmed), true),
            (Failure::Busy { retry_after_ms: 1 }, true),
            (Failure::DiskLow, true),
            (Failure::Rebuilding { retry_after_ms: 1 }, true),
            (Failure::Unreachable, false),
            (Failure::Faulty, false),
            (Failure::Stopped, false),
        ] {
            assert_eq!(failure.changed_nothing(), changed_nothing, "{failure:?}");
        }
    }

    #[test]
    fn later_states_compare_as_greater_and_are_written_plainly() {
        let of = |epoch, seq| AsOf { epoch, seq: Seq(seq) };
        assert!(of(0, 9) < of(0, 10) && of(0, 10) < of(1, 3));
        for as_of in [of(0, 0), of(3, 4711), of(u64::MAX, u64::MAX)] {
            assert_eq!(as_of.to_string().parse(), Ok(as_of));
        }
        for text in ["", "4711", "0-", "-1", "0-+1", "0-1-2", "0-18446744073709551616", "a-b"] {
            assert_eq!(text.parse::<AsOf>(), Err(NoAsOf), "{text}");
        }
    }
}
