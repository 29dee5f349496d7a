//! Live updates: the hub reads the feed and tells the streams of those it concerns.
//!
//! It works only while streams are open. One task follows the feed; another, ten times a second,
//! looks up the positions that are due to be told, finds holds that run out soon, and sends on
//! which seats changed. Nothing here is state that anyone relies on: whoever missed a message asks
//! the API.

pub mod conn;
pub mod error;
pub mod house;
mod latest;
pub mod looks;
pub mod message;
pub mod pace;
pub mod pieces;
pub mod place;
pub mod plan;
mod route;
pub mod sample;
pub mod samples;
pub mod seats;
mod shares;
mod slots;
pub mod snapshot;
mod tick;

use crate::answers::every_booking_of;
use bytes::Bytes;
use conn::{Conn, Doing};
use error::LiveError;
use futures_util::Stream;
use futures_util::stream::poll_fn;
use indexmap::IndexMap;
use message::{Content, Message};
use onrush_base::auth::pass::PassSigner;
use onrush_base::auth::unix_now_s;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, EventId, PlaceId, UserId};
use onrush_core::question::{EventNow, PlaceOf};
use onrush_core::view::{AdmissionState, PlaceState, PlaceView};
use onrush_core::{Refusal, Time};
use onrush_store::{Answer, Ask, Engine, Failure};
use place::PlaceBody;
use seats::Boards;
use shares::Shares;
pub use shares::StreamLimits;
use snapshot::Snapshot;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::task::JoinSet;

/// Places up to this one are told their position every second, others every five.
const NEAR: u32 = 100;
/// Ticks a second.
const TICKS_PER_S: u32 = 10;
/// Ticks between two looks at a position elsewhere; also the number of slots in the ring.
const FAR_TICKS: u32 = 5 * TICKS_PER_S;
/// Ticks without a message after which a sign of life is sent.
const KEEP_ALIVE_TICKS: u32 = 20 * TICKS_PER_S;
/// How long before its end a visitor hears of a hold that runs out.
const EXPIRING_MS: i64 = 60_000;

/// All open streams.
pub struct Hub {
    engine: Arc<dyn Engine>,
    boards: Arc<Boards>,
    passes: Arc<PassSigner>,
    open: AtomicUsize,
    limits: StreamLimits,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    /// In an order of their own and not of a hash: a simulation goes the same way each time.
    events: IndexMap<EventId, Channel>,
    shares: Shares,
    /// Streams by the tick at which their position is due.
    ring: Vec<Vec<Weak<Conn>>>,
    tick: u32,
    /// Spreads new streams over the ring.
    next_slot: u32,
    following: bool,
    ticking: bool,
    closed: bool,
    tasks: JoinSet<()>,
}

/// The streams about one event.
#[derive(Default)]
struct Channel {
    users: IndexMap<UserId, Watcher>,
    /// How often the line has moved, and when it last did.
    moves: u64,
    moved_at: Time,
    /// Whether anyone may hold, without a session.
    roomless: bool,
    /// Bookings of the users above that may still change.
    bookings: HashMap<BookingId, Watched>,
    /// Live holds by their deadline.
    expiring: BTreeSet<(Time, BookingId)>,
    /// Whether something happened since admission was looked at.
    admission_may_differ: bool,
    admission_told: AdmissionState,
    /// Whether its streams are told something just now.
    telling: bool,
    seats_changed: bool,
    seats_told: Option<Arc<Snapshot>>,
}

/// A booking that may still change.
struct Watched {
    user: UserId,
    /// Whether money for it is on its way, or came: it may confirm what ran out.
    has_payment: bool,
}

/// The streams of one user.
#[derive(Default)]
struct Watcher {
    conns: Vec<Arc<Conn>>,
    bookings: Vec<BookingId>,
}

/// A stream of another kind in the count of open ones, until it is dropped.
pub struct Permit {
    hub: Arc<Hub>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.hub.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open stream; dropping it closes it.
pub struct Open {
    hub: Arc<Hub>,
    conn: Arc<Conn>,
    address: Option<IpAddr>,
}

impl Open {
    /// The next message; `None` after the last one.
    pub async fn next(&self) -> Option<Message> {
        std::future::poll_fn(|context| self.conn.poll_next(context)).await
    }

    /// The same for callers that poll.
    pub fn poll_next(
        &self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Message>> {
        self.conn.poll_next(context)
    }

    /// The messages as chunks of an HTTP body.
    pub fn chunks(self) -> impl Stream<Item = Bytes> + Send + 'static {
        poll_fn(move |context| self.poll_next(context).map(|next| next.map(|said| said.chunk())))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.hub.remove(&self.conn, self.address);
    }
}

impl Hub {
    /// A hub for this engine's events, with so many streams at most.
    #[must_use]
    pub fn new(
        engine: Arc<dyn Engine>,
        boards: Arc<Boards>,
        passes: Arc<PassSigner>,
        limits: StreamLimits,
    ) -> Arc<Self> {
        let ring = (0..FAR_TICKS).map(|_| Vec::new()).collect();
        let streams = Mutex::new(Streams { ring, ..Streams::default() });
        Arc::new(Self { engine, boards, passes, open: AtomicUsize::new(0), limits, streams })
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Opens a stream; its first messages say where the sale and the visitor stand. It is part of
    /// the share of `address`, if there is one.
    ///
    /// # Errors
    /// See [`LiveError`].
    pub async fn open(
        self: &Arc<Self>,
        event: EventId,
        user: UserId,
        place: Option<PlaceId>,
        address: Option<IpAddr>,
    ) -> Result<Open, LiveError> {
        // Registered before anything is asked, so that what happens meanwhile is told as well.
        let open = self.add(Conn::new(event.clone(), user.clone(), place), address)?;
        let Answer { at, value: view, .. } = self.engine.ask(event.clone(), EventNow).await?;
        let roomless = view.settings.room.is_none();
        let place = self.place(&event, PlaceOf { user: user.clone(), place }).await?;
        let mut first = vec![Message::new(&Content::Phase { phase: view.phase })];
        let doing = doing(place.as_ref());
        first.push(Message::new(&self.content_of(&open.conn, place)));
        if view.admission != AdmissionState::GoesOn {
            first.push(Message::new(&Content::Admission { admission: view.admission }));
        }
        // Whoever bought something and went away, or waits once more, hears of that as well.
        self.watch_bookings(&event, &user).await?;
        // Also for those who wait: what changes right after their turn can be told by then.
        match self.note_seats(&event).await {
            Err(error) if doing != Doing::Shopping && !roomless => {
                tracing::debug!(%error, %event, "seats are noted with the next stream");
            }
            noted => noted?,
        }
        if let Some(channel) = self.streams().events.get_mut(&event) {
            channel.roomless = roomless;
        }
        open.conn.send_first(first, at, doing);
        Ok(open)
    }

    /// Counts a stream of another kind.
    ///
    /// # Errors
    /// [`LiveError::Full`], [`LiveError::Stopping`].
    pub fn permit(self: &Arc<Self>) -> Result<Permit, LiveError> {
        self.admit(&self.streams())?;
        Ok(Permit { hub: self.clone() })
    }

    /// Says goodbye to everyone and lets nobody in any more.
    pub fn close(&self) {
        let mut streams = self.streams();
        streams.closed = true;
        let bye = Message::new(&Content::Bye);
        for channel in streams.events.values() {
            channel.tell_all(&bye);
        }
    }

    /// Ends the tasks that read the engine.
    pub async fn ended(&self) {
        let mut tasks = std::mem::take(&mut self.streams().tasks);
        tasks.shutdown().await;
    }

    /// Counts a stream, if there may be another one.
    fn admit(&self, streams: &Streams) -> Result<(), LiveError> {
        if streams.closed {
            return Err(LiveError::Stopping);
        }
        if self.open.load(Ordering::Relaxed) >= self.limits.all as usize {
            return Err(LiveError::Full);
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn add(self: &Arc<Self>, conn: Conn, address: Option<IpAddr>) -> Result<Open, LiveError> {
        let mut streams = self.streams();
        self.admit(&streams)?;
        if let Err(error) = streams.shares.take(&self.limits, &conn.user, address) {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(error);
        }
        conn.last_sent_tick.store(streams.tick, Ordering::Relaxed);
        let conn = Arc::new(conn);
        let channel = streams.events.entry(conn.event.clone()).or_default();
        channel.users.entry(conn.user.clone()).or_default().conns.push(conn.clone());
        streams.next_slot = (streams.next_slot + 1) % FAR_TICKS;
        let slot = streams.next_slot as usize;
        streams.ring[slot].push(Arc::downgrade(&conn));
        // Those of before have ended, and are kept until somebody asks.
        while streams.tasks.try_join_next().is_some() {}
        if !streams.following {
            streams.following = true;
            streams.tasks.spawn(self.clone().follow(self.engine.committed()));
        }
        if !streams.ticking {
            streams.ticking = true;
            streams.tasks.spawn(self.clone().tick());
        }
        drop(streams);
        Ok(Open { hub: self.clone(), conn, address })
    }

    fn remove(&self, conn: &Arc<Conn>, address: Option<IpAddr>) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        let mut streams = self.streams();
        streams.shares.give_back(&conn.user, address);
        let Some(channel) = streams.events.get_mut(&conn.event) else { return };
        let Some(watcher) = channel.users.get_mut(&conn.user) else { return };
        watcher.conns.retain(|other| !Arc::ptr_eq(other, conn));
        if watcher.conns.is_empty() {
            for booking in std::mem::take(&mut watcher.bookings) {
                channel.bookings.remove(&booking);
            }
            channel.users.swap_remove(&conn.user);
        }
        if channel.users.is_empty() {
            streams.events.swap_remove(&conn.event);
        }
    }

    /// A user's place; `None` if there is none.
    async fn place(&self, event: &EventId, of: PlaceOf) -> Result<Option<PlaceView>, LiveError> {
        match self.engine.ask(event.clone(), of).await {
            Ok(answer) => Ok(Some(answer.value)),
            Err(Failure::Refused(Refusal::PlaceNotFound)) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    fn content_of(&self, conn: &Conn, place: Option<PlaceView>) -> Content<'static> {
        match place {
            None => Content::NotInQueue,
            Some(view) => PlaceBody::new(&view, |place, until| {
                self.passes.sign(&conn.event, &conn.user, place, until, unix_now_s())
            })
            .into(),
        }
    }

    /// Learns of a user's bookings that may still change, so that the user hears of it.
    async fn watch_bookings(&self, event: &EventId, user: &UserId) -> Result<(), LiveError> {
        let (_, bookings) = every_booking_of(&*self.engine, event, user).await?;
        let mut streams = self.streams();
        if let Some(channel) = streams.events.get_mut(event) {
            for view in bookings {
                let (until, has_payment) = match &view.state {
                    HoldState::Held { until } => (Some(*until), false),
                    HoldState::Paying { until, .. } => (Some(*until), true),
                    HoldState::Confirmed { payment, .. } => (None, payment.is_some()),
                    HoldState::Expired { payment: Some(_), .. } => (None, true),
                    HoldState::Released { .. }
                    | HoldState::Expired { payment: None, .. }
                    | HoldState::Cancelled { .. } => continue,
                };
                channel.watch_booking(user, &view.terms.booking, until, has_payment);
            }
        }
        Ok(())
    }

    /// Notes the seats as they are, so that later changes can be told.
    async fn note_seats(&self, event: &EventId) -> Result<(), LiveError> {
        let known = |streams: &Streams| {
            streams.events.get(event).is_none_or(|channel| channel.seats_told.is_some())
        };
        if known(&self.streams()) {
            return Ok(());
        }
        let decided = self.engine.committed();
        let snapshot = self.boards.lately(event).await?;
        if let Some(channel) = self.streams().events.get_mut(event) {
            // What was decided since it was read is told as well.
            channel.seats_changed |= snapshot.committed() < decided;
            channel.seats_told.get_or_insert(snapshot);
        }
        Ok(())
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel {
    fn tell_all(&self, message: &Message) {
        for conn in self.users.values().flat_map(|watcher| &watcher.conns) {
            conn.send(message.clone());
        }
    }

    fn watch_booking(
        &mut self,
        user: &UserId,
        booking: &BookingId,
        until: Option<Time>,
        has_payment: bool,
    ) {
        let Some(watcher) = self.users.get_mut(user) else { return };
        let watched = Watched { user: user.clone(), has_payment };
        if self.bookings.insert(booking.clone(), watched).is_none() {
            watcher.bookings.push(booking.clone());
        }
        self.expiring.extend(until.map(|until| (until, booking.clone())));
    }
}

/// What a visitor with this place is doing.
fn doing(place: Option<&PlaceView>) -> Doing {
    match place.map(|view| &view.state) {
        None | Some(PlaceState::Ended { .. }) => Doing::Nothing,
        Some(PlaceState::Active { .. }) => Doing::Shopping,
        Some(PlaceState::Queued { position: Some(1..=NEAR), .. }) => Doing::WaitingNear,
        Some(PlaceState::Queued { .. }) => Doing::WaitingFar,
    }
}
