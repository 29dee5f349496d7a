//! What the parts of this node share: the connections, the archive, and what is known of each event.

use super::archive::{Archive, ArchiveError};
use super::archiver;
use super::client::{Client, ClientError};
use super::copier;
use super::copies::Copies;
use super::head::Head;
use super::hindrance::Found;
use super::keys::{self, EventKeys};
use super::known::{Known, KnownEvent};
use super::options::Options;
use super::transactions::Transactions;
use super::waits::Waits;
use super::wakes::Wakes;
use super::wire::{self, Call, Outcome, Setback};
use super::{points, query, rebuild, refusal};
use crate::durations::Durations;
use crate::engine::{Failure, Seq};
use crate::flags::{Flag, Flags};
use onrush_core::ids::EventId;
use onrush_core::question::PlaceOf;
use onrush_core::{Command, Query, Refusal, Time};
use redis::Value;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What a caller is told to wait while an event is being rebuilt.
const REBUILDING_MS: u32 = 1_000;
/// How often a call is made again because something had to be done first.
const ATTEMPTS: usize = 4;

/// What the parts of this node share.
pub(super) struct Node {
    pub(super) client: Client,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) known: Known,
    pub(super) flags: Arc<Flags>,
    /// How long somebody waits for the archive.
    pub(super) archive_timeout: Duration,
    /// The copies of events that this node answers from.
    pub(super) copies: Copies,
    /// How long new business waits for its answers.
    pub(super) waits: Waits,
    /// How long scripts of commands take, and waiting for the archive.
    pub(super) decide: Durations,
    pub(super) commit: Durations,
    /// What keeps Redis from changing anything, if it was found to.
    pub(super) hindrance: Found,
    wakes: Wakes,
    transactions: Transactions,
    requests: Requests,
    stop: watch::Sender<bool>,
    tasks: Mutex<JoinSet<()>>,
    me: Weak<Self>,
}

impl Node {
    pub(super) fn new(client: Client, transactions: Transactions, options: &Options) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            client,
            archive: Arc::clone(&options.archive),
            known: Known::default(),
            flags: Arc::clone(&options.flags),
            archive_timeout: Duration::from_millis(u64::from(options.archive_timeout_ms)),
            copies: Copies::new(options),
            waits: Waits::default(),
            decide: Durations::default(),
            commit: Durations::default(),
            hindrance: Found::default(),
            wakes: Wakes::default(),
            transactions,
            requests: Requests::new(),
            stop: watch::Sender::new(false),
            tasks: Mutex::default(),
            me: Weak::clone(me),
        })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn wakes(&self) -> &Wakes {
        &self.wakes
    }

    pub(super) fn keys(&self, event: &EventId) -> EventKeys {
        EventKeys::new(event)
    }

    /// The script that runs a command, with all the keys it may want.
    pub(super) fn call(&self, event: &EventId, command: &Command) -> Call {
        let mut call = wire::call(command);
        if let Command::Join { user, .. }
        | Command::Leave { user, .. }
        | Command::RemoveVisitor { user, .. } = command
        {
            call.keys.push(keys::places_of(event, user));
        }
        if let Command::Join { user, .. } = command {
            call.args.push(u8::from(self.flags.is_on(Flag::CompositeScore, user)).to_string());
        }
        if let Command::Join { user, .. }
        | Command::Hold { user, .. }
        | Command::HoldBest { user, .. } = command
        {
            call.is_optimistic = !self.flags.is_on(Flag::LuaAtomic, user);
        }
        call
    }

    /// The script that answers a question, with all the keys it may want.
    pub(super) fn question(&self, event: &EventId, question: &Query) -> Call {
        let mut call = query::call(question);
        if let Query::Place(PlaceOf { user, .. }) = question {
            call.keys.push(keys::places_of(event, user));
            call.args.push(u8::from(self.flags.is_on(Flag::StreamsQueue, user)).to_string());
        }
        call
    }

    /// A name that no other call has: 32 hexadecimal digits.
    pub(super) fn request_id(&self) -> String {
        self.requests.next()
    }

    /// Ends all tasks; what they have begun is left to the other nodes, or to this one's next start.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Runs a task that ends by itself once the node stops.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Waits until all tasks have ended.
    pub(super) async fn ended(&self) {
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn stops(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Waits until the node stops.
    pub(super) async fn stopping(&self) {
        let mut stop = self.stop.subscribe();
        // The sender is here, so that it does not end before this does.
        drop(stop.wait_for(|stop| *stop).await);
    }

    /// The event, as far as this node knows.
    pub(super) async fn known(&self, event: &EventId) -> Result<Arc<KnownEvent>, Failure> {
        let known = self.known.get(event, self.archive.as_ref()).await;
        known.map_err(|error| nothing_is_known(event, &error))
    }

    /// Runs a script for an event: its answer is a decision, a refusal, or what the script needs for a draw.
    ///
    /// What has to be done first is done: time that nobody ran the event in is made up for, and an
    /// event that lost decisions is rebuilt.
    pub(super) async fn run(&self, event: &EventId, call: Call) -> Result<Outcome, Failure> {
        let known = self.known(event).await?;
        self.run_with(&known, call).await
    }

    /// The same for a question, which anybody may ask of any event.
    pub(super) async fn look(&self, event: &EventId, call: Call) -> Result<Outcome, Failure> {
        let known = self.known.look(event, self.archive.as_ref()).await;
        let known = known.map_err(|error| nothing_is_known(event, &error))?;
        self.run_with(&known, call).await
    }

    async fn run_with(&self, known: &Arc<KnownEvent>, call: Call) -> Result<Outcome, Failure> {
        let event = &known.event;
        let request = self.request_id();
        for _ in 0..ATTEMPTS {
            match self.run_once(known, &call, &request).await? {
                Outcome::Other(Setback::Lost) => {
                    self.lost(known);
                    return Err(Failure::Rebuilding { retry_after_ms: REBUILDING_MS });
                }
                Outcome::Other(Setback::Away { gap_ms }) => {
                    tracing::info!(%event, gap_ms, "nobody ran the event: its deadlines move on");
                    let recover = wire::recover_if_away();
                    self.run_once(known, &recover, &self.request_id()).await?;
                }
                Outcome::Other(Setback::Busy { retry_after_ms }) => {
                    return Err(Failure::Busy { retry_after_ms });
                }
                outcome @ (Outcome::Ok { .. }
                | Outcome::No { .. }
                | Outcome::Other(
                    Setback::Entrants { .. } | Setback::Draw | Setback::Stale,
                )) => return Ok(outcome),
            }
        }
        Err(Failure::Busy { retry_after_ms: REBUILDING_MS })
    }

    async fn run_once(
        &self,
        known: &Arc<KnownEvent>,
        call: &Call,
        request: &str,
    ) -> Result<Outcome, Failure> {
        let head = known.head();
        let (seq, epoch) = (head.seq.0.to_string(), head.epoch.to_string());
        let complaint = call.complaint.as_ref().map(refusal::write).unwrap_or_default();
        let mark = head.mark_text();
        let begin = [seq.as_str(), &epoch, &mark, request, &complaint];
        let keys: Vec<&str> =
            known.keys.all().chain(call.keys.iter().map(String::as_str)).collect();
        let args: Vec<&str> =
            begin.into_iter().chain(call.args.iter().map(String::as_str)).collect();
        let is_hold = matches!(call.script.name, "engine/hold" | "engine/hold_pool");
        points::reached("asking:Hold", is_hold);
        let begun = Instant::now();
        let asked = self.answer_of(known, call, &keys, &args).await;
        let answer = asked.inspect_err(|error| self.missed(known, call, error))?;
        self.decide.note(begun.elapsed());
        // From here on this node knows what it asked for; a test has it die before it does.
        points::reached("asked:Hold", is_hold);
        let outcome = wire::outcome(answer).map_err(ClientError::Answered)?;
        match &outcome {
            Outcome::Ok { head, .. } => self.saw(known, *head),
            Outcome::No { refusal: Refusal::EventNotFound, .. } => {}
            Outcome::No { head, .. } => self.saw(known, *head),
            Outcome::Other(_) => {}
        }
        Ok(outcome)
    }

    /// What a script answers, run as a transaction or as it is.
    async fn answer_of(
        &self,
        known: &KnownEvent,
        call: &Call,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Value, ClientError> {
        if call.is_optimistic
            && let Some(answer) = self.transaction(known, call, keys, args).await?
        {
            return Ok(answer);
        }
        let asked = self.client.script(call.script, keys, args, call.is_long).await;
        asked.inspect_err(|error| self.hindrance.meet(&known.event, error))
    }

    /// Takes note of a call that came to nothing here. One that nobody answered may be decided all the
    /// same: what is due by it is not missed for as long as the event would be passed over.
    fn missed(&self, known: &KnownEvent, call: &Call, error: &ClientError) {
        let may_be_decided = match error {
            ClientError::Unreachable(_) => !call.script.only_reads(),
            ClientError::OutOfMemory | ClientError::Refuses(_) | ClientError::Answered(_) => false,
        };
        // Anybody can ask for events that do not exist, and no look at one was ever put off.
        if may_be_decided && self.known.is_kept(&known.event) {
            self.wakes.doubt(&known.event);
        }
    }

    /// Runs a script as an optimistic transaction; `None` if it is to be run as it is.
    async fn transaction(
        &self,
        known: &KnownEvent,
        call: &Call,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Option<Value>, ClientError> {
        // The nodes compete; those who ask this one stand in line, as long as it is a short one.
        let turn = timeout(self.transactions.limit(), known.transaction.lock());
        let Ok(_turn) = turn.await else { return Ok(None) };
        self.transactions.run(call.script, keys, args).await
    }

    /// Takes note of an event's head: what is new is archived, and its deadlines are looked at.
    fn saw(&self, known: &Arc<KnownEvent>, head: Head) {
        let kept;
        let known = if self.known.is_kept(&known.event) {
            known
        } else {
            kept = self.known.keep(known);
            &kept
        };
        if known.saw(head) {
            self.wakes.wake(&known.event);
        }
        if let Some(me) = self.me.upgrade() {
            archiver::wake(&me, known);
        }
    }

    /// Redis has lost decisions of this event: it is rebuilt.
    pub(super) fn lost(&self, known: &Arc<KnownEvent>) {
        self.copies.give_up(&known.event);
        if let Some(me) = self.me.upgrade() {
            rebuild::start(&me, known);
        }
    }

    /// Has a copy made of an event whose places are asked for, if there is none and may be.
    pub(super) fn copy(&self, event: &EventId) {
        if let Some(me) = self.me.upgrade()
            && !self.is_stopping()
            && let Some(copy) = self.copies.begin(event, Instant::now())
        {
            self.spawn(copier::run(me, copy));
        }
    }

    /// Waits until a decision is archived: until then a Redis that loses its latest changes could lose it.
    pub(super) async fn settle(&self, event: &EventId, head: Head) -> Result<(), Failure> {
        let known = self.known(event).await?;
        let Some(me) = self.me.upgrade() else { return Err(Failure::Stopped) };
        let begun = Instant::now();
        let settled = archiver::settle(&me, &known, head, self.archive_timeout).await;
        self.commit.note(begun.elapsed());
        if settled {
            return Ok(());
        }
        tracing::warn!(%event, "decided, and not archived in time");
        Err(Failure::Unreachable)
    }

    /// Archives an event as far as it is known to have come; the number of its last decision among
    /// those of all events.
    pub(super) async fn settled(&self, event: &EventId) -> Result<Seq, Failure> {
        let head = self.known(event).await?.head();
        self.settle(event, head).await?;
        let before = Seq(head.seq.0.saturating_sub(1));
        match self.archive.read_event(event.clone(), before, 1).await {
            // One that has left for a file was heard of long ago.
            Ok(page) => Ok(page
                .first()
                .map_or_else(|| *self.archive.newest().borrow(), |archived| archived.number)),
            Err(error) => {
                tracing::warn!(%event, %error, "the archive cannot be asked how far it has come");
                Err(Failure::Unreachable)
            }
        }
    }

    /// All events, in the order they were created.
    pub(super) async fn known_events(&self) -> Result<Vec<EventId>, ClientError> {
        let mut command = redis::cmd("ZRANGE");
        command.arg(keys::EVENTS).arg(0).arg(-1);
        let answer = self.client.command(&command).await?;
        let ids: Vec<String> = redis::from_redis_value(answer)
            .map_err(|error| ClientError::Answered(error.to_string()))?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }

    /// The events that this node has had to do with, whether they are listed or not.
    pub(super) fn events_here(&self) -> Vec<EventId> {
        self.known.all().iter().map(|known| known.event.clone()).collect()
    }

    /// Takes an event that was archived out of the list of all events.
    pub(super) async fn unlist_event(&self, event: &EventId) -> Result<(), ClientError> {
        let mut command = redis::cmd("ZREM");
        command.arg(keys::EVENTS).arg(event.as_str());
        self.client.command(&command).await.map(drop)
    }

    /// What is left of an event that was archived, apart from the hash that says so, goes: its
    /// stream once all of it is archived, its line in the list, and what this node knows of it.
    pub(super) async fn clear_away(&self, event: &EventId) -> Result<(), Failure> {
        let known = self.known(event).await?;
        let head = known.head();
        if head > known.archived() {
            self.settle(event, head).await?;
        }
        let mut command = redis::cmd("UNLINK");
        command.arg(known.keys.feed());
        self.client.command(&command).await?;
        self.unlist_event(event).await?;
        self.known.let_go(event);
        self.copies.give_up(event);
        Ok(())
    }

    /// Puts an event into the list of all events; also into that of a server without memory, which has
    /// lost its list and is being filled again.
    pub(super) async fn list_event(&self, event: &EventId, at: Time) -> Result<(), ClientError> {
        const LIST: &str = "#!lua flags=allow-oom\n\
                            return redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[2])";
        let mut command = redis::cmd("EVAL");
        command.arg(LIST).arg(1).arg(keys::EVENTS).arg(at.0).arg(event.as_str());
        self.client.command(&command).await.map(drop)
    }
}

fn nothing_is_known(event: &EventId, error: &ArchiveError) -> Failure {
    tracing::warn!(%event, %error, "nothing is known of the event yet");
    Failure::Unreachable
}

/// Makes names for calls.
struct Requests {
    node: u64,
    next: AtomicU64,
}

impl Requests {
    fn new() -> Self {
        // The standard library's hasher has keys of its own in each process and of each state.
        let random = || RandomState::new().hash_one(std::process::id());
        Self { node: random(), next: AtomicU64::new(random() << 20) }
    }

    fn next(&self) -> String {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}{next:016x}", self.node)
    }
}
