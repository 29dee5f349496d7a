//! Looks which sessions live, as long as streams are open that end with them.

use super::streams::WhileSignedIn;
use crate::http::state::Callers;
use onrush_base::auth::session::Session;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How often the ledger is asked which sessions live, while there are streams: another node may end
/// one, and so does time.
const EVERY: Duration = Duration::from_secs(1);
/// For how long streams go on while the ledger does not say which sessions live.
const PATIENCE: Duration = Duration::from_secs(30);

impl Callers {
    /// Says that a stream was opened by a session, which has to be looked at for as long.
    #[must_use]
    pub fn while_signed_in(self: &Arc<Self>, session: &Session) -> WhileSignedIn {
        let (stream, begins) = self.session_streams.add(session);
        if begins {
            tokio::spawn(self.clone().watch_sessions());
        }
        stream
    }

    /// Ends streams whose sessions have ended, until there are no streams.
    async fn watch_sessions(self: Arc<Self>) {
        let mut unknown_since = None;
        while let Some(last) = self.session_streams.latest() {
            match self.ledger.live_sessions(self.clock.now(), self.idle_ms()).await {
                Ok(live) => {
                    unknown_since = None;
                    self.session_streams.end_but(&live, last);
                }
                Err(error) => {
                    let since = *unknown_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= PATIENCE {
                        tracing::warn!(%error, "which sessions live is not known; their streams end");
                        self.session_streams.end_but(&[], last);
                    }
                }
            }
            tokio::select! {
                () = self.session_streams.asked() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }
}
