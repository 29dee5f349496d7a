//! One event: its state, what a command would change, and how changes add up.

mod decide_booking;
mod decide_channel;
mod decide_claim;
mod decide_limits;
mod decide_money;
mod decide_organiser;
mod decide_payer;
mod decide_removal;
mod decide_types;
mod decide_visitor;
mod evolve;
mod evolve_channel;
mod price;
mod query;
mod tick;

use crate::bans::Bans;
use crate::bookings::Bookings;
use crate::change::{Change, SaleChange};
use crate::channels::Channels;
use crate::claims::Claims;
use crate::command::Command;
use crate::gaps::Gaps;
use crate::ids::{BookingId, EventId, UserId};
use crate::payers::Payers;
use crate::phase::Phase;
use crate::prices::Prices;
use crate::refusal::Refusal;
use crate::seats::Seats;
use crate::settings::{RoomSettings, Settings};
use crate::stock::Stock;
use crate::time::Time;
use crate::types::TicketTypes;
use crate::users::{User, Users};
use crate::view::Reply;
use crate::waiting_room::WaitingRoom;
use decide_booking::HoldWish;
use smallvec::{SmallVec, smallvec};

/// What a command would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer to the caller, valid once the changes are applied and durable.
    pub reply: Reply,
    /// What changes; empty if nothing does.
    pub changes: Changes,
}

/// The changes of one decision; most have one or two.
pub type Changes = SmallVec<[Change; 2]>;

impl Decision {
    /// An answer that changes nothing.
    fn nothing(reply: Reply) -> Self {
        Self { reply, changes: Changes::new() }
    }

    /// One change, and this to say about it.
    fn one(reply: Reply, change: impl Into<Change>) -> Self {
        Self { reply, changes: smallvec![change.into()] }
    }

    /// One change, and nothing to say about it.
    fn done(change: impl Into<Change>) -> Self {
        Self::one(Reply::Done, change)
    }
}

/// One event's state.
///
/// [`decide`](Self::decide) reads it, [`evolve`](Self::evolve) writes it, and nothing else does.
#[derive(Debug)]
pub struct Event {
    pub(crate) id: EventId,
    /// `None` until the event is created, and once it is archived.
    pub(crate) settings: Option<Settings>,
    /// When it was archived; nothing else is left then.
    pub(crate) archived: Option<Time>,
    pub(crate) phase: Phase,
    /// The time of the last change; time never goes back.
    pub(crate) at: Time,
    /// Whether the sale was ever opened: from then on places lapse.
    pub(crate) opened: bool,
    /// When the engine was away.
    pub(crate) gaps: Gaps,
    pub(crate) users: Users,
    pub(crate) room: WaitingRoom,
    pub(crate) stock: Stock,
    pub(crate) seats: Seats,
    pub(crate) prices: Prices,
    pub(crate) types: TicketTypes,
    pub(crate) channels: Channels,
    pub(crate) bookings: Bookings,
    pub(crate) payers: Payers,
    pub(crate) claims: Claims,
    pub(crate) bans: Bans,
}

impl Event {
    /// An event that does not exist yet: it accepts only `CreateEvent`.
    #[must_use]
    pub fn new(id: EventId) -> Self {
        Self {
            id,
            settings: None,
            archived: None,
            phase: Phase::Scheduled,
            at: Time::MIN,
            opened: false,
            gaps: Gaps::default(),
            users: Users::default(),
            room: WaitingRoom::default(),
            stock: Stock::default(),
            seats: Seats::default(),
            prices: Prices::default(),
            types: TicketTypes::default(),
            channels: Channels::default(),
            bookings: Bookings::default(),
            payers: Payers::default(),
            claims: Claims::default(),
            bans: Bans::default(),
        }
    }

    /// The event's id.
    #[must_use]
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// When the event was archived; `None` if it was not. One that was refuses everything.
    #[must_use]
    pub fn archived_at(&self) -> Option<Time> {
        self.archived
    }

    /// Records that the state is made of, but for a few: users, places that wait or are gone, bookings,
    /// claims, seats. What it takes in memory goes by their number.
    #[must_use]
    pub fn records(&self) -> usize {
        let gone = self.room.gone.len();
        let places = self.room.waiting() as usize + gone;
        self.users.len() + places + self.bookings.len() + self.claims.len() + self.seats.len()
    }

    /// Why there is nothing of an event that has no settings.
    pub(super) fn missing(&self) -> Refusal {
        match self.archived {
            Some(archived_at) => Refusal::EventArchived { archived_at },
            None => Refusal::EventNotFound,
        }
    }

    /// What `command` would change at `at`. Reads only.
    ///
    /// # Errors
    /// The refusal that comes first in the order of precedence.
    pub fn decide(&self, at: Time, command: &Command) -> Result<Decision, Refusal> {
        if let Command::CreateEvent { settings } = command {
            return self.decide_create(at, settings);
        }
        let settings = self.settings.as_ref().ok_or_else(|| self.missing())?;
        match command {
            Command::CreateEvent { .. } => Err(Refusal::EventExists),
            Command::ChangeSettings { settings } => self.decide_settings(at, settings),
            Command::AddPool { spec } => self.decide_add_pool(spec),
            Command::AdjustCapacity { pool, capacity, reason } => {
                self.decide_capacity(pool, *capacity, reason)
            }
            Command::AddSeats { categories, seats } => self.decide_add_seats(categories, seats),
            Command::ChangePrice { of, price_minor, later, reason } => {
                self.decide_price(at, of, *price_minor, later, reason)
            }
            Command::SetTypes { of, types, reason } => self.decide_set_types(of, types, reason),
            Command::Block { lines, reason } => self.decide_block(lines, reason),
            Command::Unblock { lines, reason } => self.decide_unblock(lines, reason),
            Command::SetChannel { spec, reason } => self.decide_set_channel(at, spec, reason),
            Command::Allot { lines, from, to, reason } => {
                self.decide_allot(lines, from.as_ref(), to.as_ref(), reason)
            }
            Command::ReleaseChannel { channel, into, reason } => {
                self.decide_release_channel(channel, into.as_ref(), reason)
            }
            Command::OpenPrequeue => self.decide_open_prequeue(),
            Command::ClosePrequeue => self.decide_close_prequeue(),
            Command::OpenSale { seed, public_value } => {
                self.decide_open_sale(*seed, public_value.as_deref())
            }
            Command::Pause => self.decide_pause(at),
            Command::Resume => self.decide_resume(at),
            Command::Close => self.decide_close(),
            Command::Archive { reason } => self.decide_archive(at, settings, reason),

            Command::Join { place, user } => self.decide_join(at, *place, user),
            Command::Leave { place, user } => self.decide_leave(at, *place, user),
            Command::See { place, user } => self.decide_see(at, *place, user),
            Command::Arrive { place, user } => self.decide_arrive(at, *place, user),

            Command::Hold { booking, user, lines, channels, types } => {
                let wish = HoldWish { booking, user, channels, types };
                self.decide_hold(at, settings, wish, lines)
            }
            Command::HoldBest { booking, user, order, channels, types } => {
                let wish = HoldWish { booking, user, channels, types };
                self.decide_hold_best(at, settings, wish, order)
            }
            Command::Extend { booking, user, extension } => {
                self.decide_extend(at, settings, booking, user, *extension)
            }
            Command::Release { booking, user } => self.decide_release(at, booking, user),
            Command::NamePayer { booking, user, by, payer } => {
                self.decide_name_payer(at, settings, booking, user, *by, *payer)
            }
            Command::BeginPayment { booking, user, payment } => {
                self.decide_begin_payment(at, settings, booking, user, payment)
            }
            Command::FailPayment { booking, payment, why, then } => {
                self.decide_fail_payment(at, booking, payment, why, *then)
            }
            Command::Confirm { booking, user, payment } => {
                self.decide_confirm(at, booking, user, payment.as_ref())
            }
            Command::CancelConfirmed { booking, reason, terms } => {
                self.decide_cancel(at, settings, booking, reason, terms)
            }
            Command::CheckIn { booking, ticket, scan } => {
                self.decide_check_in(at, booking, *ticket, *scan)
            }

            Command::Claim { claim, user, pool, quantity, ttl_ms } => {
                self.decide_claim(at, claim, user, pool, *quantity, *ttl_ms)
            }
            Command::Declaim { claim, user } => self.decide_declaim(at, claim, user),
            Command::AdjustClaimed { claim, pool, amount, reason } => {
                self.decide_adjust_claimed(at, claim, pool, *amount, reason)
            }

            Command::RemoveVisitor { user, reason, ban } => {
                self.decide_remove_visitor(user, reason, *ban)
            }
            Command::UnbanVisitor { user, reason } => self.decide_unban_visitor(user, reason),

            Command::Tick => Ok(self.decide_tick(at, settings)),
            Command::Recover { gap_ms } => {
                let gap_ms = *gap_ms;
                if gap_ms > 0 {
                    Ok(Decision::done(SaleChange::Resumed { gap_ms }))
                } else {
                    Err(Refusal::InvalidSettings {
                        field: None,
                        why: "gap_ms: use a positive number".into(),
                    })
                }
            }
        }
    }

    /// The phase at `at`: a closing time counts even before its tick.
    fn phase_at(&self, at: Time) -> Phase {
        let closes_at = self.settings.as_ref().and_then(|settings| settings.closes_at);
        if closes_at.is_some_and(|closes_at| closes_at <= at) { Phase::Closed } else { self.phase }
    }

    fn room_settings(&self) -> Option<&RoomSettings> {
        self.settings.as_ref()?.room.as_ref()
    }

    /// Whether there is anything that this event sells.
    fn has_stock(&self) -> bool {
        self.stock.iter().len() > 0 || self.seats.len() > 0
    }

    /// Units on sale to everybody.
    fn units_on_sale(&self) -> u64 {
        self.stock.free() + u64::from(self.seats.free())
    }

    /// Units that people are let in to: those on sale, and those that may be had through channels whose
    /// buyers come through the waiting room.
    fn units_for_the_line(&self) -> u64 {
        let in_channels = self.channels.queued().map(|(number, channel)| {
            let of_pools = self.stock.free_in(&channel.spec.channel);
            let free = of_pools + u64::from(self.seats.free_in(number));
            channel.left().map_or(free, |left| free.min(left.into()))
        });
        self.units_on_sale() + in_channels.sum::<u64>()
    }

    fn user(&self, user: &UserId) -> Option<&User> {
        self.users.get(user)
    }

    /// The user's own booking; another's is as good as none.
    fn booking_of(
        &self,
        booking: &BookingId,
        user: &UserId,
    ) -> Result<&crate::bookings::Hold, Refusal> {
        let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
        if hold.terms.user == *user { Ok(hold) } else { Err(Refusal::ReservationNotFound) }
    }
}
