//! What all handlers share.

use crate::answers::event_view;
use crate::auth::admin::AdminKey;
use crate::auth::carry::CarryCodes;
use crate::auth::guest::GuestTokens;
use crate::auth::keys::KeyDir;
use crate::auth::link::BookingLinks;
use crate::auth::names::Names;
use crate::auth::pass::PassSigner;
use crate::auth::scanner::ScannerKey;
use crate::auth::session::Sessions;
use crate::auth::shop::ShopVerifier;
use crate::auth::ticket::StreamTickets;
use crate::commons::{Commons, Turns};
use crate::config::Config;
use crate::draw::Draws;
use crate::history::Histories;
use crate::http::faults::hold_of;
use crate::http::limits::Limits;
use crate::http::problem::{Code, Problem};
use crate::live::samples::Samples;
use crate::live::seats::Boards;
use crate::live::{Hub, StreamLimits};
use crate::metrics::Metrics;
use crate::plans::PlanDir;
use crate::relay::{self, Relay};
use crate::saga::Sagas;
use crate::serve::Share;
use crate::tickets::TicketSigner;
use onrush_core::ids::EventId;
use onrush_core::view::{EventView, HoldView};
use onrush_core::{Command, Reply, Time};
use onrush_ledger::Ledger;
use onrush_store::embedded::{Clock, Space};
use onrush_store::flags::Flags;
use onrush_store::{Engine, Failure};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What all handlers share.
pub struct App {
    /// What runs the rules.
    pub engine: Arc<dyn Engine>,
    /// What remembers money.
    pub ledger: Arc<dyn Ledger>,
    /// Sagas, and who takes money.
    pub sagas: Arc<Sagas>,
    /// The engine's clock.
    pub clock: Clock,
    /// This run of the process: what another run began and left is nobody's any more.
    pub run_id: u64,
    /// What was configured.
    pub config: Config,
    /// Guest tokens.
    pub guests: GuestTokens,
    /// The shop's tokens, if configured.
    pub shop: Option<ShopVerifier>,
    /// The admin API key.
    pub admin: AdminKey,
    /// The scanner key, if configured.
    pub scanner: Option<ScannerKey>,
    /// Sessions of browsers whose user signed in with one of these keys.
    pub sessions: Sessions,
    /// Derived ids.
    pub names: Names,
    /// Passes.
    pub passes: Arc<PassSigner>,
    /// Stream tickets.
    pub tickets: StreamTickets,
    /// Tickets of confirmed bookings.
    pub ticket_signer: Arc<TicketSigner>,
    /// What tells people and other systems.
    pub relay: Arc<Relay>,
    /// How often anybody may ask.
    pub limits: Limits,
    /// What the disk has left for journal and ledger, if they are on one of this machine.
    pub space: Option<Arc<Space>>,
    /// Links of bookings.
    pub links: Arc<BookingLinks>,
    /// Codes that carry visitors to other devices.
    pub carry_codes: CarryCodes,
    /// Draws: their seeds and lists.
    pub draws: Arc<Draws>,
    /// Drawings of seat maps.
    pub plans: PlanDir,
    /// Seat maps, ready to be sent.
    pub boards: Arc<Boards>,
    /// Open streams.
    pub hub: Arc<Hub>,
    /// How each sale stands, second by second.
    pub samples: Arc<Samples>,
    /// What happened to seats and pools.
    pub histories: Histories,
    /// Counters.
    pub metrics: Metrics,
    /// Flags of the engine on Redis.
    pub flags: Arc<Flags>,
    /// What all nodes share, if there are several.
    pub commons: Option<Arc<dyn Commons>>,
    /// Turns of those who read settings, change them and write them back.
    pub turns: Turns,
    ready: AtomicBool,
}

/// What the money side of a server is made of.
pub struct Money {
    /// What remembers.
    pub ledger: Arc<dyn Ledger>,
    /// What drives.
    pub sagas: Arc<Sagas>,
    /// The engine's clock.
    pub clock: Clock,
    /// Flags of the engine on Redis.
    pub flags: Arc<Flags>,
    /// What all nodes share, if there are several.
    pub commons: Option<Arc<dyn Commons>>,
    /// What the disk has left for journal and ledger, if they are on one of this machine.
    pub space: Option<Arc<Space>>,
}

impl App {
    /// Everything from the configuration and the data directory; also the admin key, if it was
    /// generated just now.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(
        config: Config,
        engine: Arc<dyn Engine>,
        money: Money,
    ) -> io::Result<(Arc<Self>, Option<String>)> {
        let keys = KeyDir::open(&config.data)?;
        let plans = PlanDir::open(&config.data, money.commons.clone())?;
        let token_key = keys.load_or_draw("token.key")?;
        let passes = Arc::new(PassSigner::open(&keys, &config.pass_issuer)?);
        let (admin, fresh) = AdminKey::open(&keys, config.admin_key.as_ref())?;
        let scanner = config.scanner_key.as_ref().map(ScannerKey::new);
        let scanner_hash = scanner.as_ref().map(ScannerKey::hash);
        let sessions = Sessions::new(&token_key, admin.hash(), scanner_hash);
        let links = Arc::new(BookingLinks::open(&keys, config.booking_page())?);
        let ticket_signer = Arc::new(TicketSigner::open(&keys, &config.pass_issuer)?);
        let parts = relay::Parts {
            ledger: money.ledger.clone(),
            engine: engine.clone(),
            tickets: ticket_signer.clone(),
            links: links.clone(),
            clock: money.clock.clone(),
        };
        let relay = Arc::new(Relay::new(&config, &parts).map_err(io::Error::other)?);
        let boards = Arc::new(Boards::new(engine.clone(), plans.clone()));
        let share = Share::of_this_process(&config);
        let streams = StreamLimits {
            all: share.streams,
            per_user: config.connections.streams_per_user,
            per_address: share.streams_per_address,
        };
        let names = Names::new(&keys.load_or_draw("ids.key")?);
        let draws = Draws::open(&config.data, engine.clone(), keys, money.commons.clone())?;
        let app = Self {
            guests: GuestTokens::new(&token_key, config.guest_token_ttl_s),
            shop: config.shop_tokens.as_ref().map(ShopVerifier::new),
            admin,
            scanner,
            sessions,
            names,
            hub: Hub::new(engine.clone(), boards.clone(), passes.clone(), streams),
            samples: Samples::new(engine.clone()),
            histories: Histories::new(engine.clone()),
            passes,
            tickets: StreamTickets::new(&token_key),
            ticket_signer,
            relay,
            limits: Limits::new(&config),
            space: money.space,
            links,
            carry_codes: CarryCodes::new(&token_key),
            draws: Arc::new(draws),
            plans,
            boards,
            metrics: Metrics::default(),
            turns: Turns::new(money.commons.clone()),
            commons: money.commons,
            flags: money.flags,
            ready: AtomicBool::new(false),
            ledger: money.ledger,
            sagas: money.sagas,
            clock: money.clock,
            run_id: u64::from_le_bytes(crate::auth::random()) >> 1,
            engine,
            config,
        };
        Ok((Arc::new(app), fresh))
    }

    /// Whether requests should be sent here.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// The clock that guest tokens go by, in whole seconds: the engine's, which is the same on all nodes.
    #[must_use]
    pub fn now_s(&self) -> i64 {
        self.clock.now().0.div_euclid(1_000)
    }

    /// Says whether requests should be sent here.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Relaxed);
    }

    /// Runs a command whose answer is that it is done.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn run(&self, event: &EventId, command: Command) -> Result<Reply, Failure> {
        Ok(self.engine.execute(event.clone(), command).await?.value)
    }

    /// Runs a command about a booking.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn run_booking(
        &self,
        event: &EventId,
        command: Command,
    ) -> Result<HoldView, Problem> {
        hold_of(self.run(event, command).await?)
    }

    /// An event as it is now.
    ///
    /// # Errors
    /// Whatever the engine says.
    pub async fn view_event(&self, event: &EventId) -> Result<(Time, EventView), Problem> {
        let (at, view) = event_view(&*self.engine, event).await?;
        Ok((at, *view))
    }

    /// What all nodes share.
    ///
    /// # Errors
    /// `NEEDS_CLUSTER` if there is only this one.
    pub fn shared(&self) -> Result<&dyn Commons, Problem> {
        self.commons.as_deref().ok_or_else(|| {
            let why =
                "this server has no PostgreSQL to share anything in; set ledger = \"postgres\"";
            Problem::new(Code::NeedsCluster, why)
        })
    }
}
