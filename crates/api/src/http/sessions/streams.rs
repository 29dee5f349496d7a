//! Streams that somebody opened who is signed in with a browser: each ends with the session, on
//! whatever node and however that ended.
//!
//! An open stream does not count as using the session: nobody may sit in front of it.

use onrush_base::auth::session::Session;
use onrush_ledger::session::BrowserSession;
use std::collections::{BTreeMap, HashMap};
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::{Notify, oneshot};

/// The streams of this node that were opened by sessions.
#[derive(Default)]
pub struct SessionStreams {
    open: Mutex<Open>,
    bell: Notify,
}

#[derive(Default)]
struct Open {
    streams: BTreeMap<u64, Stream>,
    last: u64,
    is_watched: bool,
}

/// Taking it out of the map ends the stream.
struct Stream {
    session: String,
    name: Box<str>,
    _end: oneshot::Sender<()>,
}

impl SessionStreams {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the ledger asked at once: a session was ended.
    pub fn look(&self) {
        self.bell.notify_one();
    }

    /// Waits until the ledger is to be asked at once.
    pub(super) async fn asked(&self) {
        self.bell.notified().await;
    }

    /// Adds a stream of a session; also says whether somebody has to begin to watch.
    pub(super) fn add(self: &Arc<Self>, session: &Session) -> (WhileSignedIn, bool) {
        let (end, ended) = oneshot::channel();
        let mut open = self.open();
        open.last += 1;
        let (number, name) = (open.last, session.key.name.clone());
        open.streams.insert(number, Stream { session: session.public_id(), name, _end: end });
        let begins = !std::mem::replace(&mut open.is_watched, true);
        drop(open);
        // It may have ended between the look at the request and now.
        self.look();
        (WhileSignedIn { streams: self.clone(), number, ended }, begins)
    }

    /// The number of the latest stream, if any is open; else nobody watches from now on.
    pub(super) fn latest(&self) -> Option<u64> {
        let mut open = self.open();
        open.is_watched = !open.streams.is_empty();
        open.is_watched.then_some(open.last)
    }

    /// Ends streams whose sessions do not live, of those that were open when the ledger was asked:
    /// the session of a later one may not be in the answer yet.
    pub(super) fn end_but(&self, live: &[BrowserSession], last: u64) {
        let live: HashMap<&str, &str> =
            live.iter().map(|session| (&*session.id, &*session.name)).collect();
        self.open().streams.retain(|number, stream| {
            *number > last || live.get(&*stream.session) == Some(&&*stream.name)
        });
    }
}

/// A stream that goes on while somebody is signed in.
pub struct WhileSignedIn {
    streams: Arc<SessionStreams>,
    number: u64,
    ended: oneshot::Receiver<()>,
}

impl WhileSignedIn {
    /// Ready once the session has ended.
    pub fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.ended).poll(context).map(drop)
    }
}

impl Drop for WhileSignedIn {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        open.streams.remove(&self.number);
        if open.streams.is_empty() {
            // Whoever watches has nothing to do any more.
            self.streams.look();
        }
    }
}
