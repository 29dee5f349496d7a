//! What other nodes did, as soon as they did it: a connection of its own that listens.

use super::archive;
use super::database::{Ask, Database, first};
use super::fault::{Fault, sentence};
use super::nodes::{Membership, SAYS_SO_EACH};
use super::rows::unsigned;
use super::shared::{self, Flags, read_flags};
use super::way::Way;
use deadpool_postgres::Client;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_postgres::AsyncMessage;

/// How long to wait before a lost connection is tried again.
const PAUSE: Duration = Duration::from_millis(250);

/// What is heard.
pub(super) struct News {
    /// The highest number in the archive.
    pub(super) newest: watch::Sender<u64>,
    /// All flags.
    pub(super) flags: watch::Receiver<Arc<Flags>>,
}

/// Who listens.
struct Listener {
    way: Way,
    database: Arc<Database>,
    membership: Arc<Membership>,
    newest: watch::Sender<u64>,
    flags: watch::Sender<Arc<Flags>>,
    /// Whether the archive had less than was seen before, when it was looked at last.
    is_behind: AtomicBool,
    /// False once it was said that nothing is heard, until something is.
    is_heard: AtomicBool,
}

/// Starts to listen, once what there is so far was read. Ends when the sender of `stop` is gone.
pub(super) async fn listen(
    way: Way,
    database: Arc<Database>,
    membership: Arc<Membership>,
    stop: watch::Receiver<()>,
) -> Result<(News, JoinHandle<()>), Fault> {
    let newest = watch::Sender::new(0);
    let (flags, of_flags) = watch::channel(Arc::default());
    let listener = Listener {
        way,
        database,
        membership,
        newest: newest.clone(),
        flags,
        is_behind: AtomicBool::new(false),
        is_heard: AtomicBool::new(true),
    };
    listener.look().await?;
    let task = tokio::spawn(listener.run(stop));
    Ok((News { newest, flags: of_flags }, task))
}

impl Listener {
    async fn run(self, mut stop: watch::Receiver<()>) {
        loop {
            let outcome = tokio::select! {
                // Nothing is ever sent: it ends when the ledger is closed.
                _ = stop.changed() => return,
                outcome = self.hear() => outcome,
            };
            // It is said once, however often it is tried in vain.
            if let Err(fault) = outcome
                && self.is_heard.swap(false, Ordering::Relaxed)
            {
                tracing::warn!(%fault, "what other nodes do is not heard; trying again");
            }
            let look_and_pause = async {
                // Other connections may work where there is none to listen on, as when PostgreSQL
                // has no room for another: this node goes on, and must not miss what others do or
                // be taken for dead.
                if let Err(fault) = self.look().await {
                    tracing::debug!(%fault, "what other nodes do is not read either");
                }
                sleep(PAUSE).await;
            };
            tokio::select! {
                _ = stop.changed() => return,
                () = look_and_pause => {}
            }
        }
    }

    /// Listens until the connection is lost.
    async fn hear(&self) -> Result<(), Fault> {
        let connecting = timeout(self.database.patience(), self.way.connect());
        let (client, mut connection) =
            connecting.await.map_err(|_| Fault::Slow)?.map_err(Fault::from)?;
        let (said, mut heard) = mpsc::unbounded_channel();
        let connection = tokio::spawn(async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(note))) => {
                        if said.send(note).is_err() {
                            return;
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        tracing::debug!(why = sentence(&error), "the news are cut off");
                        return;
                    }
                    None => return,
                }
            }
        });
        let connection = Aborted(connection);
        let sql = format!("LISTEN {}; LISTEN {}", archive::CHANNEL, shared::FLAGS_CHANNEL);
        timeout(self.database.patience(), client.batch_execute(&sql))
            .await
            .map_err(|_| Fault::Slow)??;
        // What was done before is not heard.
        self.look().await?;
        self.is_heard.store(true, Ordering::Relaxed);
        let mut tick = interval(SAYS_SO_EACH);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                note = heard.recv() => {
                    let Some(note) = note else { break };
                    match note.payload().parse() {
                        Ok(number) if note.channel() == archive::CHANNEL => {
                            rise(&self.newest, number);
                        }
                        Ok(_) | Err(_) => self.look().await?,
                    }
                }
                // In case that something was not heard.
                _ = tick.tick() => {
                    self.look().await?;
                    // A host that is lost without a word leaves a connection that looks like one
                    // on which nobody says anything.
                    timeout(self.database.patience(), client.batch_execute("SELECT 1"))
                        .await
                        .map_err(|_| Fault::Slow)??;
                }
            }
        }
        drop(connection);
        Ok(())
    }

    /// Reads what there is, and says that this node is alive.
    async fn look(&self) -> Result<(), Fault> {
        let deadline = tokio::time::Instant::now() + self.database.patience();
        let seen = *self.newest.borrow();
        let (number, flags) =
            self.database.ask_until(&Look(self.membership.clone()), deadline).await?;
        let was_behind = self.is_behind.swap(number < seen, Ordering::Relaxed);
        if number < seen && !was_behind {
            tracing::error!(
                number,
                seen,
                "PostgreSQL has less than before, as after a failover to a standby that lagged behind: \
                 what was committed last is lost to archive and ledger; run onrush audit"
            );
        }
        rise(&self.newest, number);
        self.flags.send_if_modified(|known| {
            let is_new = **known != flags;
            if is_new {
                *known = Arc::new(flags);
            }
            is_new
        });
        Ok(())
    }
}

/// Says that there is a number in the archive, if no higher one is known.
pub(super) fn rise(newest: &watch::Sender<u64>, number: u64) {
    newest.send_if_modified(|newest| {
        let is_new = number > *newest;
        *newest = number.max(*newest);
        is_new
    });
}

struct Look(Arc<Membership>);

impl Ask<(u64, Flags)> for Look {
    async fn run(&self, db: &mut Client) -> Result<(u64, Flags), Fault> {
        self.0.say(db).await?;
        let row = first(db, "SELECT number FROM feed_head WHERE id = 1", &[]).await?;
        let number = row.map_or(Ok(0), |row| row.try_get(0).map(unsigned))?;
        Ok((number, read_flags(db).await?))
    }
}

/// A task that ends with whoever started it.
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
