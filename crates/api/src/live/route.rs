//! From the feed to the streams.

use super::conn::{Conn, Doing};
use super::message::{Content, Message};
use super::{Channel, Hub};
use onrush_base::auth::unix_now_s;
use onrush_core::change::{
    BookingChange, HoldChange, QueueChange, SaleChange, SetupChange, VisitorChange,
};
use onrush_core::ids::{BookingId, PlaceId, UserId};
use onrush_core::{Change, Phase, Time};
use onrush_store::{FeedEntry, Seq};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// An admission whose passes are still to be signed, which takes too long to do it under the lock.
struct Admission {
    conns: Vec<Arc<Conn>>,
    place: PlaceId,
    until: Time,
    arrive_by: Time,
}

/// How long to wait for a feed that cannot be read.
const TRY_AGAIN: Duration = Duration::from_secs(1);

impl Hub {
    /// Reads the feed as long as streams are open.
    pub(super) async fn follow(self: Arc<Self>, mut after: Seq) {
        let mut feed = self.engine.subscribe(after);
        loop {
            match feed.next().await {
                Ok(Some(page)) => {
                    for entry in page {
                        self.route(&entry);
                        after = entry.seq;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    // A journal that is damaged ends the process. Anything else passes, and nothing is
                    // passed over.
                    tracing::error!(error, "the feed cannot be read; streams wait for it");
                    tokio::time::sleep(TRY_AGAIN).await;
                    feed = self.engine.subscribe(after);
                }
            }
            let mut streams = self.streams();
            if streams.events.is_empty() {
                streams.following = false;
                return;
            }
        }
    }

    fn route(&self, entry: &FeedEntry) {
        for change in &entry.changes {
            let admission = {
                let mut streams = self.streams();
                let Some(channel) = streams.events.get_mut(&entry.event) else { return };
                channel.route(entry.at, change)
            };
            if let Some(Admission { conns, place, until, arrive_by }) = admission {
                for conn in conns {
                    let pass =
                        self.passes.sign(&conn.event, &conn.user, place, until, unix_now_s());
                    let arrive_by = Some(arrive_by);
                    let turn = Content::YourTurn { place, until, arrive_by, pass };
                    conn.tell(entry.at, Message::new(&turn));
                }
            }
        }
    }
}

impl Channel {
    fn route(&mut self, at: Time, change: &Change) -> Option<Admission> {
        self.admission_may_differ = true;
        match change {
            Change::Setup(change) => match change {
                SetupChange::UnitsBlocked { .. }
                | SetupChange::UnitsUnblocked { .. }
                | SetupChange::SeatsAdded { .. }
                | SetupChange::UnitsAllotted { .. }
                | SetupChange::ChannelReleased { .. }
                | SetupChange::PriceChanged { .. }
                | SetupChange::TypesSet { .. } => self.seats_changed = true,
                SetupChange::SettingsChanged { settings } => {
                    self.roomless = settings.room.is_none()
                }
                SetupChange::EventCreated { .. }
                | SetupChange::ChannelSet { .. }
                | SetupChange::PoolAdded { .. }
                | SetupChange::CapacityAdjusted { .. } => {}
            },
            Change::Sale(change) => match change {
                SaleChange::PrequeueOpened => self.tell_phase(at, Phase::Prequeue),
                SaleChange::SaleOpened { .. } => {
                    self.line_moved(at);
                    self.tell_phase(at, Phase::Open);
                }
                SaleChange::SaleResumed => self.tell_phase(at, Phase::Open),
                SaleChange::SalePaused => self.tell_phase(at, Phase::Paused),
                SaleChange::SaleClosed => self.tell_phase(at, Phase::Closed),
                // Whoever still looks on has heard that the sale is closed; their next request is
                // told that the event was archived.
                SaleChange::EventArchived { .. } => {}
                // All deadlines have moved, so all that is known of them is out of date.
                SaleChange::Resumed { gap_ms } => {
                    let moved = std::mem::take(&mut self.expiring);
                    let later = moved.into_iter().map(|(until, id)| (until.plus_ms(*gap_ms), id));
                    self.expiring = later.collect();
                }
            },
            Change::Queue(change) => match change {
                QueueChange::PlaceTaken { place, user, number: _ } => {
                    self.look_again(at, user, *place, Doing::Nothing);
                }
                QueueChange::Admitted { place, user, until, arrive_by } => {
                    self.line_moved(at);
                    let conns = self.conns_about(at, user, *place);
                    for conn in &conns {
                        conn.set_doing(Doing::Shopping);
                    }
                    let (place, until, arrive_by) = (*place, *until, *arrive_by);
                    return Some(Admission { conns, place, until, arrive_by });
                }
                QueueChange::PlaceLeft { place, user, how } => {
                    self.line_moved(at);
                    self.tell(at, user, *place, &Content::Left { place: *place, how: *how });
                    self.look_again(at, user, *place, Doing::WaitingFar);
                }
                QueueChange::PlaceSeen { .. } | QueueChange::PrequeueClosed { .. } => {}
            },
            Change::Visitor(change) => match change {
                VisitorChange::SessionEnded { place, user, how } => {
                    self.tell(
                        at,
                        user,
                        *place,
                        &Content::SessionEnded { place: *place, how: *how },
                    );
                    self.look_again(at, user, *place, Doing::Shopping);
                }
                VisitorChange::Arrived { .. }
                | VisitorChange::SlotFreed { .. }
                | VisitorChange::VisitorRemoved { .. }
                | VisitorChange::VisitorUnbanned { .. } => {}
            },
            Change::Hold(change) => match change {
                HoldChange::HoldPlaced { terms, until } => {
                    self.seats_changed |= !terms.lines.seats().is_empty();
                    if self.users.contains_key(&terms.user) {
                        self.watch_booking(&terms.user, &terms.booking, Some(*until), false);
                        self.tell_hold(at, &terms.booking, "held", Some(*until));
                    }
                }
                HoldChange::HoldExtended { booking, until, extension: _ } => {
                    self.hold_moved(at, booking, "held", *until)
                }
                HoldChange::HoldReleased { booking } => self.hold_ended(at, booking, "released"),
                HoldChange::HoldExpired { booking } => self.hold_expired(at, booking),
                HoldChange::HoldForgotten { booking } => self.forget(booking),
            },
            Change::Booking(change) => match change {
                BookingChange::PaymentBegun { booking, payment: _, until } => {
                    self.set_has_payment(booking, true);
                    self.hold_moved(at, booking, "paying", *until);
                }
                BookingChange::PaymentFailed { booking, payment: _, why: _, until } => {
                    self.set_has_payment(booking, false);
                    self.hold_moved(at, booking, "held", *until);
                }
                BookingChange::HoldConfirmed { booking, .. }
                | BookingChange::HoldConfirmedLate { booking, .. } => {
                    self.seats_changed = true;
                    self.tell_hold(at, booking, "confirmed", None);
                }
                BookingChange::ConfirmedCancelled { booking, reason: _, refund_minor: _ } => {
                    self.hold_ended(at, booking, "cancelled");
                }
                BookingChange::LatePaymentFailed { booking, .. } => self.forget(booking),
                BookingChange::PayerNamed { .. } | BookingChange::CheckedIn { .. } => {}
            },
            Change::Claim(_) => {}
        }
        None
    }

    fn line_moved(&mut self, at: Time) {
        self.moves += 1;
        self.moved_at = self.moved_at.max(at);
    }

    fn tell_phase(&self, at: Time, phase: Phase) {
        let message = Message::new(&Content::Phase { phase });
        for conn in self.users.values().flat_map(|watcher| &watcher.conns) {
            conn.tell(at, message.clone());
        }
    }

    /// A user's streams about a place, or about whichever of theirs is first, that have not begun
    /// with what was decided then.
    fn conns_about(&self, at: Time, user: &UserId, place: PlaceId) -> Vec<Arc<Conn>> {
        let Some(watcher) = self.users.get(user) else { return Vec::new() };
        let about =
            |conn: &&Arc<Conn>| conn.place.is_none_or(|wanted| wanted == place) && conn.is_news(at);
        watcher.conns.iter().filter(about).cloned().collect()
    }

    fn tell(&self, at: Time, user: &UserId, place: PlaceId, content: &Content<'_>) {
        let conns = self.conns_about(at, user, place);
        if !conns.is_empty() {
            let message = Message::new(content);
            conns.iter().for_each(|conn| conn.tell(at, message.clone()));
        }
    }

    /// Lets the next tick find out where the user stands, on streams whose visitor may have stopped
    /// `stopped`.
    fn look_again(&self, at: Time, user: &UserId, place: PlaceId, stopped: Doing) {
        for conn in self.conns_about(at, user, place) {
            if conn.doing() == stopped || conn.doing() != Doing::Shopping {
                conn.set_doing(Doing::WaitingFar);
                conn.seen_moves.store(u64::MAX, Ordering::Relaxed);
                // What was told just now may be news to a node's copy of the event.
                conn.set_as_of(None);
            }
        }
    }

    fn tell_hold(&self, at: Time, booking: &BookingId, status: &'static str, until: Option<Time>) {
        let owner = self.bookings.get(booking).and_then(|it| self.users.get(&it.user));
        if let Some(watcher) = owner {
            let message = Message::new(&Content::Hold { booking, status, until });
            watcher.conns.iter().for_each(|conn| conn.tell(at, message.clone()));
        }
    }

    fn hold_moved(&mut self, at: Time, booking: &BookingId, status: &'static str, until: Time) {
        if self.bookings.contains_key(booking) {
            self.expiring.insert((until, booking.clone()));
            self.tell_hold(at, booking, status, Some(until));
        }
    }

    fn hold_ended(&mut self, at: Time, booking: &BookingId, status: &'static str) {
        self.seats_changed = true;
        self.tell_hold(at, booking, status, None);
        self.forget(booking);
    }

    fn hold_expired(&mut self, at: Time, booking: &BookingId) {
        self.seats_changed = true;
        self.tell_hold(at, booking, "expired", None);
        // Money that is on its way may still confirm it.
        if self.bookings.get(booking).is_none_or(|it| !it.has_payment) {
            self.forget(booking);
        }
    }

    fn set_has_payment(&mut self, booking: &BookingId, has_payment: bool) {
        if let Some(watched) = self.bookings.get_mut(booking) {
            watched.has_payment = has_payment;
        }
    }

    /// Nothing more is told of a booking.
    fn forget(&mut self, booking: &BookingId) {
        if let Some(watched) = self.bookings.remove(booking)
            && let Some(watcher) = self.users.get_mut(&watched.user)
        {
            watcher.bookings.retain(|other| other != booking);
        }
    }
}
