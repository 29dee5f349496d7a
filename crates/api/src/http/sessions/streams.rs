//! Streams that somebody opened who is signed in with a browser: each ends with the session, on
//! whatever node and however that ended.
//!
//! An open stream does not count as using the session: nobody may sit in front of it.

use crate::http::state::Callers;
use onrush_base::auth::session::Session;
use onrush_ledger::session::BrowserSession;
use std::collections::{BTreeMap, HashMap};
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// How often the ledger is asked which sessions live, while there are streams: another node may end
/// one, and so does time.
const EVERY: Duration = Duration::from_secs(1);
/// For how long streams go on while the ledger does not say which sessions live.
const PATIENCE: Duration = Duration::from_secs(30);

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
}

/// A stream that goes on while somebody is signed in.
pub struct WhileSignedIn {
    callers: Arc<Callers>,
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
        let streams = &self.callers.session_streams;
        let mut open = streams.open();
        open.streams.remove(&self.number);
        if open.streams.is_empty() {
            // Whoever watches has nothing to do any more.
            streams.look();
        }
    }
}

impl Callers {
    /// Says that a stream was opened by a session, which has to be looked at for as long.
    #[must_use]
    pub fn while_signed_in(self: &Arc<Self>, session: &Session) -> WhileSignedIn {
        let (end, ended) = oneshot::channel();
        let mut open = self.session_streams.open();
        open.last += 1;
        let (number, name) = (open.last, session.key.name.clone());
        open.streams.insert(number, Stream { session: session.public_id(), name, _end: end });
        if open.is_watched {
            // It may have ended between the look at the request and now.
            self.session_streams.look();
        } else {
            open.is_watched = true;
            tokio::spawn(self.clone().watch_sessions());
        }
        drop(open);
        WhileSignedIn { callers: self.clone(), number, ended }
    }

    /// Ends streams whose sessions have ended, until there are no streams.
    async fn watch_sessions(self: Arc<Self>) {
        let mut unknown_since = None;
        loop {
            let last = {
                let mut open = self.session_streams.open();
                if open.streams.is_empty() {
                    open.is_watched = false;
                    return;
                }
                open.last
            };
            match self.ledger.live_sessions(self.clock.now(), self.idle_ms()).await {
                Ok(live) => {
                    unknown_since = None;
                    self.end_streams_but_of(&live, last);
                }
                Err(error) => {
                    let since = *unknown_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= PATIENCE {
                        tracing::warn!(%error, "which sessions live is not known; their streams end");
                        self.end_streams_but_of(&[], last);
                    }
                }
            }
            tokio::select! {
                () = self.session_streams.bell.notified() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Of those that were open when the ledger was asked: the session of a later one may not be in
    /// the answer yet.
    fn end_streams_but_of(&self, live: &[BrowserSession], last: u64) {
        let live: HashMap<&str, &str> =
            live.iter().map(|session| (&*session.id, &*session.name)).collect();
        self.session_streams.open().streams.retain(|number, stream| {
            *number > last || live.get(&*stream.session) == Some(&&*stream.name)
        });
    }
}
