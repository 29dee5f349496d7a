//! A server that answers and changes nothing is noticed by looking, before somebody is told so who paid.

use super::client::ClientError;
use super::node::Node;
use super::start;
use crate::engine::Hindrance;
use onrush_core::Time;
use std::sync::{Mutex, PoisonError};

/// Redis takes this for a write, so that it is refused as all writes are, and it changes nothing. A
/// server whose memory is full does it: most of a sale goes on there.
const LOOK: &str = "#!lua flags=allow-oom\nreturn redis.call('TIME')";

/// What was found last.
#[derive(Debug, Default)]
pub(super) struct Found(Mutex<Option<Hindrance>>);

impl Found {
    pub(super) fn last(&self) -> Option<Hindrance> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
