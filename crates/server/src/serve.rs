//! Listening: the accept loop, and the whole server as one value that can be started and stopped.

use crate::app::{App, Money};
use crate::auth::keys::KeyDir;
use crate::backend::Backend;
use crate::config::{Config, ConfigError};
use crate::draw;
use crate::http;
use crate::http::caller::Connection;
use crate::http::problem::Told;
use crate::live::handover::{Handover, Streaming};
use crate::live::samples::Samples;
use crate::saga::{self, Sagas};
use crate::sandbox::Sandbox;
use crate::vault;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, Uri};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use hyper::rt::ReadBufCursor;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_store::Engine;
use onrush_store::embedded::{OpenError, Options};
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tower_service::Service;

/// How long a client may take to send a request's head, and an idle connection stays open.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest head of a request, and the largest buffer a connection reads into.
const MAX_BUFFER_BYTES: usize = 64 << 10;
/// How long requests under way have after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// Connections that may wait to be accepted: a sale begins with a rush.
const BACKLOG: u32 = 4_096;

/// What goes through a listener.
#[derive(Default)]
pub struct Traffic {
    connections: AtomicU64,
    classes: [AtomicU64; 5],
    /// Who hears of refusals.
    samples: OnceLock<Arc<Samples>>,
}

impl Traffic {
    /// Connections open now.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Answers so far by class of status.
    #[must_use]
    pub fn responses(&self) -> [(&'static str, u64); 5] {
        let names = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        std::array::from_fn(|class| (names[class], self.classes[class].load(Ordering::Relaxed)))
    }

    fn count(&self, asks: bool, uri: &Uri, answer: &Response<Body>) {
        let status = answer.status();
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        // Looking at what is not there is no refusal; being sent away is one, whatever was wanted.
        let sent_away =
            [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status);
        if (asks || sent_away)
            && let Some(Told(code)) = answer.extensions().get()
            && let Some(samples) = self.samples.get()
        {
            samples.refused(uri.path(), code);
        }
    }
}

/// Listens on an address; port 0 takes a free one.
///
/// # Errors
/// Whatever the operating system says.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves a router until `shutdown`, then lets requests under way end.
///
/// The server itself runs through this very loop, so that a benchmark's baseline has the same settings.
pub async fn serve_router(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) {
    serve_counted(listener, router, Arc::default(), shutdown).await;
}

async fn serve_counted(
    listener: TcpListener,
    router: Router,
    traffic: Arc<Traffic>,
    shutdown: impl Future<Output = ()>,
) {
    let (stop, stopped) = watch::channel(false);
    let (hand_over, mut handed_over) = mpsc::unbounded_channel::<Streaming<Counted>>();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_BUFFER_BYTES);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let service = Answering {
                        router: router.clone(),
                        connection: Connection {
                            peer: peer.ip().to_canonical(),
                            handover: Arc::default(),
                        },
                        counted: Counted::new(traffic.clone()),
                    };
                    let (stopped, hand_over) = (stopped.clone(), hand_over.clone());
                    connections.spawn(answer(stream, service, builder.clone(), stopped, hand_over));
                }
                Err(error) => accept_failed(&error).await,
            },
            Some(streaming) = handed_over.recv() => {
                connections.spawn(streaming);
            }
            // Ended connections are forgotten as they end.
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    stop.send_replace(true);
    let drained = async {
        while connections.join_next().await.is_some() {
            while let Ok(streaming) = handed_over.try_recv() {
                connections.spawn(streaming);
            }
        }
    };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!(open = connections.len(), "connections did not end in time and are cut");
        connections.shutdown().await;
    }
}

/// A connection that broke off before it was accepted is nobody's problem; without file descriptors a pause helps.
async fn accept_failed(error: &io::Error) {
    match error.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused => {}
        _ => {
            tracing::error!(%error, "no connection can be accepted; raise the limit of open files?");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Answers the requests of one connection, until it ends or becomes a stream.
async fn answer(
    stream: TcpStream,
    service: Answering,
    builder: http1::Builder,
    mut stopped: watch::Receiver<bool>,
    hand_over: mpsc::UnboundedSender<Streaming<Counted>>,
) {
    // Without this, small answers would wait for the acknowledgement of earlier ones.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection broke off at once");
        return;
    }
    let handover = service.connection.handover.clone();
    let socket = Socket { inner: TokioIo::new(stream), handover: handover.clone() };
    let mut connection = builder.serve_connection(socket, service).with_upgrades();
    let mut stop = pin!(async { drop(stopped.wait_for(|stop| *stop).await) });
    let mut stopping = false;
    let open = poll_fn(|context| {
        if !stopping && stop.as_mut().poll(context).is_ready() {
            stopping = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        match Pin::new(&mut connection).poll(context) {
            Poll::Ready(ended) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                Poll::Ready(None)
            }
            Poll::Pending => handover.take().map_or(Poll::Pending, |open| Poll::Ready(Some(open))),
        }
    });
    if let Some(open) = open.await
        && let Some(parts) = connection.into_parts()
    {
        let stream = parts.io.inner.into_inner();
        // The other end of the channel goes only with the server itself.
        drop(hand_over.send(Streaming::new(stream, open, parts.service.counted)));
    }
}

/// A socket that says when all that was written is on its way.
struct Socket {
    inner: TokioIo<TcpStream>,
    handover: Arc<Handover>,
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, parts)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.inner).poll_flush(context));
        self.handover.flushed();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// A connection in the count of open ones.
struct Counted(Arc<Traffic>);

impl Counted {
    fn new(traffic: Arc<Traffic>) -> Self {
        traffic.connections.fetch_add(1, Ordering::Relaxed);
        Self(traffic)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The router as hyper calls it.
struct Answering {
    router: Router,
    connection: Connection,
    counted: Counted,
}

impl hyper::service::Service<Request<Incoming>> for Answering {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Underway;

    fn call(&self, mut request: Request<Incoming>) -> Underway {
        request.extensions_mut().insert(self.connection.clone());
        let asks = ![Method::GET, Method::HEAD].contains(request.method());
        let uri = request.uri().clone();
        // Calling takes `&mut`, and a router is a shared pointer.
        let answer = self.router.clone().call(request);
        Underway { answer, asks, uri, traffic: self.counted.0.clone() }
    }
}

pin_project! {
    /// An answer under way, counted when it is there.
    struct Underway {
        #[pin]
        answer: RouteFuture<Infallible>,
        // Whether anything but a look was asked for.
        asks: bool,
        uri: Uri,
        traffic: Arc<Traffic>,
    }
}

impl Future for Underway {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(context));
        if let Ok(answer) = &answer {
            this.traffic.count(*this.asks, this.uri, answer);
        }
        Poll::Ready(answer)
    }
}

/// Why a server cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is wrong.
    Config(ConfigError),
    /// The engine cannot be opened.
    Engine(OpenError),
    /// An address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// The data directory cannot be used.
    Data(io::Error),
    /// The ledger cannot be opened.
    Ledger(onrush_ledger::sqlite::OpenError),
    /// Files of the data directory do not belong together: one is older than the others, or missing.
    Restored(String),
    /// What nodes share cannot be used.
    Cluster(String),
    /// The payment gateway cannot be used.
    Gateway(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Ledger(error) => error.fmt(f),
            Self::Cluster(why) | Self::Restored(why) => f.write_str(why),
            Self::Gateway(error) => write!(f, "the payment gateway cannot be used: {error}"),
            Self::Data(error) => write!(f, "the data directory cannot be used: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A running server. [`Server::shutdown`] stops it without losing anything; dropping it only cuts everything off,
/// which loses nothing that was answered either.
pub struct Server {
    public_addr: SocketAddr,
    operator_addr: Option<SocketAddr>,
    admin_key: Option<String>,
    app: Arc<App>,
    backend: Backend,
    /// The sandbox gateway, if it runs in this process.
    sandbox: Option<Sandbox>,
    stop: [Option<oneshot::Sender<()>>; 2],
    tasks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the data directory and listens. When this returns, requests are answered.
    ///
    /// While the engine recovers, the operator's listener says already that the server is alive and not ready.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(config: Config) -> Result<Self, StartError> {
        Self::start_with(config, Options::default()).await
    }

    /// The same with options for the engine.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start_with(config: Config, options: Options) -> Result<Self, StartError> {
        config.check().map_err(StartError::Config)?;
        let open = |address| listen(address).map_err(|error| StartError::Listen(address, error));
        let public = open(config.listen)?;
        let operator = config.operator_listen.map(open).transpose()?;
        let local = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
        let public_addr = local(&public, config.listen);
        let operator_addr = operator.as_ref().zip(config.operator_listen);
        let operator_addr = operator_addr.map(|(listener, asked)| local(listener, asked));

        let (traffic, mut tasks) = (Arc::<Traffic>::default(), Vec::new());
        let (mut operator_stop, app_slot) = (None, Arc::new(std::sync::OnceLock::new()));
        if let Some(listener) = operator {
            let (stop, stopped) = oneshot::channel();
            operator_stop = Some(stop);
            let router = http::operator_router(app_slot.clone(), traffic.clone());
            tasks.push(tokio::spawn(serve_router(listener, router, async {
                drop(stopped.await);
            })));
        }

        let backend = Backend::open(&config, options).await?;
        let configured = config.admin_key.as_ref().map(|key| key.reveal().to_owned());
        let keys = KeyDir::open(&config.data).map_err(StartError::Data)?;
        if let Some(commons) = &backend.commons {
            vault::fetch_keys(&**commons, &keys).await.map_err(StartError::Data)?;
        }
        let money = saga::open(&config, public_addr, &backend);
        let (sagas, sandbox) = money.await.map_err(StartError::Gateway)?;
        let parts = Money {
            ledger: backend.ledger.clone(),
            sagas: sagas.clone(),
            clock: backend.clock.clone(),
            flags: backend.flags.clone(),
            commons: backend.commons.clone(),
        };
        let (app, fresh) =
            App::open(config, backend.engine.clone(), parts).map_err(StartError::Data)?;
        if let Some(commons) = &backend.commons {
            vault::share_keys(&**commons, &keys).await.map_err(StartError::Data)?;
        }
        backend.remember_keys(&keys).map_err(StartError::Restored)?;
        drop(app_slot.set(app.clone()));
        drop(traffic.samples.set(app.samples.clone()));

        let (stop, stopped) = oneshot::channel();
        let router = http::public_router(app.clone());
        tasks.push(tokio::spawn(serve_counted(public, router, traffic, async {
            drop(stopped.await);
        })));
        tasks.push(tokio::spawn(app.samples.clone().run()));
        tasks.push(tokio::spawn(draw::open_drawn_sales(app.clone())));
        tasks.extend(sagas.run());
        tasks.extend(app.relay.run(sagas.told.clone()));
        app.set_ready(true);
        let admin_key = configured.or(fresh);
        let stop = [Some(stop), operator_stop];
        Ok(Self { public_addr, operator_addr, admin_key, app, backend, sandbox, stop, tasks })
    }

    /// Where visitors and the organiser connect.
    #[must_use]
    pub fn public_addr(&self) -> SocketAddr {
        self.public_addr
    }

    /// Where metrics and health are asked for.
    #[must_use]
    pub fn operator_addr(&self) -> Option<SocketAddr> {
        self.operator_addr
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> Arc<dyn Engine> {
        self.backend.engine.clone()
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.backend.ledger
    }

    /// The ledger in a file, if it is that one.
    #[must_use]
    pub fn sqlite_ledger(&self) -> Option<&Arc<SqliteLedger>> {
        self.backend.sqlite_ledger()
    }

    /// The sagas.
    #[must_use]
    pub fn sagas(&self) -> &Arc<Sagas> {
        &self.app.sagas
    }

    /// The sandbox gateway, if it runs in this process.
    #[must_use]
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// The admin API key, if it is known: it was configured, or generated just now. Only its hash is kept.
    #[must_use]
    pub fn admin_key(&self) -> Option<&str> {
        self.admin_key.as_deref()
    }

    /// Waits until the engine has stopped by itself, and says why. The process should end then, and not with success.
    pub async fn failed(&self) -> String {
        tokio::select! {
            why = self.backend.failed() => why,
            why = self.app.sagas.failed() => why,
        }
    }

    /// Lets requests under way end, says goodbye to streams, and closes the engine.
    pub async fn shutdown(mut self) {
        self.app.set_ready(false);
        self.app.draws.stop();
        self.app.sagas.stop();
        self.app.relay.stop();
        self.app.hub.close();
        self.app.samples.stop();
        // The operator's listener goes last: until then it says that the server is not ready.
        let [public, operator] = &mut self.stop;
        drop(public.take());
        let operator_task = operator.is_some().then(|| self.tasks.remove(0));
        for task in self.tasks.drain(..) {
            drop(task.await);
        }
        drop(operator.take());
        if let Some(task) = operator_task {
            drop(task.await);
        }
        self.app.hub.ended().await;
        drop(self.app);
        if let Some(sandbox) = self.sandbox {
            sandbox.shutdown().await;
        }
        self.backend.close().await;
    }
}
