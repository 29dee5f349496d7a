//! A server that answers and changes nothing is noticed by looking, before somebody is told so who paid.
//! One of a cluster is noticed by what it refuses: a look finds that another one takes writes. So is one
//! whose memory is full, as a look goes on there like most of a sale.

use super::client::ClientError;
use super::node::Node;
use super::start;
use crate::engine::Hindrance;
use onrush_core::Time;
use onrush_core::ids::EventId;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Redis takes this for a write, so that it is refused as all writes are, and it changes nothing. A
/// server whose memory is full does it: most of a sale goes on there.
const LOOK: &str = "#!lua flags=allow-oom\nreturn redis.call('TIME')";

/// How often it is said that scripts are refused. What is sold on other servers does not tell that it
/// is over, and an event there whose deadlines could not be looked at is looked at again half a second
/// later; a full server refuses everybody who comes. Instruments show for as long that one was full.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// What was found last.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By a look.
    looked: Mutex<Option<Hindrance>>,
    /// By a script, and when that was said.
    met: Mutex<Option<(Hindrance, Instant)>>,
    /// Whether a script was refused for memory.
    full: Mutex<Option<Full>>,
}

/// A server whose memory is full.
#[derive(Clone, Copy, Debug)]
struct Full {
    /// When it refused a script last.
    refused: Instant,
    /// When that was said last.
    said: Instant,
}

impl Found {
    pub(super) fn last(&self) -> Option<Hindrance> {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a script was refused for memory within the last minute.
    pub(super) fn is_full(&self) -> bool {
        self.was_full(Instant::now())
    }

    fn was_full(&self, now: Instant) -> bool {
        let full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        full.is_some_and(|full| now.saturating_duration_since(full.refused) < SAID_EVERY)
    }

    /// Takes note of a script about an event that failed, and says so if that is news.
    pub(super) fn meet(&self, event: &EventId, error: &ClientError) {
        let now = Instant::now();
        let (what, is_news) = match error {
            ClientError::Refuses(why) => ("nothing is sold", self.is_news(*why, now)),
            ClientError::OutOfMemory => ("nothing new is sold", self.is_full_news(now)),
            ClientError::Unreachable(_) | ClientError::Answered(_) => return,
        };
        if is_news {
            tracing::error!(%error, %event, "{what} of this event, nor of others on its server");
        }
    }

    /// Takes note that a script was refused for memory; whether that is to be said.
    fn is_full_news(&self, now: Instant) -> bool {
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let said = full.map(|full| full.said);
        let said = said.filter(|said| now.saturating_duration_since(*said) < SAID_EVERY);
        *full = Some(Full { refused: now, said: said.unwrap_or(now) });
        said.is_none()
    }

    /// Whether it is to be said that a script was refused: neither a look has said so, nor a script just
    /// before.
    fn is_news(&self, why: Hindrance, now: Instant) -> bool {
        if self.last() == Some(why) {
            return false;
        }
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let is_said =
            met.is_some_and(|(before, at)| before == why && now.duration_since(at) < SAID_EVERY);
        if !is_said {
            *met = Some((why, now));
        }
        !is_said
    }

    /// Takes note of what came of a look, and says so once if that is news.
    fn note(&self, looked: &Result<Time, ClientError>) {
        let found = match looked {
            Err(ClientError::Refuses(hindrance)) => Some(*hindrance),
            Ok(_)
            | Err(
                ClientError::Unreachable(_) | ClientError::OutOfMemory | ClientError::Answered(_),
            ) => None,
        };
        let before = {
            let mut last = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, found)
        };
        match found {
            Some(why) if before != found => tracing::error!(%why, "nothing is sold"),
            None if before.is_some() && looked.is_ok() => {
                tracing::info!("Redis takes writes again");
            }
            Some(_) | None => {}
        }
    }
}

/// Redis' clock, if it would change anything as well; of a cluster, that of whichever master says so
/// first.
pub(super) async fn look(node: &Node) -> Result<Time, ClientError> {
    let mut look = redis::cmd("EVAL");
    let looked = match node.client().on_any_master(look.arg(LOOK).arg(0)).await {
        Ok(answer) => start::time(answer),
        // A server that will not run this one, as where the user may not, is known by its clock alone.
        Err(ClientError::Answered(_)) => start::now(node).await,
        Err(error) => Err(error),
    };
    node.hindrance.note(&looked);
    looked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_server_of_a_cluster_refuses_is_said_once_a_minute_and_not_beside_a_look() {
        let (found, begun) = (Found::default(), Instant::now());
        let (few, replica) = (Hindrance::FewReplicas, Hindrance::IsReplica);
        let (well, refused) = (Ok(Time(0)), Err(ClientError::Refuses(few)));
        for (look, why, after_s, is_news) in [
            // Looks find another server that takes writes.
            (&well, few, 0, true),
            (&well, few, 59, false),
            (&well, few, 60, true),
            (&well, replica, 61, true),
            (&well, replica, 62, false),
            // None does.
            (&refused, few, 200, false),
            (&refused, replica, 200, true),
            (&well, few, 300, true),
        ] {
            found.note(look);
            let now = begun + Duration::from_secs(after_s);
            assert_eq!(found.is_news(why, now), is_news, "{why:?} after {after_s} s");
            assert_eq!(found.last(), look.as_ref().err().map(|_| few), "scripts change no look");
        }
    }

    #[test]
    fn a_full_server_is_told_of_once_a_minute_and_shown_for_a_minute_after_the_last_refusal() {
        let (found, begun) = (Found::default(), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert!(!found.was_full(begun));
        for (after_s, is_news) in [(0, true), (1, false), (59, false), (60, true), (100, false)] {
            assert_eq!(found.is_full_news(after(after_s)), is_news, "after {after_s} s");
            assert!(found.was_full(after(after_s)));
        }
        assert!(found.was_full(after(159)));
        assert!(!found.was_full(after(160)), "nobody was refused for a minute");
        assert!(found.is_full_news(after(160)), "and then somebody is");
    }
}
