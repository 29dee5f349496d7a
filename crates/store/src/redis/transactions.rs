//! Joins and holds as optimistic transactions, where the flag `lua_atomic` is off.
//!
//! ```text
//! WATCH meta ─► the script, telling its writes instead of making them ─► MULTI, the writes, EXEC
//!    ▲                                                                           │
//!    └────────────── somebody decided something in between ◄─────────────────────┘
//! ```
//!
//! The rules are the script's, either way. Every decision of an event changes its meta hash, so
//! that one key is enough to watch. A watch belongs to a connection, so each transaction has one of
//! its own, to the very server that has the event: a connection that mended itself in between would
//! have forgotten what it watches.
//!
//! Whoever loses too often, or finds no server that takes transactions, runs the script as it is:
//! nobody is turned away for the way their command takes.

use super::client::{ClientError, Servers};
use super::scripts::Script;
use super::sentinel::{Sentinels, with_host};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, ServerErrorKind,
    Value,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Races lost before the script is run as it is.
const ATTEMPTS: usize = 16;
/// Connections to one server that are kept for later.
const IDLE: usize = 16;

/// What one attempt came to.
enum Attempt {
    /// It is done, or there was nothing to write.
    Done(Value),
    /// Somebody else was faster.
    Lost,
    /// Another server has the event.
    Moved(ConnectionAddr),
    /// It cannot be done this way; nothing was changed.
    Refused(RedisError),
}

/// Connections for transactions.
pub(super) struct Transactions {
    first: ConnectionInfo,
    /// Who knows where it is now, if it is a master's name.
    sentinels: Option<Arc<Sentinels>>,
    limit: Duration,
    idle: Mutex<HashMap<String, Vec<MultiplexedConnection>>>,
    /// Where an event's keys are, by the first of them.
    homes: Mutex<HashMap<String, ConnectionAddr>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transactions {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// If the address is none.
    pub(super) fn new(
        servers: &Servers,
        sentinels: Option<Arc<Sentinels>>,
        limit: Duration,
    ) -> Result<Self, ClientError> {
        // Whoever connects to them has looked at the addresses.
        let url = servers.urls.first().map_or("", String::as_str);
        // With the certificates, which go along wherever the address is replaced.
        let first = servers.client(url)?.get_connection_info().clone();
        Ok(Self { first, sentinels, limit, idle: Mutex::default(), homes: Mutex::default() })
    }

    /// Where an event is looked for first.
    fn first_home(&self) -> ConnectionAddr {
        let master = self.sentinels.as_ref().and_then(|sentinels| sentinels.known());
        master.unwrap_or_else(|| self.first.addr().clone())
    }

    /// How long somebody waits for one of them.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// What the script answers, with its writes made at once or not at all; `None` if nothing was
    /// done, and the script is to be run as it is.
    ///
    /// # Errors
    /// If nobody answers; whether it was done is unknown then.
    pub(super) async fn run(
        &self,
        script: &Script,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Option<Value>, ClientError> {
        let begun = Instant::now();
        for _ in 0..ATTEMPTS {
            match self.attempt(script, keys, args).await? {
                Attempt::Done(reply) => return Ok(Some(reply)),
                Attempt::Lost => tokio::task::yield_now().await,
                Attempt::Moved(home) => {
                    lock(&self.homes).insert(keys[0].to_owned(), home);
                }
                Attempt::Refused(error) => {
                    tracing::debug!(%error, script = script.name, "no transaction");
                    // The server may be gone for good: whoever is asked first knows who has its place.
                    lock(&self.homes).remove(keys[0]);
                    return Ok(None);
                }
            }
            if begun.elapsed() >= self.limit {
                break;
            }
        }
        Ok(None)
    }

    async fn attempt(
        &self,
        script: &Script,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Attempt, ClientError> {
        let home = lock(&self.homes).get(keys[0]).cloned();
        let home = home.unwrap_or_else(|| self.first_home());
        let asked = self.attempt_at(&home, script, keys, args);
        let Some(sentinels) = &self.sentinels else { return asked.await };
        let attempt = sentinels.while_master(&home, asked).await?;
        if matches!(attempt, Attempt::Done(_)) {
            sentinels.believe(&home).await?;
        }
        Ok(attempt)
    }

    async fn attempt_at(
        &self,
        home: &ConnectionAddr,
        script: &Script,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Attempt, ClientError> {
        let (mut connection, told) = match self.read(home, script, keys, args).await {
            Ok(read) => read,
            // Whoever has waited that long for an answer is not kept waiting for the next. The server may
            // be gone for good: the next one asks who has its place.
            Err(error) if error.is_timeout() => {
                lock(&self.homes).remove(keys[0]);
                return Err(error.into());
            }
            Err(error) => {
                return match self.moved(&error) {
                    Some(elsewhere) => Ok(Attempt::Moved(elsewhere)),
                    None => match ClientError::from(error.clone()) {
                        // A script that fails is a fault of ours: running it again would only hide that.
                        failed @ ClientError::Answered(_) => Err(failed),
                        ClientError::Unreachable(_)
                        | ClientError::OutOfMemory
                        | ClientError::Refuses(_) => Ok(Attempt::Refused(error)),
                    },
                };
            }
        };
        let (reply, writes): (Value, Vec<Vec<String>>) = redis::from_redis_value(told)
            .map_err(|error| ClientError::Answered(format!("{}: {error}", script.name)))?;
        if writes.is_empty() {
            // What was read in one step needs nobody's leave; a connection that fails now is not kept.
            if redis::cmd("UNWATCH").exec_async(&mut connection).await.is_ok() {
                self.put(home, connection);
            }
            return Ok(Attempt::Done(reply));
        }
        let mut all = redis::pipe();
        all.atomic();
        for words in &writes {
            let (name, rest) = words.split_first().expect("a command has a name");
            all.cmd(name).arg(rest);
        }
        match all.query_async(&mut connection).await {
            Ok(Value::Nil) => {
                self.put(home, connection);
                Ok(Attempt::Lost)
            }
            Ok(_) => {
                self.put(home, connection);
                Ok(Attempt::Done(reply))
            }
            // A server without memory left, or one that is a replica now, takes none of it.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::ExecAbort) => {
                Ok(Attempt::Refused(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Watches the event, and has the script tell what it would do. A connection that failed is dropped.
    async fn read(
        &self,
        home: &ConnectionAddr,
        script: &Script,
        keys: &[&str],
        args: &[&str],
    ) -> Result<(MultiplexedConnection, Value), RedisError> {
        let mut connection = self.take(home).await?;
        redis::cmd("WATCH").arg(keys[0]).exec_async(&mut connection).await?;
        let told = told(&mut connection, script.telling(), keys, args).await?;
        Ok((connection, told))
    }

    /// Where the event is, if an error says so.
    fn moved(&self, error: &RedisError) -> Option<ConnectionAddr> {
        let (host, port) = error.redirect_node()?.0.rsplit_once(':')?;
        let (host, port) = (host.to_owned(), port.parse().ok()?);
        Some(with_host(self.first.addr(), host, port))
    }

    async fn take(&self, home: &ConnectionAddr) -> Result<MultiplexedConnection, RedisError> {
        if let Some(idle) = lock(&self.idle).get_mut(&home.to_string()).and_then(Vec::pop) {
            return Ok(idle);
        }
        let client = redis::Client::open(self.first.clone().set_addr(home.clone()))?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.limit))
            .set_response_timeout(Some(self.limit));
        client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// Keeps a connection that watches nothing any more. One that failed is never brought back.
    fn put(&self, home: &ConnectionAddr, connection: MultiplexedConnection) {
        let mut idle = lock(&self.idle);
        let idle = idle.entry(home.to_string()).or_default();
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }
}

async fn told(
    connection: &mut MultiplexedConnection,
    script: &Script,
    keys: &[&str],
    args: &[&str],
) -> Result<Value, RedisError> {
    let call = |how: &str, text: &str| {
        let mut command = redis::cmd(how);
        command.arg(text).arg(keys.len()).arg(keys).arg(args);
        command
    };
    match call("EVALSHA", &script.sha).query_async(connection).await {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            call("EVAL", &script.text).query_async(connection).await
        }
        answered => answered,
    }
}
