//! Connections to Redis, Redis Cluster or a master behind Sentinels, a few of each, and scripts
//! called as functions, or by their SHA-1 where a server has none.

use super::library::Library;
use super::scripts::Script;
use super::sentinel::{Followed, Sentinels};
use crate::engine::{Failure, Hindrance};
use onrush_tls::{Certificates, Refusal};
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, ResponsePolicy, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::io::tcp::TcpSettings;
use redis::{
    ClientTlsConfig, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, ServerErrorKind,
    TlsCertificates, Value,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// How long a script that takes its time may take: a large house of seats, or moving on a full event.
pub(super) const LONGEST: Duration = Duration::from_secs(30);
/// After how long without an acknowledgement a connection is given up.
const GONE: Duration = Duration::from_secs(5);

/// Why Redis did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClientError {
    /// No answer: it cannot be reached, or not in time. Whether it did what was asked is unknown.
    Unreachable(String),
    /// It has no memory left; nothing was changed.
    OutOfMemory,
    /// It answers, and changes nothing whatever it is asked.
    Refuses(Hindrance),
    /// It answered with an error of another kind.
    Answered(String),
}

/// What the settings call the certificates.
const CERTIFICATES: &str = "redis.certificates";

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => match advice(why) {
                Some(advice) => write!(f, "Redis cannot be reached: {advice}. ({why})"),
                None => write!(f, "Redis cannot be reached: {why}"),
            },
            Self::OutOfMemory => f.write_str("Redis has no memory left: raise its maxmemory"),
            Self::Refuses(hindrance) => write!(f, "{hindrance}"),
            Self::Answered(why) => write!(f, "Redis answers with an error: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// What to do about a connection that TLS or the ACL is in the way of.
fn advice(why: &str) -> Option<String> {
    if let Some(refusal) = Refusal::of_text(why) {
        return Some(refusal.sentence(CERTIFICATES));
    }
    is_refused_login(why).then(|| {
        "it does not let this user in; look at user and password in redis.urls \
         (rediss://user:password@host:port)"
            .to_owned()
    })
}

/// Whether a server's words mean that it does not let this user in.
pub(super) fn is_refused_login(why: &str) -> bool {
    let login = ["WRONGPASS", "AuthenticationFailed", "Password authentication failed", "NOAUTH"];
    login.iter().any(|sign| why.contains(sign))
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            // Whoever looks after the server is told by the look of each sweep, or where a script met it.
            ClientError::Unreachable(_) | ClientError::Refuses(_) => Self::Unreachable,
            ClientError::OutOfMemory => Self::DiskLow,
            ClientError::Answered(_) => {
                tracing::error!(%error, "an error that no script of ours should make");
                Self::Faulty
            }
        }
    }
}

impl From<RedisError> for ClientError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the client may learn of more errors")]
    fn from(error: RedisError) -> Self {
        if error.code() == Some("OOM") {
            return Self::OutOfMemory;
        }
        match error.kind() {
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask,
            ) => Self::Unreachable(error.to_string()),
            ErrorKind::Server(ServerErrorKind::ReadOnly) => Self::Refuses(Hindrance::IsReplica),
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType => {
                match error.code() {
                    // A server that is busy with a script answers so.
                    Some("BUSY") => Self::Unreachable(error.to_string()),
                    Some("NOREPLICAS") => Self::Refuses(Hindrance::FewReplicas),
                    Some("MISCONF") => Self::Refuses(Hindrance::CannotSave),
                    Some(_) | None => Self::Answered(error.to_string()),
                }
            }
            _ => Self::Unreachable(error.to_string()),
        }
    }
}

/// A connection that mends itself.
#[derive(Clone)]
pub(super) enum Connection {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
    /// To the master that Sentinels name.
    Followed(Followed),
}

impl Connection {
    /// Connects to one server, to a cluster, or to a master behind Sentinels.
    ///
    /// # Errors
    /// If an address is none, or nobody answers there.
    pub(super) async fn open(servers: &Servers, timeout: Duration) -> Result<Self, ClientError> {
        Ok(if servers.is_cluster {
            Self::Cluster(open_cluster(servers, timeout).await?)
        } else if let Some(sentinels) = servers.follow()? {
            Self::Followed(Followed::open(&sentinels, timeout).await?)
        } else {
            Self::Single(open_single(servers, timeout).await?)
        })
    }

    /// A single server's connection keeps the refusal of an attempt that it made by itself, and tells
    /// it to the next who asks, however long ago that was: whoever is told one asks once more.
    async fn command(&mut self, command: &Cmd) -> Result<Value, RedisError> {
        let answer = match self {
            Self::Single(connection) => match connection.req_packed_command(command).await {
                Err(error) if error.is_connection_refusal() => {
                    connection.req_packed_command(command).await
                }
                answer => answer,
            },
            Self::Cluster(connection) => connection.req_packed_command(command).await,
            Self::Followed(connection) => connection.req_packed_command(command).await,
        };
        // A server's error comes as a value here.
        answer.and_then(Value::extract_error)
    }

    /// Sends a command without keys to the server that has this one.
    async fn command_for(&mut self, key: &str, command: Cmd) -> Result<Value, RedisError> {
        let Self::Cluster(connection) = self else { return self.command(&command).await };
        let home = SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master));
        let answer = connection.route_command(command, RoutingInfo::SingleNode(home)).await;
        answer.and_then(Value::extract_error)
    }

    async fn pipeline(&mut self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        match self {
            Self::Single(connection) => match pipeline.query_async(connection).await {
                Err(error) if RedisError::is_connection_refusal(&error) => {
                    pipeline.query_async(connection).await
                }
                answer => answer,
            },
            Self::Cluster(connection) => pipeline.query_async(connection).await,
            Self::Followed(connection) => pipeline.query_async(connection).await,
        }
    }
}

/// Where Redis is, and how it is spoken with.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    /// One server, or some nodes of a cluster.
    pub(super) urls: Vec<String>,
    pub(super) is_cluster: bool,
    /// Sentinels that know who the master is: the host of the one address is its name then.
    pub(super) sentinels: Vec<String>,
    pub(super) certificates: Certificates,
}

impl Servers {
    /// The Sentinels, asked from now on; `None` if there are none.
    ///
    /// # Errors
    /// An address is none.
    pub(super) fn follow(&self) -> Result<Option<Arc<Sentinels>>, ClientError> {
        let any = !self.sentinels.is_empty();
        any.then(|| Sentinels::new(self)).transpose()
    }

    /// A client of one server, or of one node.
    pub(super) fn client(&self, url: &str) -> Result<redis::Client, RedisError> {
        let info = url.into_connection_info()?.set_tcp_settings(tcp_settings());
        if is_tls(url) {
            redis::Client::build_with_tls(info, certificates(&self.certificates))
        } else {
            redis::Client::open(info)
        }
    }
}

fn is_tls(url: &str) -> bool {
    url.starts_with("rediss://")
}

/// As the client library wants them.
fn certificates(ours: &Certificates) -> TlsCertificates {
    TlsCertificates {
        client_tls: ours.own().map(|pair| ClientTlsConfig {
            client_cert: pair.chain().to_vec(),
            client_key: pair.key().to_vec(),
        }),
        root_cert: ours.authorities().map(<[u8]>::to_vec),
    }
}

/// A few connections to one Redis, a master or Redis Cluster. They mend themselves.
pub(super) struct Client {
    connections: Vec<Connection>,
    /// Who knows the master, if anybody has to be asked.
    sentinels: Option<Arc<Sentinels>>,
    next: AtomicUsize,
    timeout: Duration,
    /// Whether the server takes no functions from us: scripts are called by their texts then.
    without_functions: AtomicBool,
}

impl Client {
    /// Connects to one server, to a cluster, or to a master behind Sentinels.
    ///
    /// # Errors
    /// If an address is none, or nobody answers there.
    pub(super) async fn open(
        servers: &Servers,
        connections: usize,
        timeout_ms: u32,
    ) -> Result<Self, ClientError> {
        let timeout = Duration::from_millis(u64::from(timeout_ms));
        let sentinels = servers.follow()?;
        let mut opened = Vec::new();
        for _ in 0..connections.max(1) {
            opened.push(match &sentinels {
                // All of them follow together.
                Some(sentinels) => Connection::Followed(Followed::open(sentinels, timeout).await?),
                None => Connection::open(servers, timeout).await?,
            });
        }
        let without_functions = AtomicBool::new(false);
        let next = AtomicUsize::new(0);
        Ok(Self { connections: opened, sentinels, next, timeout, without_functions })
    }

    /// Who knows the master, if anybody has to be asked.
    pub(super) fn sentinels(&self) -> Option<&Arc<Sentinels>> {
        self.sentinels.as_ref()
    }

    fn connection(&self) -> Connection {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.connections[next % self.connections.len()].clone()
    }

    /// Sends one command and waits for its answer.
    pub(super) async fn command(&self, command: &Cmd) -> Result<Value, ClientError> {
        within(self.timeout, self.connection().command(command)).await
    }

    /// Sends one command to the server, or to all masters of the cluster.
    pub(super) async fn on_all_masters(&self, command: &Cmd) -> Result<Value, ClientError> {
        self.on_masters(command, None).await
    }

    /// Sends one command to the server, or to all masters of the cluster, of which one has to answer.
    pub(super) async fn on_any_master(&self, command: &Cmd) -> Result<Value, ClientError> {
        self.on_masters(command, Some(ResponsePolicy::OneSucceeded)).await
    }

    async fn on_masters(
        &self,
        command: &Cmd,
        who_answers: Option<ResponsePolicy>,
    ) -> Result<Value, ClientError> {
        match self.connection() {
            Connection::Single(_) | Connection::Followed(_) => self.command(command).await,
            Connection::Cluster(mut connection) => {
                let masters = (MultipleNodeRoutingInfo::AllMasters, who_answers);
                let asked =
                    connection.route_command(command.clone(), RoutingInfo::MultiNode(masters));
                within(self.timeout, asked).await
            }
        }
    }

    /// Sends some commands about one event together.
    pub(super) async fn pipeline(&self, pipeline: &Pipeline) -> Result<Vec<Value>, ClientError> {
        within(self.timeout, self.connection().pipeline(pipeline)).await
    }

    /// The same for whoever may wait as long as for a script that takes its time.
    pub(super) async fn pipeline_at_length(
        &self,
        pipeline: &Pipeline,
    ) -> Result<Vec<Value>, ClientError> {
        within(LONGEST, self.connection().pipeline(pipeline)).await
    }

    /// A script as a function, if the server is known to take them.
    fn library<'s>(&self, script: &'s Script) -> Option<&'s Library> {
        let without = self.without_functions.load(Ordering::Relaxed);
        script.library.as_ref().filter(|_| !without)
    }

    /// Gives all functions to the server, or to all masters of the cluster, ahead: one that has no
    /// memory left takes none any more, and runs those that it has.
    pub(super) async fn load_all<'s>(&self, scripts: impl Iterator<Item = &'s Script>) {
        for library in scripts.filter_map(|script| script.library.as_ref()) {
            let mut command = redis::cmd("FUNCTION");
            match self.on_all_masters(command.arg("LOAD").arg(&library.text)).await {
                Err(ClientError::Answered(why)) if why.contains("already exists") => {}
                Err(error) => {
                    // Whoever calls one finds out more.
                    tracing::debug!(%error, "functions are not loaded ahead");
                    return;
                }
                Ok(_) => {}
            }
        }
    }

    /// Gives a function to the server that has this key; whether it has it now.
    async fn load(&self, connection: &mut Connection, library: &Library, key: &str) -> bool {
        let mut command = redis::cmd("FUNCTION");
        command.arg("LOAD").arg(&library.text);
        let error = match connection.command_for(key, command).await {
            Err(error) if is_there_already(&error) => return true,
            Err(error) => error,
            Ok(_) => return true,
        };
        if is_refused_function(&error) {
            self.do_without(&error);
        } else if error.code() != Some("OOM") {
            // Whoever calls it is told of it as well, or reaches another server.
            tracing::warn!(%error, library = library.name, "Redis does not take a function");
        }
        false
    }

    /// Calls scripts by their texts from now on.
    fn do_without(&self, error: &RedisError) {
        if !self.without_functions.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %error,
                "Redis takes no functions from this user: scripts are called by their texts, which \
                 takes it longer; allow the user FUNCTION and FCALL"
            );
        }
    }

    /// Runs a script. A server that does not know it yet is given it; one that `is_long` is waited
    /// for longer.
    pub(super) async fn script(
        &self,
        script: &Script,
        keys: &[&str],
        args: &[&str],
        is_long: bool,
    ) -> Result<Value, ClientError> {
        let call = |how: &str, text: &str| {
            let mut command = redis::cmd(how);
            command.arg(text).arg(keys.len()).arg(keys).arg(args);
            command
        };
        let mut connection = self.connection();
        let run = async {
            if let Some(library) = self.library(script) {
                let call = call("FCALL", &library.name);
                match connection.command(&call).await {
                    Err(error) if is_refused_function(&error) => self.do_without(&error),
                    Err(error) if is_unknown_function(&error) => {
                        let of = keys.first().copied().unwrap_or_default();
                        if self.load(&mut connection, library, of).await {
                            return connection.command(&call).await;
                        }
                    }
                    answered => return answered,
                }
            }
            match connection.command(&call("EVALSHA", &script.sha)).await {
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                    connection.command(&call("EVAL", &script.text)).await
                }
                answered => answered,
            }
        };
        let limit = if is_long { LONGEST } else { self.timeout };
        within(limit, run).await.map_err(|error| match error {
            ClientError::Answered(why) => ClientError::Answered(format!("{}: {why}", script.name)),
            ClientError::Unreachable(_) | ClientError::OutOfMemory | ClientError::Refuses(_) => {
                error
            }
        })
    }
}

fn is_unknown_function(error: &RedisError) -> bool {
    error.detail().is_some_and(|said| said.contains("Function not found"))
}

/// Whether a server has no functions, or none for this user.
fn is_refused_function(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || error.detail().is_some_and(|said| said.contains("unknown command"))
}

fn is_there_already(error: &RedisError) -> bool {
    error.detail().is_some_and(|said| said.contains("already exists"))
}

async fn within<T>(
    limit: Duration,
    asked: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, ClientError> {
    match timeout(limit, asked).await {
        Ok(answered) => answered.map_err(ClientError::from),
        Err(_) => {
            Err(ClientError::Unreachable(format!("no answer within {} ms", limit.as_millis())))
        }
    }
}

/// A server that is gone without a word is noticed by its kernel's silence, not only by ours.
pub(super) fn tcp_settings() -> TcpSettings {
    let settings = TcpSettings::default();
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(GONE);
    settings
}

async fn open_single(
    servers: &Servers,
    timeout: Duration,
) -> Result<ConnectionManager, ClientError> {
    let [url] = servers.urls.as_slice() else {
        return Err(ClientError::Unreachable("use one address for a single server".to_owned()));
    };
    // Whoever asks while nobody answers is told so in time; the next one to ask tries again.
    let config = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(LONGEST))
        .set_number_of_retries(1)
        .set_max_delay(Duration::from_millis(200));
    let opened = ConnectionManager::new_with_config(servers.client(url)?, config).await?;
    Ok(opened)
}

async fn open_cluster(
    servers: &Servers,
    timeout: Duration,
) -> Result<ClusterConnection, ClientError> {
    let mut builder = ClusterClient::builder(servers.urls.iter().map(String::as_str))
        .connection_timeout(timeout)
        .response_timeout(LONGEST)
        .tcp_settings(tcp_settings());
    if servers.urls.iter().any(|url| is_tls(url)) {
        builder = builder.certs(certificates(&servers.certificates));
    }
    let opened = builder.build()?.get_async_connection().await?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits for an engine that is away would wait for ever for one that errs.
    #[test]
    fn an_error_of_a_script_is_not_taken_for_a_server_that_is_away() {
        let told = |kind, code: &'static str| {
            let error = RedisError::from((ErrorKind::Server(kind), "an error", code.to_owned()));
            Failure::from(ClientError::from(error))
        };
        assert_eq!(told(ServerErrorKind::ResponseError, "attempt to index a nil"), Failure::Faulty);
        assert_eq!(told(ServerErrorKind::NoPerm, "no permission"), Failure::Faulty);
        assert_eq!(told(ServerErrorKind::BusyLoading, "loading"), Failure::Unreachable);
        assert_eq!(told(ServerErrorKind::ReadOnly, "a replica"), Failure::Unreachable);
    }

    #[test]
    fn what_is_in_the_way_is_told_with_the_setting_to_look_at() {
        for (why, said) in [
            ("invalid peer certificate: UnknownIssuer", "set redis.certificates.ca"),
            ("Password authentication failed- AuthenticationFailed", "redis.urls"),
            ("WRONGPASS: invalid username-password pair", "redis.urls"),
            ("Connection refused (os error 111)", "Redis cannot be reached: Connection refused"),
        ] {
            let told = ClientError::Unreachable(why.into()).to_string();
            assert!(told.contains(said) && told.contains(why), "{told}");
        }
    }
}
