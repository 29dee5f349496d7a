//! The script kit: Lua scripts with the keys, arguments and replies that docs/script-kit.md promises, for
//! anyone's Redis client.
//!
//! They stand beside the engine and share no key with it. docs/script-kit.md describes each; what
//! is here calls them by their SHA and runs the worker that returns the stock of holds that have
//! run out.

use super::client::{Connection, Servers};
use onrush_tls::Certificates;
use redis::aio::ConnectionLike;
use redis::{RedisError, Script as Hashed, ToRedisArgs};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};

/// Where `reserve_seats` keeps the deadlines of holds unless it is given another key.
pub const EXPIRY_INDEX: &str = "onrush:kit:expiries";

/// Holds whose stock one call returns at most.
const BATCH: usize = 100;

/// Calls of one round at most; the next round goes on.
const BATCHES_PER_ROUND: usize = 1_000;

/// After how long `expire_reservations` lets a hold that cannot be ended be tried again.
const AGAIN_MS: u64 = 60_000;

/// How long a worker sleeps at most: a hold that was made meanwhile may be shorter than all it knew of.
const LOOK_AGAIN_WITHIN: Duration = Duration::from_secs(1);

/// How long Redis may take to let a worker in.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long it may take to answer a call of a worker. A client of Redis Cluster tries a call again by
/// itself while nobody serves its keys, after pauses that grow to minutes: it would sleep on long after
/// the failover, and nobody would hear of it.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)+) => {
        /// A script of the kit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Script {
            $($(#[$doc])* $name,)+
        }

        impl Script {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its name: that of its file, without `.lua`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $file,)+ }
            }

            /// Its text, to be loaded by any client.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("../../lua/kit/", $file, ".lua")),)+ }
            }
        }
    };
}

scripts! {
    /// Holds seats of a zone.
    ReserveSeats = "reserve_seats";
    /// Gives the seats of a hold back.
    ReleaseSeats = "release_seats";
    /// Makes a hold final.
    ConfirmBooking = "confirm_booking";
    /// Says which holds have run out.
    DueReservations = "due_reservations";
    /// Returns the stock of holds that have run out.
    ExpireReservations = "expire_reservations";
    /// Takes a place at the end of a queue.
    JoinQueue = "join_queue";
    /// Takes lapsed places out of a queue.
    LapsePlaces = "lapse_places";
    /// Claims units of a counted stock, or gives them back.
    Claim = "claim";
    /// Takes a place in the line of an event.
    Enqueue = "enqueue";
    /// Says where a user stands.
    Position = "position";
    /// Lets the next in line into the room.
    Promote = "promote";
    /// Gives a seat to an active user.
    LockSeat = "lock_seat";
    /// Notes that a user goes to pay.
    InitiatePayment = "initiate_payment";
    /// Completes a booking.
    PaymentSuccess = "payment_success";
    /// Ends a session whose payment has failed.
    Cleanup = "cleanup";
    /// Ends a session at its deadline.
    Timeout = "timeout";
    /// Gives up a place or a session.
    Cancel = "cancel";
    /// Takes a place in a queue, once for each idempotency key.
    AtomicEnqueue = "atomic_enqueue";
    /// Holds a seat.
    AtomicHold = "atomic_hold";
    /// Sells a seat to whoever holds it.
    ConfirmHold = "confirm_hold";
}

/// With their SHA-1, in the order of [`Script::ALL`].
static HASHED: LazyLock<Vec<Hashed>> =
    LazyLock::new(|| Script::ALL.iter().map(|script| Hashed::new(script.text())).collect());

impl Script {
    fn hashed(self) -> &'static Hashed {
        &HASHED[self as usize]
    }

    /// The SHA-1 by which EVALSHA knows it.
    #[must_use]
    pub fn sha(self) -> &'static str {
        self.hashed().get_hash()
    }

    /// Calls it by its SHA; where Redis does not know that, it is loaded and called again.
    ///
    /// # Errors
    ///
    /// If Redis cannot be reached, if a key is of another type, or if the arguments make no sense:
    /// nothing is changed then, except that a connection that broke may have lost the answer only.
    /// A refusal is no error.
    pub async fn call<T: redis::FromRedisValue>(
        self,
        connection: &mut impl ConnectionLike,
        keys: &[impl ToRedisArgs],
        args: &[impl ToRedisArgs],
    ) -> Result<T, RedisError> {
        let mut invocation = self.hashed().prepare_invoke();
        for key in keys {
            invocation.key(key);
        }
        for arg in args {
            invocation.arg(arg);
        }
        invocation.invoke_async(connection).await
    }
}

/// Loads every script of the kit, so that the first calls find them.
///
/// # Errors
///
/// If Redis cannot be reached.
pub async fn load(connection: &mut impl ConnectionLike) -> Result<(), RedisError> {
    for script in Script::ALL {
        let _: String = script.hashed().load_async(connection).await?;
    }
    Ok(())
}

/// Where the Redis of a kit is.
#[derive(Clone, Debug)]
pub struct Place {
    /// One server, or some nodes of a cluster.
    pub urls: Vec<String>,
    /// Whether it is a cluster.
    pub is_cluster: bool,
    /// Sentinels, if they say which server is the master: the host of the one address is its name then.
    pub sentinels: Vec<String>,
    /// Whom to trust there, and what to show.
    pub certificates: Certificates,
}

/// Connects, and looks after expiry indexes until `stop` is done.
///
/// # Errors
/// Redis cannot be reached at first, as a sentence. One that goes away later is waited for.
pub async fn look_after(
    place: &Place,
    indexes: Vec<String>,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let Place { urls, is_cluster, sentinels, certificates } = place.clone();
    let servers = Servers { urls, is_cluster, sentinels, certificates };
    let connection = Connection::open(&servers, PATIENCE).await;
    let connection = connection.map_err(|error| error.to_string())?;
    let (end, ended) = watch::channel(false);
    let mut workers = JoinSet::new();
    for index in indexes {
        info!(index, "the stock of holds that run out is returned");
        let (connection, mut ended) = (connection.clone(), ended.clone());
        workers.spawn(async move {
            let stop = async { drop(ended.wait_for(|ended| *ended).await) };
            match connection {
                Connection::Single(connection) => {
                    ExpiryWorker::new(connection, index).run(stop).await;
                }
                Connection::Cluster(connection) => {
                    ExpiryWorker::new(connection, index).run(stop).await;
                }
                Connection::Followed(connection) => {
                    ExpiryWorker::new(connection, index).run(stop).await;
                }
            }
        });
    }
    let fallen = tokio::select! {
        () = stop => None,
        fallen = workers.join_next() => fallen,
    };
    end.send_replace(true);
    while workers.join_next().await.is_some() {}
    match fallen {
        Some(Err(error)) => Err(format!("a worker fell: {error}")),
        Some(Ok(())) | None => Ok(()),
    }
}

/// What a round of an [`ExpiryWorker`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Holds that were ended by this worker.
    pub reservations: u64,
    /// Seats that went back to their zones.
    pub seats: u64,
    /// Holds that could not be ended, because their keys hold something else than they should. They
    /// are tried again in a minute.
    pub broken: u64,
    /// Entries of the index that are no hold's, set aside with the score `+inf`.
    pub foreign: u64,
    /// The time until the next deadline; `None` if there is none.
    pub next_ms: Option<u64>,
}

/// Returns the stock of holds that have run out. Any number of workers may look after the same index.
#[derive(Clone, Debug)]
pub struct ExpiryWorker<C> {
    connection: C,
    index: String,
}

impl<C: ConnectionLike> ExpiryWorker<C> {
    /// Looks after one expiry index: [`EXPIRY_INDEX`], or the one that was given to `reserve_seats`
    /// as its fourth key.
    pub fn new(connection: C, index: impl Into<String>) -> Self {
        Self { connection, index: index.into() }
    }

    /// One round: ends every hold that is due now.
    ///
    /// # Errors
    ///
    /// If Redis cannot be reached, or does not answer a call within 5 s. What was returned before stays
    /// returned; the rest is still due.
    pub async fn run_once(&mut self) -> Result<Expired, RedisError> {
        let mut done = Expired::default();
        for _ in 0..BATCHES_PER_ROUND {
            let (wait_ms, due) = self.due().await?;
            done.next_ms = u64::try_from(wait_ms).ok();
            if due.is_empty() {
                break;
            }
            let mut keys = vec![self.index.clone().into_bytes()];
            let mut entries = Vec::with_capacity(due.len());
            for [entry, zone, user, reservation] in due {
                keys.extend([zone, user, reservation]);
                entries.push(entry);
            }
            let expire = Script::ExpireReservations.call(&mut self.connection, &keys, &entries);
            let (_, reservations, seats, broken): (u8, u64, u64, u64) = in_time(expire).await?;
            done.reservations += reservations;
            done.seats += seats;
            done.broken += broken;
            if broken > 0 {
                done.next_ms = Some(done.next_ms.map_or(AGAIN_MS, |next_ms| next_ms.min(AGAIN_MS)));
            }
            // Entries that other workers took, or that have other keys, must not keep it going round.
            if wait_ms != 0 || reservations + broken == 0 {
                break;
            }
        }
        let mut foreign = redis::cmd("ZCOUNT");
        foreign.arg(&self.index).arg("+inf").arg("+inf");
        done.foreign = in_time(foreign.query_async(&mut self.connection)).await?;
        Ok(done)
    }

    /// Goes on, from deadline to deadline, until `stop` is done. While Redis is away it says so, and
    /// tries again every second.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut foreign_told = 0;
        loop {
            let pause = tokio::select! {
                () = &mut stop => return,
                round = self.run_once() => match round.inspect(|done| self.report(done, &mut foreign_told)) {
                    // What is due and cannot be ended is looked at again, but not at once.
                    Ok(Expired { next_ms: Some(0), reservations: 0, .. }) => LOOK_AGAIN_WITHIN,
                    Ok(Expired { next_ms: Some(next_ms), .. }) => {
                        Duration::from_millis(next_ms).min(LOOK_AGAIN_WITHIN)
                    }
                    Ok(Expired { next_ms: None, .. }) => LOOK_AGAIN_WITHIN,
                    Err(error) => {
                        warn!(%error, index = self.index,
                            "the stock of holds that ran out cannot be returned now");
                        LOOK_AGAIN_WITHIN
                    }
                },
            };
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Says what a round could not end, and what it found beside the holds.
    fn report(&self, done: &Expired, foreign_told: &mut u64) {
        let Expired { broken, foreign, .. } = *done;
        if broken > 0 {
            let why = "the count of a zone or user is no whole number";
            warn!(broken, index = self.index, why, "holds that ran out cannot be ended");
        }
        if foreign > *foreign_told {
            warn!(foreign, index = self.index, "entries that are no hold's were set aside");
        }
        *foreign_told = foreign;
    }

    /// The time until the next deadline, negative if there is none, and who is due, each with entry and keys.
    ///
    /// Keys are bytes: one that is no text must not stop the others.
    async fn due(&mut self) -> Result<(i64, Vec<[Vec<u8>; 4]>), RedisError> {
        let keys = [&self.index];
        let due = Script::DueReservations.call(&mut self.connection, &keys, &[BATCH]);
        let rows: Vec<redis::Value> = in_time(due).await?;
        let mut rows = rows.into_iter().skip(1);
        let wait_ms = rows.next().map(redis::from_redis_value).transpose()?.unwrap_or(-1);
        let due = rows.map(redis::from_redis_value).collect::<Result<_, _>>()?;
        Ok((wait_ms, due))
    }
}

/// What Redis answers, if it does so within [`ANSWER_WITHIN`].
async fn in_time<T>(asked: impl Future<Output = Result<T, RedisError>>) -> Result<T, RedisError> {
    timeout(ANSWER_WITHIN, asked).await.unwrap_or_else(|_| {
        let late = format!("no answer within {} s", ANSWER_WITHIN.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_testkit::Log;
    use redis::{Cmd, Pipeline, RedisFuture, Value};
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A client that waits for somebody to take over, and counts what it is asked.
    #[derive(Clone, Default)]
    struct Waiting(Arc<AtomicUsize>);

    impl ConnectionLike for Waiting {
        fn req_packed_command<'a>(&'a mut self, _: &'a Cmd) -> RedisFuture<'a, Value> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(pending())
        }

        fn req_packed_commands<'a>(
            &'a mut self,
            _: &'a Pipeline,
            _: usize,
            _: usize,
        ) -> RedisFuture<'a, Vec<Value>> {
            Box::pin(pending())
        }

        fn get_db(&self) -> i64 {
            0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn worker_whose_call_is_not_answered_says_so_and_calls_again() {
        let (log, _guard) = Log::begin(tracing::Level::WARN);
        let waiting = Waiting::default();
        let worker = ExpiryWorker::new(waiting.clone(), EXPIRY_INDEX);
        // While the fifth call is waited for.
        let stop = (ANSWER_WITHIN + LOOK_AGAIN_WITHIN) * 4 + LOOK_AGAIN_WITHIN;
        worker.run(tokio::time::sleep(stop)).await;
        assert_eq!(waiting.0.load(Ordering::Relaxed), 5);
        assert_eq!(log.count("no answer within 5 s"), 4, "{}", log.text());
    }
}
