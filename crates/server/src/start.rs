//! The whole server as one value that can be started and stopped.

mod backend;
mod payments;
mod restored;
mod tls;
mod traced;

use crate::start_error::{StartError, Stopped};
use crate::tasks::Tasks;
use backend::Backend;
use onrush_api::http;
use onrush_api::http::pages::upkeep::Upkeep;
use onrush_api::http::state::{HttpDeps, HttpState};
use onrush_base::auth::keys::KeyDir;
use onrush_base::config::{Accept, Config};
use onrush_base::shared_files;
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_saga::Sagas;
use onrush_sandbox::Sandbox;
use onrush_serve::pressure::Pressure;
use onrush_serve::{Terms, Traffic, listen, serve_on, serve_tls_on};
use onrush_store::Engine;
use onrush_store::embedded::Options;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tls::Tls;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A running server. [`Server::shutdown`] stops it without losing anything; dropping it only cuts
/// everything off, which loses nothing that was answered either.
pub struct Server {
    public_addr: SocketAddr,
    operator_addr: Option<SocketAddr>,
    admin_key: Option<String>,
    state: HttpState,
    backend: Backend,
    /// The sandbox gateway, if it runs in this process.
    sandbox: Option<Sandbox>,
    stop: [Option<oneshot::Sender<()>>; 2],
    tasks: Tasks,
    operator_tasks: Tasks,
}

impl Server {
    /// Opens the data directory and listens. When this returns, requests are answered.
    ///
    /// While the engine recovers, the operator's listener says already that the server is alive and
    /// not ready.
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
    pub async fn start_with(mut config: Config, options: Options) -> Result<Self, StartError> {
        config.check().map_err(StartError::Config)?;
        // Before an admin key is drawn, which would be shown to nobody.
        config.check_key_files().map_err(StartError::Config)?;
        let tls = config.tls.as_ref().map(|tls| Tls::open(tls, &config.data)).transpose()?;
        let open = |address| listen(address).map_err(|error| StartError::Listen(address, error));
        let public = open(config.listen)?;
        let operator = config.operator_listen.map(open).transpose()?;
        let local = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
        let public_addr = local(&public, config.listen);
        let operator_addr = operator.as_ref().zip(config.operator_listen);
        let operator_addr = operator_addr.map(|(listener, asked)| local(listener, asked));

        let (traffic, mut tasks) = (Arc::<Traffic>::default(), Tasks::new());
        let mut operator_tasks = Tasks::new();
        let (mut operator_stop, state_slot) = (None, Arc::new(std::sync::OnceLock::new()));
        if let Some(listener) = operator {
            let (stop, stopped) = oneshot::channel();
            operator_stop = Some(stop);
            let router = http::operator_router(state_slot.clone(), traffic.clone());
            let terms = Terms::operator(http::unserved());
            operator_tasks.add(tokio::spawn(serve_on(
                listener,
                router,
                terms,
                Arc::default(),
                async {
                    drop(stopped.await);
                },
            )));
        }

        let terms = Terms::public(&config, http::unserved());
        config.accept_restored = restored::check(&config.data, config.accept_restored)?;
        let data = config.data.clone();
        let backend = Backend::open(&config, options).await?;
        let configured = config.admin_key.as_ref().map(|key| key.reveal().to_owned());
        let keys = KeyDir::open(&config.data).map_err(StartError::Data)?;
        let mut keys_before = Vec::new();
        if let Some(cluster) = &backend.cluster {
            let fetched = shared_files::fetch_keys(&**cluster, &keys).await;
            keys_before = fetched.map_err(StartError::Data)?;
        }
        let money = payments::open(&config, public_addr, &backend);
        let (sagas, sandbox) = money.await.map_err(StartError::Gateway)?;
        let deps = HttpDeps {
            engine: backend.engine.clone(),
            ledger: backend.ledger.clone(),
            sagas: sagas.clone(),
            clock: backend.clock.clone(),
            flags: backend.flags.clone(),
            cluster: backend.cluster.clone(),
            space: backend.space(),
            disk: backend.disk(),
            publishers: backend.publishers(),
            certificate: tls.as_ref().map(|tls| tls.certificate.view()),
        };
        let (state, fresh) = http::state::open(config, deps).map_err(StartError::of_directory)?;
        if let Some(cluster) = &backend.cluster {
            let shared = shared_files::share_keys(&**cluster, &keys, &keys_before).await;
            shared.map_err(StartError::Data)?;
        }
        backend.remember_keys(&keys).map_err(StartError::Unavailable)?;
        // On Redis the events are the other nodes' as well, and nothing of a sale is in files here.
        let accepts = state.config.accept_restored != Accept::Nothing && backend.pairing.is_some();
        let (engine, ledger) = (&*state.sale.engine, &*backend.ledger);
        restored::begin(&data, accepts, engine, ledger, &state.sale.draws).await?;
        let mut pages = state.nodes.cluster.is_some().then(|| {
            let (config, versions) = (state.config.clone(), state.nodes.versions.clone());
            Upkeep::new(config, versions, state.sale.clock.clone())
        });
        if let Some(pages) = &mut pages {
            pages.look().await;
        }
        drop(state_slot.set(state.clone()));
        let samples = state.streams.samples.clone();
        traffic.tell_of_refusals(move |path, code| samples.refused(path, code));
        let longest_wait = Duration::from_millis(state.config.shed_after_ms.into());
        let pressure = Arc::new(Pressure::new(longest_wait));
        pressure.watch(&state.sale.engine);
        pressure.start().map_err(StartError::Data)?;
        traffic.shed_by(pressure);

        let (stop, stopped) = oneshot::channel();
        let router = http::public_router(state.clone());
        let stopped = async { drop(stopped.await) };
        let serving = match tls {
            Some(Tls { certificate, upkeep }) => {
                let upkeep = tokio::spawn(upkeep);
                let ended = upkeep.abort_handle();
                tasks.add(upkeep);
                tokio::spawn(async move {
                    serve_tls_on(public, certificate, router, terms, traffic, stopped).await;
                    ended.abort();
                })
            }
            None => tokio::spawn(serve_on(public, router, terms, traffic, stopped)),
        };
        tasks.add(serving);
        tasks.add(tokio::spawn(state.streams.samples.clone().run()));
        tasks.add(tokio::spawn(state.sale.draws.clone().open_drawn_sales()));
        tasks.add(tokio::spawn(http::actions::note::forget_old(state.clone())));
        if let Some(pages) = pages {
            let sagas = sagas.clone();
            tasks.add(tokio::spawn(pages.run(async move { sagas.stopped().await })));
        }
        tasks.extend(sagas.run());
        tasks.extend(state.relay.run(sagas.told.clone()));
        state.set_ready(true);
        let admin_key = configured.or(fresh);
        let stop = [Some(stop), operator_stop];
        Ok(Self {
            public_addr,
            operator_addr,
            admin_key,
            state,
            backend,
            sandbox,
            stop,
            tasks,
            operator_tasks,
        })
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
        &self.state.sagas
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

    /// Waits until the engine has stopped by itself, or some other part of the server, and says why.
    /// The process should end then, and not with success.
    pub async fn failed(&self) -> Stopped {
        let stopped = tokio::select! {
            stopped = self.backend.failed() => stopped,
            why = self.state.sagas.failed() => Stopped::of_the_moment(why),
            why = self.tasks.fallen() => Stopped::of_the_moment(why),
            why = self.operator_tasks.fallen() => Stopped::of_the_moment(why),
        };
        // Damage has other parts end, too, and one of them may be heard of first.
        self.backend.damage().unwrap_or(stopped)
    }

    /// Lets requests under way end, says goodbye to streams, and closes the engine.
    pub async fn shutdown(mut self) {
        self.state.set_ready(false);
        self.state.sale.draws.stop();
        self.state.sagas.stop();
        self.state.relay.stop();
        self.state.streams.hub.close();
        self.state.streams.samples.stop();
        // The operator's listener goes last: until then it says that the server is not ready.
        let [public, operator] = &mut self.stop;
        drop(public.take());
        self.tasks.ended().await;
        drop(operator.take());
        self.operator_tasks.ended().await;
        self.state.streams.hub.ended().await;
        drop(self.state);
        if let Some(sandbox) = self.sandbox {
            sandbox.shutdown().await;
        }
        self.backend.close().await;
    }
}
