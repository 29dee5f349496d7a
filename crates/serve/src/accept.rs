//! The accept loop: connections in, requests through the router, streams handed over.

use super::connection::Connection;
use super::gate::{Counted, Gate, Terms};
use super::handover::{Handover, Streaming};
use super::leftover::watch_body;
use super::repeats::Repeats;
use super::socket::Socket;
use super::tls::TlsDoors;
use super::traffic::Traffic;
use super::wire::{Doors, Wire};
use crate::certificate::Certificate;
use crate::pressure::SentAway;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, Response, Uri};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tower_service::Service;

/// How long a client may take to send a request's head, and an idle connection stays open.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The same of a proxy, which keeps connections for requests to come: one that it sends just as we close
/// is lost. It is to let go first, so this is more than the 600 seconds of Google's balancers, which
/// nobody can set. A head that it begins and never ends has as long, hyper has one limit for both; but
/// proxies pass heads on whole, and what may pile up is bounded by [`MAX_HEAD_BYTES`] for each connection
/// and by [`Terms::connections`] for all of them.
const PROXY_HEADER_TIMEOUT: Duration = Duration::from_secs(620);
/// The longest head of a request, its first line included, and the largest buffer a connection reads
/// into: nobody counts what strangers have sent of a head, so that it is this much for each
/// connection that there may be. Tokens and cookies of 8 KiB have room in it.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// What the kernel keeps of each direction of a connection. Left alone it would be megabytes, for
/// clients who do not read.
const KERNEL_BUFFER_BYTES: u32 = 128 << 10;
/// How long requests under way have after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(10);
/// Connections that may wait to be accepted: a sale begins with a rush.
const BACKLOG: u32 = 4_096;

/// Listens on an address; port 0 takes a free one.
///
/// # Errors
/// Whatever the operating system says.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Connections inherit both.
    socket.set_send_buffer_size(KERNEL_BUFFER_BYTES)?;
    socket.set_recv_buffer_size(KERNEL_BUFFER_BYTES)?;
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
    serve_on(listener, router, Terms::default(), Arc::default(), shutdown).await;
}

/// The same on given terms, and counted.
pub async fn serve_on(
    listener: TcpListener,
    router: Router,
    terms: Terms,
    traffic: Arc<Traffic>,
    shutdown: impl Future<Output = ()>,
) {
    bound_patience(&listener, terms.answer_timeout);
    serve_doors(listener, router, terms, traffic, shutdown).await;
}

/// The same over TLS.
pub async fn serve_tls_on(
    listener: TcpListener,
    certificate: Certificate,
    router: Router,
    terms: Terms,
    traffic: Arc<Traffic>,
    shutdown: impl Future<Output = ()>,
) {
    bound_patience(&listener, terms.answer_timeout);
    serve_doors(TlsDoors::new(listener, certificate), router, terms, traffic, shutdown).await;
}

/// The same for connections that come from wherever they come.
pub async fn serve_doors<D: Doors>(
    mut doors: D,
    router: Router,
    terms: Terms,
    traffic: Arc<Traffic>,
    shutdown: impl Future<Output = ()>,
) {
    let gate = Gate::new(terms, traffic);
    let (stop, stopped) = watch::channel(false);
    let (hand_over, mut handed_over) = mpsc::unbounded_channel::<Streaming<D::Wire, Counted>>();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        // Those who come in go last: a rush of them must not keep others waiting.
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(streaming) = handed_over.recv() => {
                connections.spawn(streaming);
            }
            // Ended connections are forgotten as they end.
            Some(_) = connections.join_next() => {}
            accepted = doors.accept() => match accepted {
                Ok((wire, peer)) => {
                    let peer = peer.to_canonical();
                    match gate.admit(peer) {
                        Ok(counted) => {
                            let is_proxy = gate.is_proxy(peer);
                            let handover = Arc::new(Handover::new(gate.terms.bodies.clone()));
                            let patience = gate.terms.answer_timeout;
                            let socket = Socket::new(wire, handover.clone(), patience, counted);
                            let service = Answers {
                                router: router.clone(),
                                connection: Connection { peer, handover },
                                traffic: gate.traffic.clone(),
                                busy: gate.terms.unserved.busy,
                                repeats: Repeats::new(!is_proxy),
                            };
                            let (stopped, hand_over) = (stopped.clone(), hand_over.clone());
                            let mut builder = builder.clone();
                            if is_proxy {
                                builder.header_read_timeout(PROXY_HEADER_TIMEOUT);
                            }
                            connections.spawn(answer(socket, service, builder, stopped, hand_over));
                        }
                        Err(why) => gate.turn_away(wire, peer, why),
                    }
                }
                Err(error) => accept_failed(&error).await,
            },
        }
    }
    drop(doors);
    gate.terms.bodies.stop();
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

/// Has the kernel give up as well: on clients who vanished without a word, whose streams would
/// count for a quarter of an hour, and on what it still holds for those who do not read.
/// Connections inherit it.
#[cfg(target_os = "linux")]
fn bound_patience(listener: &TcpListener, patience: Duration) {
    let ms = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(listener, ms) {
        tracing::debug!(%error, "the kernel keeps its own patience with connections");
    }
}

#[cfg(not(target_os = "linux"))]
fn bound_patience(_: &TcpListener, _: Duration) {}

/// A connection that broke off before it was accepted is nobody's problem; without file descriptors
/// a pause helps.
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
async fn answer<W: Wire>(
    socket: Socket<W>,
    service: Answers,
    builder: http1::Builder,
    mut stopped: watch::Receiver<bool>,
    hand_over: mpsc::UnboundedSender<Streaming<W, Counted>>,
) {
    if let Err(error) = socket.wire().make_ready() {
        tracing::debug!(%error, "a connection broke off at once");
        return;
    }
    let handover = service.connection.handover.clone();
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
            Poll::Pending => {
                handover.throw_away(context);
                handover.take().map_or(Poll::Pending, |open| Poll::Ready(Some(open)))
            }
        }
    });
    if let Some(open) = open.await
        && let Some(parts) = connection.into_parts()
    {
        let (wire, stall, counted) = parts.io.into_parts();
        // The other end of the channel goes only with the server itself.
        drop(hand_over.send(Streaming::new(wire, open, stall, counted)));
    }
}

/// The router as hyper calls it.
struct Answers {
    router: Router,
    connection: Connection,
    traffic: Arc<Traffic>,
    busy: fn(SentAway) -> Response<Body>,
    repeats: Repeats,
}

impl Answers {
    /// The answer of a client that is sent away, and until when it waits for it.
    fn send_away(&self, method: &Method, path: &str) -> Option<Answering> {
        let pressure = self.traffic.pressure()?;
        let now = Instant::now();
        let early = self.repeats.early(now);
        let sent_away = pressure.sends_away(method, path, early.is_some())?;
        self.repeats.told(early.unwrap_or(now), Duration::from_millis(sent_away.after_ms.into()));
        let wait = early.map(|until| Box::pin(tokio::time::sleep_until(until)));
        Some(Answering::SentAway { wait, answer: Some((self.busy)(sent_away)) })
    }
}

impl hyper::service::Service<Request<Incoming>> for Answers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Underway;

    fn call(&self, mut request: Request<Incoming>) -> Underway {
        request.extensions_mut().insert(self.connection.clone());
        let asks = ![Method::GET, Method::HEAD].contains(request.method());
        let uri = request.uri().clone();
        let sent_away = self.send_away(request.method(), uri.path());
        let request = watch_body(request, &self.connection.handover);
        // Calling takes `&mut`, and a router is a shared pointer.
        let routed = || Answering::Routed { answer: self.router.clone().call(request) };
        let answer = sent_away.unwrap_or_else(routed);
        Underway { answer, asks, uri, begun: Instant::now(), traffic: self.traffic.clone() }
    }
}

pin_project! {
    /// The router's answer, or that of somebody who is sent away before it.
    #[project = AnsweringProjection]
    enum Answering {
        Routed { #[pin] answer: RouteFuture<Infallible> },
        SentAway { wait: Option<Pin<Box<Sleep>>>, answer: Option<Response<Body>> },
    }
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            AnsweringProjection::Routed { answer } => answer.poll(context),
            AnsweringProjection::SentAway { wait, answer } => {
                if let Some(wait) = wait {
                    ready!(wait.as_mut().poll(context));
                }
                Poll::Ready(Ok(answer.take().expect("an answer is polled once")))
            }
        }
    }
}

pin_project! {
    /// An answer under way, counted when it is there.
    struct Underway {
        #[pin]
        answer: Answering,
        // Whether anything but a look was asked for.
        asks: bool,
        uri: Uri,
        begun: Instant,
        traffic: Arc<Traffic>,
    }
}

impl Future for Underway {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(context));
        if let Ok(answer) = &answer {
            this.traffic.count(*this.asks, this.uri, answer, this.begun.elapsed());
        }
        Poll::Ready(answer)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::pressure::{COME_BACK_MS, Pressure};
    use std::net::Ipv4Addr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    /// What a request without a body is answered.
    async fn status(stream: &mut TcpStream, path: &str) -> u16 {
        let request = format!("POST {path} HTTP/1.1\r\nhost: onrush\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        read_status(stream).await.unwrap()
    }

    /// The status of an answer without a body.
    async fn read_status(stream: &mut TcpStream) -> io::Result<u16> {
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let answer = String::from_utf8(answer).unwrap();
        Ok(answer.split(' ').nth(1).unwrap().parse().unwrap())
    }

    #[tokio::test]
    async fn whoever_asks_again_too_early_waits_for_the_refusal_and_may_pay() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let traffic = Arc::new(Traffic::default());
        traffic.shed_by(Arc::new(Pressure::at_its_highest()));
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let server = serve_on(listener, Router::new(), Terms::default(), traffic, stopped);
        let server = tokio::spawn(server);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let (hold, pay) = ("/api/v1/events/e/bookings", "/api/v1/bookings/e.1/payment");
        let asked = Instant::now();
        assert_eq!(status(&mut stream, hold).await, 503);
        assert_eq!(status(&mut stream, pay).await, 404, "the router knows no path");
        assert_eq!(status(&mut stream, hold).await, 503);
        let least = Duration::from_millis(COME_BACK_MS.start);
        assert!(asked.elapsed() >= least, "the second refusal came at once");
        drop((stream, stop));
        server.await.unwrap();
    }

    /// What a client is answered who sends so long a body before it looks at the answer.
    async fn refused(address: SocketAddr, bytes: usize) -> io::Result<u16> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("PUT / HTTP/1.1\r\nhost: onrush\r\ncontent-length: {bytes}\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&vec![b' '; bytes]).await?;
        let told = read_status(&mut stream).await?;
        assert_eq!(status(&mut stream, "/").await, 404, "the connection is good for more");
        Ok(told)
    }

    #[tokio::test]
    async fn a_body_that_nobody_reads_does_not_cost_its_sender_the_answer() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let server = tokio::spawn(serve_router(listener, Router::new(), stopped));
        for bytes in [64 << 10, 33 << 20] {
            assert_eq!(refused(address, bytes).await.unwrap(), 404, "{bytes}");
        }
        // Whoever would send much more is cut off.
        refused(address, 65 << 20).await.unwrap_err();
        drop(stop);
        server.await.unwrap();
    }

    /// How long a connection from this address stays open over which something was asked, and nothing
    /// more is.
    async fn idle_for(source: Ipv4Addr, address: SocketAddr) -> Duration {
        let begun = Instant::now();
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        assert_eq!(status(&mut stream, "/").await, 404, "the router knows no path");
        // Nothing else happens, so the time passes at once.
        tokio::time::pause();
        let end = stream.read_u8().await.unwrap_err();
        tokio::time::resume();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        begun.elapsed()
    }

    #[tokio::test]
    async fn idle_connection_of_a_proxy_is_kept_for_longer_than_the_proxy_keeps_it() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (proxy, stranger) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
        let proxies = vec![proxy.to_string().parse().unwrap()];
        let terms = Terms { proxies, ..Terms::default() };
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let server = serve_on(listener, Router::new(), terms, Arc::default(), stopped);
        let server = tokio::spawn(server);
        let (proxy, stranger) = (idle_for(proxy, address).await, idle_for(stranger, address).await);
        assert!((610..650).contains(&proxy.as_secs()), "{proxy:?}");
        assert!((30..60).contains(&stranger.as_secs()), "{stranger:?}");
        drop(stop);
        server.await.unwrap();
    }

    #[tokio::test]
    async fn connections_inherit_the_patience_of_their_listener() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        bound_patience(&listener, Duration::from_secs(30));
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (accepted, _) = accepted.unwrap();
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&accepted).unwrap(), 30_000);
        drop(client);
    }
}
