//! Redis behind Sentinels: who the master is, and connections that go where it goes.
//!
//! ```text
//! Sentinels ──► who is the master? the answer of the highest epoch counts ──► address
//!     ▲ each second, when a connection fails, and after a silence                │
//!     └──── a connection to another address is given up, and made anew ◄─────────┘
//! ```
//!
//! A master that stood still breaks no connection, and goes on as the master that it was until the
//! Sentinels have made it a replica, which takes them some ten seconds. So whoever waits for a server is
//! told as soon as another one is the master, and the first answer after a silence is believed only
//! once the Sentinels were asked. They advise: while none of them answers, the master that is known
//! counts.
//!
//! What a new master has not received is what the engine looks for anyway, as after any loss: an
//! event whose head is behind what nodes know and the archive has is rebuilt.

use super::client::{ClientError, Servers, is_refused_login, tcp_settings};
use super::heard::Heard;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, RedisError,
    RedisFuture, ServerErrorKind, Value,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How often the Sentinels are asked although nothing has failed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long one Sentinel may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long what stood in the way of a connection is told to others who ask, instead of trying again.
const RECENT: Duration = Duration::from_millis(100);
/// How long an answer that takes its time may take: as long as the longest script.
const LONGEST: Duration = super::client::LONGEST;

/// Some Sentinels, and who is the master by what they say.
pub(super) struct Sentinels {
    all: Vec<Sentinel>,
    /// What they call the master.
    name: String,
    /// How the master is spoken with, wherever it is.
    master: ConnectionInfo,
    /// Where it is, as far as is known.
    known: watch::Sender<Option<Master>>,
    /// When it answered anybody here.
    heard: Heard,
    /// Held by whoever asks the Sentinels after a silence, for all who wait for that.
    asking: tokio::sync::Mutex<()>,
    /// Since when most of the Sentinels have not answered, as `heard` counts; 0 while they do.
    away_since: AtomicU64,
    /// Connections that were made.
    made: AtomicU64,
}

struct Sentinel {
    client: redis::Client,
    /// Made when it is asked first, and anew after it failed.
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// Who the master is, by what a Sentinel says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Master {
    /// Of the configuration that the Sentinel has heard of last.
    epoch: u64,
    address: ConnectionAddr,
}

/// Who counts as the master after a look that began when `least` was the epoch known. Another look may
/// have ended meanwhile, and seen a later configuration. What was known before it began is no better than
/// what most Sentinels say, who may have been set up anew.
fn latest_of(known: Option<&Master>, least: u64, told: Master) -> Master {
    match known {
        Some(known) if known.epoch > told.epoch.max(least) => known.clone(),
        Some(_) | None => told,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sentinels {
    /// Those of the settings, who are asked each second from now on. Must be called in a runtime.
    ///
    /// # Errors
    /// An address is none.
    pub(super) fn new(servers: &Servers) -> Result<Arc<Self>, ClientError> {
        let [url] = servers.urls.as_slice() else {
            let why = "use one address for a master behind Sentinels";
            return Err(ClientError::Unreachable(why.to_owned()));
        };
        let sentinel = |url: &String| -> Result<Sentinel, RedisError> {
            Ok(Sentinel { client: servers.client(url)?, connection: Mutex::default() })
        };
        let all = servers.sentinels.iter().map(sentinel).collect::<Result<_, _>>()?;
        let master = servers.client(url)?.get_connection_info().clone();
        let sentinels = Arc::new(Self::of(all, master));
        tokio::spawn(keep_looking(Arc::downgrade(&sentinels)));
        Ok(sentinels)
    }

    /// Nobody is known to be the master yet.
    fn of(all: Vec<Sentinel>, master: ConnectionInfo) -> Self {
        Self {
            all,
            name: name_of(master.addr()),
            master,
            known: watch::Sender::new(None),
            heard: Heard::default(),
            asking: tokio::sync::Mutex::default(),
            away_since: AtomicU64::new(0),
            made: AtomicU64::new(0),
        }
    }

    /// Where the master is, as far as is known.
    pub(super) fn known(&self) -> Option<ConnectionAddr> {
        self.latest().map(|master| master.address)
    }

    fn is_at(&self, address: &ConnectionAddr) -> bool {
        self.known.borrow().as_ref().is_some_and(|known| known.address == *address)
    }

    fn latest(&self) -> Option<Master> {
        self.known.borrow().clone()
    }

    /// Waits until another server is the master than the one at this address.
    async fn left(&self, address: &ConnectionAddr) {
        let mut known = self.known.subscribe();
        let is_other =
            |known: &Option<Master>| known.as_ref().is_some_and(|known| known.address != *address);
        // The sender is here, so that it does not end before this does.
        drop(known.wait_for(is_other).await);
    }

    /// Waits for what a server is asked for as long as it is the master. One that stands still may answer
    /// when it goes on, and what it says then counts no more.
    ///
    /// # Errors
    /// What comes of it, or that another server is the master now: whether it did what it was asked is
    /// unknown.
    pub(super) async fn while_master<T, E: From<RedisError>>(
        &self,
        address: &ConnectionAddr,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            biased;
            came = asked => came,
            () = self.left(address) => Err(no_master(address).into()),
        }
    }

    /// Looks whether a server that has answered this moment is the master: after a silence, in which it
    /// may have stood still, by asking the Sentinels.
    ///
    /// # Errors
    /// Another one is.
    pub(super) async fn believe(&self, address: &ConnectionAddr) -> Result<(), RedisError> {
        let at = self.heard.now();
        if !self.heard.goes_on(at) {
            self.look_after_silence(address, at).await;
        }
        if self.is_at(address) {
            self.heard.note(at);
            Ok(())
        } else {
            Err(no_master(address))
        }
    }

    /// Asks the Sentinels for a server that answered at this time. All who wait for that ask once, and
    /// Sentinels that are away are waited for once: they are asked each second anyway.
    async fn look_after_silence(&self, address: &ConnectionAddr, at: u64) {
        let _turn = self.asking.lock().await;
        let is_known = self.heard.goes_on(at) || !self.is_at(address);
        if is_known || self.are_away() {
            return;
        }
        let begun = self.heard.now().max(1);
        if let Err(error) = self.look_from(begun).await {
            tracing::debug!(%error, "no Sentinel answers");
        }
        if self.is_at(address) {
            self.heard.note(begun);
        }
    }

    /// Whether most of the Sentinels are away for a reason of their own: the master was heard since. One
    /// that fell silent with them may have been replaced meanwhile.
    fn are_away(&self) -> bool {
        let since = self.away_since.load(Ordering::Relaxed);
        since > 0 && self.heard.last() >= since
    }

    /// Asks who the master is, and takes note of it.
    async fn look(&self) -> Result<ConnectionAddr, RedisError> {
        self.look_from(self.heard.now().max(1)).await
    }

    /// The same from this time on.
    async fn look_from(&self, begun: u64) -> Result<ConnectionAddr, RedisError> {
        let found = self.ask_all().await;
        if matches!(found, Ok((_, true))) {
            self.away_since.store(0, Ordering::Relaxed);
        } else {
            // What counts is when they went away, not when that was seen last.
            let _ =
                self.away_since.compare_exchange(0, begun, Ordering::Relaxed, Ordering::Relaxed);
        }
        found.map(|(address, _)| address)
    }

    /// Asks all of them, until most have answered and none is behind what is known: the one with the
    /// highest epoch is believed. Says also whether most have answered.
    async fn ask_all(&self) -> Result<(ConnectionAddr, bool), RedisError> {
        let least = self.latest().map_or(0, |master| master.epoch);
        let mut asked: FuturesUnordered<_> = self.all.iter().map(|one| self.ask(one)).collect();
        let (mut best, mut answered, mut failed): (Option<Master>, _, _) = (None, 0, None);
        while let Some(told) = asked.next().await {
            match told {
                Ok(told) => {
                    answered += 1;
                    if best.as_ref().is_none_or(|best| told.epoch > best.epoch) {
                        best = Some(told);
                    }
                }
                Err(error) => failed = Some(error),
            }
            let is_behind = best.as_ref().is_none_or(|best| best.epoch < least);
            if answered > self.all.len() / 2 && !is_behind {
                break;
            }
        }
        // One that lags behind the others, and answers alone, would lead back to a master of before.
        let is_most = answered > self.all.len() / 2;
        let Some(best) = best.filter(|best| is_most || best.epoch >= least) else {
            return Err(failed.unwrap_or_else(|| away("there are no Sentinels to ask")));
        };
        let mut address = best.address.clone();
        self.known.send_if_modified(|known| {
            let latest = latest_of(known.as_ref(), least, best);
            address = latest.address.clone();
            let is_other = known.as_ref().is_some_and(|known| known.address != latest.address);
            if is_other {
                tracing::warn!(%address, master = self.name, "Redis has another master");
            }
            *known = Some(latest);
            is_other
        });
        Ok((address, is_most))
    }

    async fn ask(&self, sentinel: &Sentinel) -> Result<Master, RedisError> {
        let told = timeout(PATIENCE, self.ask_at_once(sentinel)).await;
        let told = told.unwrap_or_else(|_| Err(away("no answer in time")));
        told.map_err(|error| {
            *lock(&sentinel.connection) = None;
            let (address, why) = (sentinel.client.get_connection_info().addr(), error.to_string());
            let name = &self.name;
            away(&if why.contains("No such master") {
                format!(
                    "Sentinel {address} knows no master {name:?}; look at redis.urls, whose host is \
                     the master's name"
                )
            } else if is_refused_login(&why) {
                format!(
                    "Sentinel {address} does not let this user in; look at user and password in \
                     redis.sentinels"
                )
            } else {
                format!("Sentinel {address}: {why}")
            })
        })
    }

    async fn ask_at_once(&self, sentinel: &Sentinel) -> Result<Master, RedisError> {
        let present = lock(&sentinel.connection).clone();
        let mut connection = match present {
            Some(connection) => connection,
            None => {
                let limits = AsyncConnectionConfig::new().set_connection_timeout(Some(PATIENCE));
                let client = &sentinel.client;
                let made = client.get_multiplexed_async_connection_with_config(&limits).await?;
                lock(&sentinel.connection).insert(made).clone()
            }
        };
        let mut both = redis::pipe();
        // While it promotes a replica it tells that one first, and the epoch is new by then.
        both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        both.cmd("SENTINEL").arg("MASTER").arg(&self.name);
        let (address, facts): (Option<(String, u16)>, HashMap<String, String>) =
            both.query_async(&mut connection).await?;
        let (host, port) = address.ok_or_else(|| away("it has no address of the master"))?;
        let epoch = facts.get("config-epoch").and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
        Ok(Master { epoch, address: with_host(self.master.addr(), host, port) })
    }

    /// Connects to the master, which must know itself that it is one.
    async fn connect(&self, limit: Duration) -> Result<Live, RedisError> {
        let address = self.look().await?;
        let connection = self.while_master(&address, self.connect_to(&address, limit)).await?;
        Ok(Live { number: self.made.fetch_add(1, Ordering::Relaxed), address, connection })
    }

    async fn connect_to(
        &self,
        address: &ConnectionAddr,
        limit: Duration,
    ) -> Result<MultiplexedConnection, RedisError> {
        let info = self.master.clone().set_addr(address.clone()).set_tcp_settings(tcp_settings());
        let client = redis::Client::open(info)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(limit))
            .set_response_timeout(Some(LONGEST));
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let role: Value = redis::cmd("ROLE").query_async(&mut connection).await?;
        if is_master(&role) {
            Ok(connection)
        } else {
            Err(away(&format!("{address} is no master any more, or not yet")))
        }
    }
}

/// Asks each second as long as anybody is connected.
async fn keep_looking(sentinels: Weak<Sentinels>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(sentinels) = sentinels.upgrade() else { return };
        // Sentinels that are away decide nothing, and the master we have goes on.
        if let Err(error) = sentinels.look().await {
            tracing::debug!(%error, "no Sentinel answers");
        }
    }
}

/// A connection to a master.
#[derive(Clone)]
struct Live {
    /// Which it is of all that were made.
    number: u64,
    address: ConnectionAddr,
    connection: MultiplexedConnection,
}

/// A connection to whoever is the master. Clones share it.
#[derive(Clone)]
pub(super) struct Followed(Arc<Following>);

struct Following {
    sentinels: Arc<Sentinels>,
    limit: Duration,
    live: Mutex<Option<Live>>,
    /// Held by whoever makes the next one; what stood in the way last, and when.
    mending: tokio::sync::Mutex<Option<(Instant, RedisError)>>,
}

impl Followed {
    /// Connects to the master that the Sentinels name.
    ///
    /// # Errors
    /// No Sentinel answers, or the master does not.
    pub(super) async fn open(
        sentinels: &Arc<Sentinels>,
        limit: Duration,
    ) -> Result<Self, ClientError> {
        let live = sentinels.connect(limit).await?;
        Ok(Self(Arc::new(Following {
            sentinels: sentinels.clone(),
            limit,
            live: Mutex::new(Some(live)),
            mending: tokio::sync::Mutex::default(),
        })))
    }

    fn present(&self) -> Option<Live> {
        let live = lock(&self.0.live).clone();
        live.filter(|live| self.0.sentinels.is_at(&live.address))
    }

    /// The connection; made anew if it broke, or if another server is the master now.
    async fn live(&self) -> Result<Live, RedisError> {
        if let Some(live) = self.present() {
            return Ok(live);
        }
        let mut failed = self.0.mending.lock().await;
        if let Some(live) = self.present() {
            return Ok(live);
        }
        if let Some((_, error)) = failed.as_ref().filter(|(at, _)| at.elapsed() < RECENT) {
            return Err(error.clone());
        }
        match self.0.sentinels.connect(self.0.limit).await {
            Ok(live) => {
                *lock(&self.0.live) = Some(live.clone());
                *failed = None;
                Ok(live)
            }
            Err(error) => {
                *failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// What a server answers, if it is the master then.
    async fn told<T>(
        &self,
        number: u64,
        address: &ConnectionAddr,
        asked: impl Future<Output = Result<T, RedisError>>,
    ) -> Result<T, RedisError> {
        let came = self.0.sentinels.while_master(address, asked).await;
        let told = self.noted(number, came)?;
        self.0.sentinels.believe(address).await?;
        Ok(told)
    }

    /// Looks at what came of a command: a connection that broke, or to whoever is no master any
    /// more, is not used again.
    fn noted<T>(&self, number: u64, came: Result<T, RedisError>) -> Result<T, RedisError> {
        if came.as_ref().err().is_some_and(is_over) {
            let mut live = lock(&self.0.live);
            // Another one may have been made meanwhile.
            if live.as_ref().is_some_and(|live| live.number == number) {
                *live = None;
            }
        }
        came
    }
}

impl ConnectionLike for Followed {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let Live { number, address, mut connection } = self.live().await?;
            let asked = async {
                connection.req_packed_command(command).await.and_then(Value::extract_error)
            };
            self.told(number, &address, asked).await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let Live { number, address, mut connection } = self.live().await?;
            let asked = connection.req_packed_commands(pipeline, offset, count);
            self.told(number, &address, asked).await
        })
    }

    fn get_db(&self) -> i64 {
        self.0.sentinels.master.redis_settings().db()
    }
}

fn is_over(error: &RedisError) -> bool {
    let is_demoted = matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading
        )
    );
    is_demoted || error.is_unrecoverable_error() || error.is_connection_dropped()
}

/// What ROLE begins with.
fn is_master(role: &Value) -> bool {
    let Value::Array(parts) = role else { return false };
    let first = parts.first().cloned().map(redis::from_redis_value::<String>);
    matches!(first, Some(Ok(role)) if role == "master")
}

/// The master's name, which stands in the place of a host.
fn name_of(address: &ConnectionAddr) -> String {
    match address {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.clone(),
        // The enum is the client's; settings allow no sockets here.
        ConnectionAddr::Unix(_) | _ => String::new(),
    }
}

/// An address at another host, spoken with in the same way.
pub(super) fn with_host(address: &ConnectionAddr, host: String, port: u16) -> ConnectionAddr {
    match address {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        // The enum is the client's, and who is named by a host is not a socket.
        ConnectionAddr::Tcp(..) | ConnectionAddr::Unix(_) | _ => ConnectionAddr::Tcp(host, port),
    }
}

fn no_master(address: &ConnectionAddr) -> RedisError {
    away(&format!("{address} is not the master any more"))
}

fn away(why: &str) -> RedisError {
    RedisError::from((ErrorKind::Io, "Redis behind Sentinels", why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::{join, pending};
    use redis::IntoConnectionInfo;

    fn master(epoch: u64) -> Master {
        Master { epoch, address: ConnectionAddr::Tcp(format!("of-{epoch}"), 6379) }
    }

    #[test]
    fn look_that_ends_late_does_not_lead_back_to_the_master_of_before() {
        // It began before the failover, and another look has seen the failover meanwhile.
        assert_eq!(latest_of(Some(&master(5)), 4, master(4)), master(5));
        assert_eq!(latest_of(Some(&master(1)), 0, master(0)), master(1));
        assert_eq!(latest_of(Some(&master(4)), 4, master(5)), master(5));
        assert_eq!(latest_of(None, 0, master(4)), master(4));
    }

    #[test]
    fn sentinels_that_were_set_up_anew_are_believed() {
        assert_eq!(latest_of(Some(&master(5)), 5, master(0)), master(0));
    }

    /// Nobody to ask, and who was known to be the master before.
    fn sentinels(known: Master) -> Sentinels {
        let name = "redis://onrush".into_connection_info().expect("an address");
        let sentinels = Sentinels::of(Vec::new(), name);
        sentinels.known.send_replace(Some(known));
        sentinels
    }

    #[tokio::test]
    async fn master_of_before_is_waited_for_until_there_is_another_and_not_believed() {
        let sentinels = sentinels(master(4));
        let of_before = master(4).address;
        let silent = pending::<Result<(), RedisError>>();
        let (told, ()) = join(sentinels.while_master(&of_before, silent), async {
            sentinels.known.send_replace(Some(master(5)));
        })
        .await;
        assert_eq!(told, Err(no_master(&of_before)));
        assert_eq!(sentinels.believe(&of_before).await, Err(no_master(&of_before)));
        assert_eq!(sentinels.believe(&master(5).address).await, Ok(()));
    }

    #[tokio::test]
    async fn master_goes_on_after_a_silence_while_no_sentinel_answers() {
        let sentinels = sentinels(master(4));
        assert_eq!(sentinels.believe(&master(4).address).await, Ok(()));
        assert!(sentinels.heard.goes_on(sentinels.heard.now()));
        assert!(sentinels.are_away(), "they are not waited for again");
    }

    #[tokio::test]
    async fn sentinels_that_fell_silent_with_the_master_are_asked_when_it_goes_on() {
        let sentinels = sentinels(master(4));
        sentinels.look().await.expect_err("nobody answers");
        assert!(!sentinels.are_away(), "the master was not heard since");
        sentinels.heard.note(sentinels.heard.now());
        assert!(sentinels.are_away(), "it was, and they are away by themselves");
    }
}
