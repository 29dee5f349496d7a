//! What handlers are given: groups of services, each for one kind of work. A handler asks for those
//! that it needs, and its signature says so.

use crate::draw::Draws;
use crate::history::Histories;
use crate::http::limits::Limits;
use crate::http::pages::files::Files;
use crate::http::pages::versions::Versions;
use crate::http::problem::{Code, Problem};
use crate::http::sessions::streams::SessionStreams;
use crate::http::under_way::UnderWay;
use crate::live::looks::Looks;
use crate::live::samples::Samples;
use crate::live::seats::Boards;
use crate::live::{Hub, StreamLimits};
use crate::plans::PlanDir;
use axum::extract::FromRef;
use onrush_base::auth::address::Forwarding;
use onrush_base::auth::carry::CarryCodes;
use onrush_base::auth::codes::ChannelCodes;
use onrush_base::auth::guest::GuestTokens;
use onrush_base::auth::keyring::Keyring;
use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::auth::names::Names;
use onrush_base::auth::oidc::Oidc;
use onrush_base::auth::pass::PassSigner;
use onrush_base::auth::session::Sessions;
use onrush_base::auth::shop::ShopVerifier;
use onrush_base::auth::ticket::StreamTickets;
use onrush_base::cluster_store::{ClusterStore, Turns};
use onrush_base::config::Config;
use onrush_base::metrics::{AskPublishers, Metrics, PublisherFigures};
use onrush_base::tickets::TicketSigner;
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::view::EventView;
use onrush_core::{Command, Reply, Time};
use onrush_ledger::Ledger;
use onrush_relay::Relay;
use onrush_saga::Sagas;
use onrush_serve::{CertificateView, Share};
use onrush_store::embedded::{Clock, Space};
use onrush_store::flags::Flags;
use onrush_store::{Answer, Ask, Engine, Failure};
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait until the ledger knows all that was decided so far, and how often to look.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The sale: runs commands, asks questions, and changes settings.
pub struct Sale {
    /// What runs the rules.
    pub engine: Arc<dyn Engine>,
    /// The engine's clock.
    pub clock: Clock,
    /// Derived ids.
    pub names: Names,
    /// What is kept of codes of channels.
    pub codes: ChannelCodes,
    /// Looks that a crowd takes at once.
    pub looks: Looks,
    /// Draws: their seeds and lists.
    pub draws: Arc<Draws>,
    /// Turns of those who read settings, change them and write them back.
    pub turns: Turns,
    /// Counters.
    pub metrics: Arc<Metrics>,
}

/// Requests with a key, which are done once.
pub struct Once {
    /// What keeps their answers.
    pub ledger: Arc<dyn Ledger>,
    /// The engine's clock.
    pub clock: Clock,
    /// This run of the process: what another run began and left is nobody's any more.
    pub run_id: u64,
    /// Which of them this process is at.
    pub under_way: UnderWay,
    /// What the disk has left for journal and ledger, if they are on one of this machine.
    pub space: Option<Arc<Space>>,
}

/// Who asks, and how often they may.
pub struct Callers {
    /// Guest tokens.
    pub guests: GuestTokens,
    /// The shop's tokens, if configured.
    pub shop: Option<ShopVerifier>,
    /// Keys of people and services.
    pub keys: Keyring,
    /// An OpenID provider that people may sign in with, if configured.
    pub oidc: Option<Oidc>,
    /// Sessions of browsers whose user signed in with one of these keys, or with the provider.
    pub sessions: Sessions,
    /// Streams that end with a session.
    pub session_streams: Arc<SessionStreams>,
    /// What remembers which sessions live, and what was done with keys.
    pub ledger: Arc<dyn Ledger>,
    /// Links of bookings.
    pub links: Arc<BookingLinks>,
    /// Codes that carry visitors to other devices.
    pub carry_codes: CarryCodes,
    /// How often anybody may ask.
    pub limits: Limits,
    /// The engine's clock.
    pub clock: Clock,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Whom to trust: proxies, and the origins of pages.
    pub config: Arc<Config>,
    /// Says that a proxy may be missing there, or may not tell whom it is asked by.
    pub forwarding: Forwarding,
}

/// What signs statements that others verify by themselves.
pub struct Signers {
    /// Passes of admitted visitors.
    pub passes: Arc<PassSigner>,
    /// Tickets of confirmed bookings.
    pub tickets: Arc<TicketSigner>,
}

/// Live updates.
pub struct Streams {
    /// Open streams.
    pub hub: Arc<Hub>,
    /// How each sale stands, second by second.
    pub samples: Arc<Samples>,
    /// Tickets that open a stream.
    pub tickets: StreamTickets,
}

/// What is known of units beside the engine: how they are drawn, and what happened to them.
pub struct Units {
    /// Drawings of seat maps.
    pub plans: PlanDir,
    /// Seat maps, ready to be sent.
    pub boards: Arc<Boards>,
    /// What happened to seats and pools.
    pub histories: Histories,
}

/// What nodes share.
pub struct Nodes {
    /// Flags of the engine on Redis.
    pub flags: Arc<Flags>,
    /// Files, turns and the organiser's inventory, if there are several nodes.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    /// Parts of pages that nodes of other versions have.
    pub versions: Arc<Versions>,
    /// Those who carry the feed to RabbitMQ and Kafka, if anybody does.
    pub publishers: Option<AskPublishers>,
}

impl Nodes {
    /// How those are who carry the feed elsewhere.
    pub async fn publishers(&self) -> Vec<PublisherFigures> {
        match &self.publishers {
            Some(ask) => ask().await,
            None => Vec::new(),
        }
    }
}

/// All of it: the state of the routers.
#[derive(Clone)]
pub struct HttpState(Arc<Groups>);

impl Deref for HttpState {
    type Target = Groups;

    fn deref(&self) -> &Groups {
        &self.0
    }
}

/// Lists the groups, and lets handlers ask for each.
macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident: $group:ty,)*) => {
        /// The groups, and services that are asked for by themselves.
        pub struct Groups {
            $($(#[$doc])* pub $name: Arc<$group>,)*
            certificate: Option<CertificateView>,
            disk: Option<Arc<Space>>,
            ready: AtomicBool,
        }

        $(impl FromRef<HttpState> for Arc<$group> {
            fn from_ref(state: &HttpState) -> Self {
                state.$name.clone()
            }
        })*
    };
}

groups! {
    /// The sale.
    sale: Sale,
    /// Requests with a key.
    once: Once,
    /// Who asks.
    callers: Callers,
    /// Passes and tickets.
    signers: Signers,
    /// Live updates.
    streams: Streams,
    /// Seat maps and histories.
    units: Units,
    /// What nodes share.
    nodes: Nodes,
    /// Files of pages that are ready to be sent.
    pages: Files,
    /// What remembers money.
    ledger: dyn Ledger,
    /// Sagas, and who takes money.
    sagas: Sagas,
    /// What tells people and other systems.
    relay: Relay,
    /// What was configured.
    config: Config,
}

/// What the groups are made of, beside files.
pub struct HttpDeps {
    /// What runs the rules.
    pub engine: Arc<dyn Engine>,
    /// What remembers money.
    pub ledger: Arc<dyn Ledger>,
    /// What drives sagas.
    pub sagas: Arc<Sagas>,
    /// The engine's clock.
    pub clock: Clock,
    /// Flags of the engine on Redis.
    pub flags: Arc<Flags>,
    /// What all nodes share, if there are several.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    /// What the disk has left for journal and ledger, if they are on one of this machine.
    pub space: Option<Arc<Space>>,
    /// What the disk has left that the journal is on, if it is on one of this machine.
    pub disk: Option<Arc<Space>>,
    /// Those who carry the feed to RabbitMQ and Kafka, if anybody does.
    pub publishers: Option<AskPublishers>,
    /// The public listener's certificate, if it speaks TLS.
    pub certificate: Option<CertificateView>,
}

/// Everything from the configuration and the data directory; also the admin key, if it was generated
/// just now.
///
/// # Errors
/// Whatever the file system says.
pub fn open(config: Config, deps: HttpDeps) -> io::Result<(HttpState, Option<String>)> {
    let HttpDeps {
        engine,
        ledger,
        sagas,
        clock,
        flags,
        cluster,
        space,
        disk,
        publishers,
        certificate,
    } = deps;
    let keys = KeyDir::open(&config.data)?;
    let plans = PlanDir::open(&config.data, cluster.clone())?;
    let token_key = keys.load_or_draw("token.key")?;
    let passes = Arc::new(PassSigner::open(&keys, &config.pass_issuer, clock.clone())?);
    let (keyring, fresh) = Keyring::open(&keys, &config)?;
    let oidc = Oidc::open(&config, &token_key)?;
    let people = oidc.as_ref().map(|oidc| oidc.people().clone());
    let sessions = Sessions::new(&token_key, &keyring).and_people(&token_key, people);
    let links = Arc::new(BookingLinks::open(&keys, config.booking_page())?);
    let tickets = Arc::new(TicketSigner::open(&keys, &config.pass_issuer)?);
    let parts = onrush_relay::RelayDeps {
        ledger: ledger.clone(),
        engine: engine.clone(),
        tickets: tickets.clone(),
        links: links.clone(),
        clock: clock.clone(),
    };
    let relay = Arc::new(Relay::new(&config, &parts).map_err(io::Error::other)?);
    let boards = Arc::new(Boards::new(engine.clone(), plans.clone()));
    let share = Share::of_this_process(&config);
    let limits = StreamLimits {
        all: share.streams,
        per_user: config.connections.streams_per_user,
        per_address: share.streams_per_address,
    };
    let streams = Streams {
        hub: Hub::new(engine.clone(), boards.clone(), passes.clone(), limits),
        samples: Samples::new(engine.clone()),
        tickets: StreamTickets::new(&token_key),
    };
    let units = Units { plans, boards, histories: Histories::new(engine.clone()) };
    let ids_key = keys.load_or_draw("ids.key")?;
    let (names, codes) = (Names::new(&ids_key), ChannelCodes::new(&ids_key));
    let draws = Draws::open(&config.data, engine.clone(), keys, cluster.clone())?;
    let (metrics, config) = (Arc::<Metrics>::default(), Arc::new(config));
    let callers = Callers {
        guests: GuestTokens::new(&token_key, config.guest_token_ttl_s),
        shop: config.shop_tokens.as_ref().map(|of| ShopVerifier::new(of, Some(&config.data))),
        keys: keyring,
        oidc,
        sessions,
        session_streams: Arc::default(),
        ledger: ledger.clone(),
        links,
        carry_codes: CarryCodes::new(&token_key),
        limits: Limits::new(&config),
        clock: clock.clone(),
        metrics: metrics.clone(),
        config: config.clone(),
        forwarding: Forwarding::default(),
    };
    let run_id = u64::from_le_bytes(onrush_base::auth::random()) >> 1;
    let once = Once {
        ledger: ledger.clone(),
        clock: clock.clone(),
        run_id,
        under_way: UnderWay::default(),
        space,
    };
    let turns = Turns::new(cluster.clone());
    let versions = Arc::new(Versions::new(cluster.clone()));
    let (draws, looks) = (Arc::new(draws), Looks::new(engine.clone()));
    let sale = Sale { engine, clock, names, codes, looks, draws, turns, metrics };
    let groups = Groups {
        sale: sale.into(),
        once: once.into(),
        callers: callers.into(),
        signers: Signers { passes, tickets }.into(),
        streams: streams.into(),
        units: units.into(),
        nodes: Nodes { flags, versions, cluster, publishers }.into(),
        pages: Arc::default(),
        ledger,
        sagas,
        relay,
        config,
        certificate,
        disk,
        ready: AtomicBool::new(false),
    };
    Ok((HttpState(Arc::new(groups)), fresh))
}

impl Groups {
    /// Whether requests should be sent here.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// The public listener's certificate, if it speaks TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<&CertificateView> {
        self.certificate.as_ref()
    }

    /// What the disk has left that the journal is on, if it is on one of this machine.
    #[must_use]
    pub fn disk(&self) -> Option<&Space> {
        self.disk.as_deref()
    }

    /// Says whether requests should be sent here.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }
}

impl Sale {
    /// Runs a command, as [`Ask::run`] does.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn run<R>(&self, event: &EventId, command: Command) -> Result<R, Failure>
    where
        R: TryFrom<Reply, Error = Reply>,
    {
        Ok(self.engine.run(event.clone(), command).await?.value)
    }

    /// Waits a moment until the ledger knows all that was decided about an event so far, by whatever
    /// node; the engine's time then, or nothing if it does not.
    ///
    /// # Errors
    /// Whatever the engine and the ledger say.
    pub async fn followed_at(
        &self,
        ledger: &dyn Ledger,
        event: &EventId,
    ) -> Result<Option<Time>, Problem> {
        let Answer { at, value: decided, .. } = self.engine.settled(event.clone()).await?;
        let patience = Instant::now() + FOLLOWED_WITHIN;
        while ledger.cursor().await? < decided.0 {
            if Instant::now() >= patience {
                return Ok(None);
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(Some(at))
    }

    /// An event as it is now.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn view_event(&self, event: &EventId) -> Result<(Time, EventView), Problem> {
        let Answer { at, value: view, .. } = self.engine.ask(event.clone(), EventNow).await?;
        Ok((at, *view))
    }
}

impl Nodes {
    /// What all nodes share.
    ///
    /// # Errors
    /// `NEEDS_CLUSTER` if there is only this one.
    pub fn cluster(&self) -> Result<&dyn ClusterStore, Problem> {
        self.cluster.as_deref().ok_or_else(|| {
            let why =
                "this server has no PostgreSQL to share anything in; set ledger = \"postgres\"";
            Problem::new(Code::NeedsCluster, why)
        })
    }
}
