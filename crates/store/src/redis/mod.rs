//! The engine on Redis or Redis Cluster, for many processes: the same commands, replies, refusals
//! and changes as the embedded one, with one Lua script a command.
//!
//! ```text
//! callers ─► wire ─► one script a command ─► reply
//!                     state and stream, in one step
//!                       └─► archiver ─► archive ─► feeds
//! ```
//!
//! Redis numbers each event's decisions by itself; the [`Archive`] numbers all of them in one
//! sequence and is what the feed is read from. Any number of nodes may run the same events: the
//! rules are in the scripts, a node only asks.
//!
//! What is confirmed, what money is asked for, and what organisers change is answered once it is
//! archived; other answers may be of decisions that a Redis that fails can still lose
//! (docs/operating.md says how many). A node notices by their numbers.

mod archive;
mod archiver;
mod audit;
mod bare;
mod client;
mod copier;
mod copies;
mod copy;
mod counts;
mod draw;
mod feed;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod head;
mod heard;
mod hindrance;
mod holdings;
mod keys;
pub mod kit;
mod known;
mod ladders;
mod layout;
mod library;
mod looks;
mod node;
mod options;
pub mod points;
#[cfg(feature = "testing")]
mod probe;
mod prune;
mod query;
mod reading;
mod rebuild;
mod records;
mod refusal;
mod rows;
mod scripts;
mod segments;
mod sentinel;
#[cfg(test)]
mod shared;
mod start;
mod stream;
mod ticker;
mod transactions;
mod types;
mod waits;
mod wakes;
mod wire;
mod writing;

pub use archive::{
    Archive, ArchiveError, Archived, Pending as ArchivePending, ToArchive, ToArchiveEntry,
};
pub use audit::AuditReport;
pub use bare::BareHold;
pub use head::{Head, Mark, differ};
pub use options::Options;
#[cfg(feature = "testing")]
pub use probe::{GivenScript, Probe};
pub use rows::SeatSpecs;
pub use start::OpenError;

use crate::engine::{Answer, AsOf, Engine, Failure, Feed, Figures, Hindrance, Pending, Seq};
use client::{Client, ClientError, Servers};
use feed::ArchiveFeed;
use known::KnownEvent;
use node::Node;
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::{Command, Query, Refusal, Reply, Time, View};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use transactions::Transactions;
use wire::Outcome;

/// The engine on Redis. Dropping it ends this node's tasks; the events live on.
pub struct RedisEngine {
    node: Arc<Node>,
    ticker: Option<JoinHandle<()>>,
}

impl RedisEngine {
    /// Connects to Redis and begins to work. Must be called in a runtime.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing in Redis is changed then.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let servers = Servers {
            urls: options.urls.clone(),
            is_cluster: options.is_cluster,
            sentinels: options.sentinels.clone(),
            certificates: options.certificates.clone(),
        };
        let client = start::patiently(async || {
            let client = Client::open(&servers, options.connections, options.timeout_ms).await?;
            start::check_server(&client).await?;
            Ok(client)
        });
        let client = client.await?;
        client.load_all(scripts::all().into_iter()).await;
        let limit = Duration::from_millis(u64::from(options.timeout_ms));
        let transactions = Transactions::new(&servers, client.sentinels().cloned(), limit)?;
        let node = Node::new(client, transactions, &options);
        if options.ticks {
            start::list_events(&node).await?;
        }
        let sweep = Duration::from_millis(u64::from(options.sweep_ms));
        let ticker = options.ticks.then(|| tokio::spawn(ticker::run(Arc::clone(&node), sweep)));
        Ok(Self { node, ticker })
    }

    /// Has an event's deadlines and admissions looked at, soon. Cheap, and harmless if nothing is due.
    pub fn wake(&self, event: &EventId) {
        self.node.wakes().wake(event);
    }

    /// Ends this node's tasks and archives what it knows of, as far as that can be done at once.
    pub async fn close(self) {
        if let Some(ticker) = &self.ticker {
            ticker.abort();
        }
        for known in self.node.known.all() {
            let head = known.head();
            if head > known.archived() && self.node.settle(&known.event, head).await.is_err() {
                tracing::warn!(event = %known.event, "another node archives the last decisions");
            }
        }
        self.node.stop();
        if timeout(self.node.archive_timeout, self.node.ended()).await.is_err() {
            tracing::warn!("tasks were left behind; their leases end by themselves");
        }
    }
}

impl Drop for RedisEngine {
    fn drop(&mut self) {
        self.node.stop();
        if let Some(ticker) = &self.ticker {
            ticker.abort();
        }
    }
}

/// A decision as the caller is told.
struct Decided {
    head: Head,
    at: Time,
    reply: Result<Reply, Failure>,
}

fn decided(outcome: Outcome) -> Result<Decided, Failure> {
    match outcome {
        Outcome::Ok { head, at, reply, more: _ } => {
            let reply = wire::read_json(&reply).map_err(ClientError::Answered)?;
            Ok(Decided { head, at, reply: Ok(reply) })
        }
        Outcome::No { head, at, refusal } => {
            Ok(Decided { head, at, reply: Err(Failure::Refused(refusal)) })
        }
        Outcome::Other(_) => {
            let why = format!("a script answered out of turn: {outcome:?}");
            Err(ClientError::Answered(why).into())
        }
    }
}

async fn execute(
    node: &Node,
    event: &EventId,
    command: &Command,
) -> Result<Answer<Reply>, Failure> {
    let outcome = match command {
        Command::Tick => {
            let ticked = node.tick(event, 1).await?;
            return Ok(Answer { at: ticked.at, as_of: None, value: Reply::Done });
        }
        Command::ClosePrequeue => node.close_prequeue(event).await?,
        Command::OpenSale { seed, public_value } => {
            node.open_sale(event, *seed, public_value.as_deref()).await?
        }
        Command::CreateEvent { .. }
        | Command::ChangeSettings { .. }
        | Command::AddPool { .. }
        | Command::AdjustCapacity { .. }
        | Command::AddSeats { .. }
        | Command::ChangePrice { .. }
        | Command::SetTypes { .. }
        | Command::Block { .. }
        | Command::Unblock { .. }
        | Command::SetChannel { .. }
        | Command::Allot { .. }
        | Command::ReleaseChannel { .. }
        | Command::OpenPrequeue
        | Command::Pause
        | Command::Resume
        | Command::Close
        | Command::Archive { .. }
        | Command::Join { .. }
        | Command::Leave { .. }
        | Command::See { .. }
        | Command::Arrive { .. }
        | Command::Hold { .. }
        | Command::HoldBest { .. }
        | Command::Extend { .. }
        | Command::Release { .. }
        | Command::NamePayer { .. }
        | Command::BeginPayment { .. }
        | Command::FailPayment { .. }
        | Command::Confirm { .. }
        | Command::CancelConfirmed { .. }
        | Command::CheckIn { .. }
        | Command::Claim { .. }
        | Command::Declaim { .. }
        | Command::AdjustClaimed { .. }
        | Command::RemoveVisitor { .. }
        | Command::UnbanVisitor { .. }
        | Command::Recover { .. } => node.run(event, node.call(event, command)).await?,
    };
    let Decided { head, at, reply } = decided(outcome)?;
    if command.traits().waits_for_archive && head > Head::default() {
        node.settle(event, head).await?;
    }
    let exists = matches!(reply, Ok(_) | Err(Failure::Refused(Refusal::EventExists)));
    if matches!(command, Command::CreateEvent { .. }) && exists {
        // Whoever is told of the event finds it in the list; if this node dies before, the one that
        // archives it sees to that.
        node.list_event(event, at).await?;
    }
    if matches!(command, Command::Archive { .. }) && reply.is_ok() {
        // A tick does the rest. It is asked for here: whoever archived the decision may have heard of
        // it first, and nobody sweeps what is not listed.
        node.unlist_event(event).await?;
        node.wakes().wake(event);
    }
    reply.map(|value| Answer { at, as_of: as_of(head), value })
}

fn as_of(head: Head) -> Option<AsOf> {
    Some(AsOf { epoch: head.epoch, seq: head.seq })
}

async fn query(node: &Node, event: &EventId, query: &Query) -> Result<Answer<View>, Failure> {
    node.copies.pass_on(query);
    match node.look(event, node.question(event, query)).await? {
        Outcome::Ok { at, reply, more, head } => {
            let value = query::view(event, query, &reply, more).map_err(ClientError::Answered)?;
            Ok(Answer { at, as_of: as_of(head), value })
        }
        outcome @ (Outcome::No { .. } | Outcome::Other(_)) => {
            Err(decided(outcome)?.reply.err().unwrap_or(Failure::Unreachable))
        }
    }
}

/// Runs on whether or not anybody still waits: dropping an answer does not undo what was asked.
fn run_on<T: Send + 'static>(
    asked: impl Future<Output = Result<Answer<T>, Failure>> + Send + 'static,
) -> Pending<T> {
    let running = tokio::spawn(asked);
    Box::pin(async { running.await.unwrap_or(Err(Failure::Stopped)) })
}

impl Engine for RedisEngine {
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply> {
        let node = Arc::clone(&self.node);
        run_on(async move {
            // What waits for the archive too would tell of PostgreSQL, which new business need not wait for.
            let _under_way = command.traits().begins_business.then(|| node.waits.begin());
            execute(&node, &event, &command).await
        })
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        let node = Arc::clone(&self.node);
        Box::pin(async move { self::query(&node, &event, &query).await })
    }

    fn query_since(&self, event: EventId, query: Query, as_of: AsOf) -> Pending<View> {
        let node = Arc::clone(&self.node);
        Box::pin(async move {
            // When it is waited for and no sooner: an answer that lies about gets older.
            if let Some(answer) = node.copies.answer(&event, &query, as_of) {
                return Ok(answer);
            }
            let answer = self::query(&node, &event, &query).await?;
            if copy::waits(&answer.value) {
                node.copy(&event);
            }
            Ok(answer)
        })
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        let node = Arc::clone(&self.node);
        Box::pin(async move {
            let value = node.known_events().await?;
            let at = start::now(&node).await?;
            Ok(Answer { at, as_of: None, value })
        })
    }

    fn reach(&self) -> Pending<()> {
        let node = Arc::clone(&self.node);
        Box::pin(async move {
            let at = hindrance::look(&node).await?;
            Ok(Answer { at, as_of: None, value: () })
        })
    }

    fn hindrance(&self) -> Option<Hindrance> {
        self.node.hindrance.last()
    }

    fn is_full(&self) -> bool {
        self.node.hindrance.is_full()
    }

    fn subscribe(&self, after: Seq) -> Box<dyn Feed> {
        let archive = Arc::clone(&self.node.archive);
        Box::new(ArchiveFeed::new(after, archive, self.node.stops()))
    }

    fn committed(&self) -> Seq {
        *self.node.archive.newest().borrow()
    }

    fn settled(&self, event: EventId) -> Pending<Seq> {
        let node = Arc::clone(&self.node);
        Box::pin(async move {
            let Answer { at, as_of, value: _ } =
                self::query(&node, &event, &EventNow.into()).await?;
            let value = node.settled(&event).await?;
            Ok(Answer { at, as_of, value })
        })
    }

    fn waiting(&self) -> Duration {
        self.node.waits.waiting()
    }

    fn figures(&self) -> Figures {
        let behind = |known: &Arc<KnownEvent>| {
            let (head, archived) = (known.head(), known.archived());
            // An event of a later epoch is being rebuilt: what counts there begins anew.
            if head.epoch == archived.epoch { head.seq.0.saturating_sub(archived.seq.0) } else { 0 }
        };
        Figures {
            decide: self.node.decide.counted(),
            commit: self.node.commit.counted(),
            unarchived: self.node.known.all().iter().map(behind).sum(),
            copies: Some(self.node.copies.figures()),
        }
    }
}
