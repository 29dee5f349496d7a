//! What an engine looks at before it begins.

use super::archive::ArchiveError;
use super::client::{Client, ClientError};
use super::keys::EventKeys;
use super::layout::ARCHIVED;
use super::node::Node;
use crate::engine::Seq;
use onrush_core::Time;
use onrush_core::ids::EventId;
use redis::Value;
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::sleep;

/// The oldest Redis whose scripts may read the clock and then write.
const OLDEST: u32 = 7;

/// How often an engine looks for Redis before it gives up.
const TRIES: u32 = 5;
/// How long it waits in between.
const PAUSE: Duration = Duration::from_millis(500);

/// Why an engine does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Redis cannot be used.
    #[error("{0}")]
    Redis(String),
    /// Redis would throw keys away when its memory is full.
    #[error(
        "Redis has maxmemory-policy {policy} and would throw holds away when its memory is full; \
         set maxmemory-policy to noeviction"
    )]
    Evicts {
        /// Its policy.
        policy: String,
    },
    /// Redis is too old.
    #[error("Redis is of version {version}; use {OLDEST} or later")]
    TooOld {
        /// Its version.
        version: String,
    },
    /// The archive cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl From<ClientError> for OpenError {
    fn from(error: ClientError) -> Self {
        Self::Redis(error.to_string())
    }
}

/// Looks for Redis, a few times: one that was started together with this node, or is changing its
/// master, answers in a moment.
pub(super) async fn patiently<T>(
    look: impl AsyncFn() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    for _ in 1..TRIES {
        match look().await {
            Err(OpenError::Redis(why)) => {
                tracing::warn!(why, "Redis does not answer yet; it is asked again");
                sleep(PAUSE).await;
            }
            found => return found,
        }
    }
    look().await
}

/// Refuses a server that would lose what it is given.
pub(super) async fn check_server(client: &Client) -> Result<(), OpenError> {
    let mut reports = Vec::new();
    texts(client.on_all_masters(redis::cmd("INFO").arg("everything")).await?, &mut reports);
    for report in &reports {
        let field = |name: &str| {
            let lines = report.lines();
            lines.filter_map(|line| line.split_once(':')).find(|(field, _)| *field == name)
        };
        if let Some((_, policy)) = field("maxmemory_policy")
            && policy != "noeviction"
        {
            return Err(OpenError::Evicts { policy: policy.to_owned() });
        }
        if let Some((_, version)) = field("redis_version") {
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
            if major.is_none_or(|major| major < OLDEST) {
                return Err(OpenError::TooOld { version: version.to_owned() });
            }
        }
    }
    if reports.iter().any(|report| report.contains("maxmemory_policy:")) {
        Ok(())
    } else {
        Err(OpenError::Redis("Redis does not tell its maxmemory-policy (INFO memory)".to_owned()))
    }
}

/// The texts in an answer, wherever they stand: a cluster answers for each of its nodes.
#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else Redis may answer is no text")]
fn texts(answer: Value, found: &mut Vec<String>) {
    match answer {
        Value::BulkString(bytes) => found.push(String::from_utf8_lossy(&bytes).into_owned()),
        Value::VerbatimString { text, .. } => found.push(text),
        Value::Array(parts) => parts.into_iter().for_each(|part| texts(part, found)),
        Value::Map(pairs) => pairs.into_iter().for_each(|(_, part)| texts(part, found)),
        _ => {}
    }
}

/// Lists the events that only the archive knows, after a loss of data. Those that were archived are
/// listed only where a node died that was to clear them away: the next look does.
pub(super) async fn list_events(node: &Node) -> Result<(), OpenError> {
    let listed: HashSet<EventId> = node.known_events().await?.into_iter().collect();
    for event in node.archive.events().await? {
        if !listed.contains(&event) && !is_cleared_away(node, &event).await {
            list_event_again(node, &event).await?;
        }
    }
    Ok(())
}

/// Whether Redis says that the event was archived, and has nothing else of it. Where it does not
/// answer, nobody knows.
async fn is_cleared_away(node: &Node, event: &EventId) -> bool {
    let keys = EventKeys::new(event);
    let (mut phase, mut stream) = (redis::cmd("HGET"), redis::cmd("EXISTS"));
    phase.arg(keys.meta()).arg("phase");
    stream.arg(keys.feed());
    let client = node.client();
    let phase = client.command(&phase).await.ok().map(redis::from_redis_value::<Option<String>>);
    let stream = client.command(&stream).await.ok().map(redis::from_redis_value::<bool>);
    matches!((phase, stream), (Some(Ok(Some(phase))), Some(Ok(false))) if phase == ARCHIVED)
}

/// Lists an event that the archive knows, at its old place.
pub(super) async fn list_event_again(node: &Node, event: &EventId) -> Result<(), OpenError> {
    let first = node.archive.read_event(event.clone(), Seq::default(), 1).await?;
    if let Some(created) = first.first() {
        node.list_event(event, created.entry.at).await?;
    }
    Ok(())
}

/// Redis' clock; of a cluster, that of whichever master answers first.
pub(super) async fn now(node: &Node) -> Result<Time, ClientError> {
    time(node.client().on_any_master(&redis::cmd("TIME")).await?)
}

/// What a server's clock said.
pub(super) fn time(answer: Value) -> Result<Time, ClientError> {
    let (seconds, micros): (i64, i64) = redis::from_redis_value(answer)
        .map_err(|error| ClientError::Answered(error.to_string()))?;
    Ok(Time(seconds * 1_000 + micros / 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_redis_that_answers_late_is_waited_for_and_one_that_is_unfit_is_not() {
        let looks = AtomicU32::new(0);
        let silent = || OpenError::Redis("no answer".to_owned());
        let found = patiently(async || match looks.fetch_add(1, Ordering::Relaxed) {
            3 => Ok("it"),
            _ => Err(silent()),
        });
        assert_eq!((found.await, looks.load(Ordering::Relaxed)), (Ok("it"), 4));
        looks.store(0, Ordering::Relaxed);
        let missing = patiently::<()>(async || {
            looks.fetch_add(1, Ordering::Relaxed);
            Err(silent())
        });
        assert_eq!((missing.await, looks.load(Ordering::Relaxed)), (Err(silent()), TRIES));
        looks.store(0, Ordering::Relaxed);
        let old = || OpenError::TooOld { version: "6.2".to_owned() };
        let unfit = patiently::<()>(async || {
            looks.fetch_add(1, Ordering::Relaxed);
            Err(old())
        });
        assert_eq!((unfit.await, looks.load(Ordering::Relaxed)), (Err(old()), 1));
    }
}
