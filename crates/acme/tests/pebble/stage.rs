//! A listener whose certificate Pebble issues, and who connects to it.

use axum::Router;
use axum::http::Request;
use axum::routing::get;
use bytes::Bytes;
use onrush_acme::Acme;
use onrush_base::config::{AcmeSettings, Config, Pem};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_serve::{CertificateView, Terms, listen, serve_tls_on};
use onrush_testkit::Pebble;
use onrush_tls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use onrush_tls::rustls::{ClientConfig, RootCertStore};
use onrush_tls::{Certificates, Validity};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) const NAME: &str = "tickets.example";
/// A machine that is busy with others may stand still for a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// Settings for a certificate of Pebble's.
pub(crate) fn settings(pebble: &Pebble) -> AcmeSettings {
    let text = format!(
        "[tls.acme]\ndomains = [\"{NAME}\"]\naccept_terms = true\ncontact = \"mailto:ops@shop.example\"\n\
         directory = \"{}\"\n",
        pebble.directory()
    );
    let acme = Config::parse(&text).unwrap().tls.unwrap().acme.unwrap();
    AcmeSettings {
        ca: Some(Pem::Text(pebble.directory_ca().to_owned())),
        first_pause: Duration::from_millis(60),
        ..acme
    }
}

/// A running listener.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) view: CertificateView,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    renewing: JoinHandle<()>,
}

impl Stage {
    /// Starts it on the files of a folder, and has Pebble look at it.
    pub(crate) fn start(settings: &AcmeSettings, data: &Path, pebble: &Pebble) -> Self {
        let acme = Acme::open(settings, data).unwrap();
        let certificate = acme.shown().certificate();
        let view = certificate.view();
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        pebble.look_at(address);
        let router = Router::new().route("/", get(async || "hello"));
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let (terms, traffic) = (Terms::default(), Arc::default());
        let serving = serve_tls_on(listener, certificate, router, terms, traffic, stopped);
        let renewing = tokio::spawn(acme.run());
        Self { address, view, stop, serving: tokio::spawn(serving), renewing }
    }

    pub(crate) async fn end(self) {
        self.renewing.abort();
        drop(self.stop);
        self.serving.await.unwrap();
    }

    pub(crate) async fn has_certificate(&self) {
        until("a certificate", || self.view.is_there()).await;
    }

    /// Greets it as browsers do, trusting these authorities.
    pub(crate) async fn connect(&self, roots: &Roots, name: &str) -> io::Result<Connection> {
        self.connect_by(roots, name, &[b"h2", b"http/1.1"]).await
    }

    /// The same with other protocols on offer.
    pub(crate) async fn connect_by(
        &self,
        roots: &Roots,
        name: &str,
        protocols: &[&[u8]],
    ) -> io::Result<Connection> {
        let config = ClientConfig::builder().with_root_certificates(roots.0.clone());
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let tcp = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        Ok(Connection(TlsConnector::from(Arc::new(config)).connect(name, tcp).await?))
    }
}

/// A connection that was greeted.
pub(crate) struct Connection(pub(crate) TlsStream<TcpStream>);

impl Connection {
    /// Asks for the only page, over a connection that stays.
    pub(crate) async fn ask(&mut self) -> String {
        let request = format!("GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n");
        self.0.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"hello") {
            assert_ne!(self.0.read_buf(&mut answer).await.unwrap(), 0, "the connection ended");
        }
        String::from_utf8(answer).unwrap()
    }

    /// The dates of the certificate that was shown.
    pub(crate) fn validity(&self) -> Validity {
        Validity::of(&self.shown()).unwrap()
    }

    /// The certificate that was shown.
    pub(crate) fn shown(&self) -> Vec<u8> {
        self.0.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }
}

/// Who is trusted.
pub(crate) struct Roots(Arc<RootCertStore>);

impl Roots {
    /// Whoever signs what Pebble issues just now.
    pub(crate) async fn of(pebble: &Pebble) -> Self {
        let ca = pebble.directory_ca().as_bytes().to_vec();
        let certificates = Certificates::new(Some(ca), None).unwrap();
        let place = "pebble".to_owned();
        let client = HttpClient::with_certificates(AddressPolicy::Any, &certificates, place);
        let request = Request::get(pebble.root_url()).body(Bytes::new()).unwrap();
        let root = client.unwrap().call(request, 10_000).await.unwrap().into_body();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&root).unwrap()).unwrap();
        Self(Arc::new(roots))
    }
}

/// Looks again and again until something is so.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looking = async {
        while !holds() {
            look_again().await;
        }
    };
    within(what, looking).await;
}

/// The pause between two looks at a condition.
pub(crate) async fn look_again() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("never: {what}"))
}
