//! What the oracle keeps: the plainest records that the documents allow.

use onrush_core::Time;
use onrush_core::hold::{CheckIn, HoldState, HoldTerms};
use onrush_core::ids::{BookingId, ChannelId, ExtensionId, PayerId, PlaceId, UserId};
use onrush_core::limits::ENDED_KNOWN_MS;
use onrush_core::payers::PayerBy;
use onrush_core::prices::PriceStep;
use onrush_core::spec::{CategorySpec, PoolSpec, SeatSpec};
use onrush_core::types::TypeView;
use onrush_core::view::{
    CategoryView, ClaimState, ClaimView, HoldView, PoolView, SeatStatus, SeatView, Units,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first price and those to come, of what ever changed its price.
pub(super) type OtherPrices = (Option<i64>, Vec<PriceStep>);

/// Somebody in the queue.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) place: PlaceId,
    pub(super) user: UserId,
    pub(super) number: u32,
    /// `None` before the opening.
    pub(super) seen: Option<Time>,
}

/// Somebody in the room.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    pub(super) place: PlaceId,
    pub(super) user: UserId,
    pub(super) number: u32,
    pub(super) stay: Stay,
}

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stay {
    Invited { until: Time, arrive_by: Time },
    Active { until: Time },
    Over,
}

impl Stay {
    pub(super) fn lasts_at(self, at: Time) -> bool {
        match self {
            Self::Invited { until, arrive_by } => at < until && at < arrive_by,
            Self::Active { until } => at < until,
            Self::Over => false,
        }
    }
}

/// A pool's count of everything.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) spec: PoolSpec,
    pub(super) held: u32,
    pub(super) confirmed: u32,
    pub(super) claimed: u32,
    pub(super) by_services: u32,
    pub(super) blocked: BTreeMap<Box<str>, u32>,
    /// Free in channels.
    aside: BTreeMap<ChannelId, u32>,
}

impl Pool {
    pub(super) fn new(spec: PoolSpec) -> Self {
        let (blocked, aside) = (BTreeMap::new(), BTreeMap::new());
        Self { spec, held: 0, confirmed: 0, claimed: 0, by_services: 0, blocked, aside }
    }

    fn off_sale(&self) -> u32 {
        self.blocked.values().sum::<u32>() + self.aside.values().sum::<u32>()
    }

    /// Units that are free in a channel, or for everybody.
    pub(super) fn free_for(&self, channel: Option<&ChannelId>) -> u32 {
        match channel {
            Some(channel) => self.aside.get(channel).copied().unwrap_or(0),
            None => self.free(),
        }
    }

    /// Moves free units between channels and everybody's stock.
    pub(super) fn move_aside(
        &mut self,
        units: u32,
        from: Option<&ChannelId>,
        to: Option<&ChannelId>,
    ) {
        if let Some(from) = from {
            *self.aside.entry(from.clone()).or_default() -= units;
        }
        if let Some(to) = to {
            *self.aside.entry(to.clone()).or_default() += units;
        }
        self.aside.retain(|_, units| *units > 0);
    }

    pub(super) fn taken(&self) -> u32 {
        self.held + self.confirmed + self.claimed + self.by_services + self.off_sale()
    }

    pub(super) fn free(&self) -> u32 {
        self.spec.capacity.saturating_sub(self.taken())
    }

    /// What visitors and services claimed together.
    pub(super) fn all_claimed(&self) -> u32 {
        self.claimed + self.by_services
    }

    pub(super) fn view(&self, (first_minor, later): OtherPrices, types: Vec<TypeView>) -> PoolView {
        PoolView {
            pool: self.spec.pool.clone(),
            price_minor: self.spec.price_minor,
            first_minor,
            later,
            types,
            capacity: self.spec.capacity,
            units: Units {
                free: self.free(),
                held: self.held,
                sold: self.confirmed + self.all_claimed(),
                blocked: self.off_sale(),
            },
            claimed: self.all_claimed(),
            claimed_by_services: self.by_services,
            blocked_why: self.blocked.iter().map(|(why, n)| (why.clone(), *n)).collect(),
            allotted: self.aside.iter().map(|(channel, n)| (channel.clone(), *n)).collect(),
        }
    }
}

/// Whose a seat is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Owner {
    Nobody,
    Held(BookingId),
    Sold(BookingId),
    Organiser(Box<str>),
    /// Free in a channel.
    Channel(ChannelId),
}

/// A seat.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) spec: SeatSpec,
    pub(super) owner: Owner,
}

impl Seat {
    fn status(&self) -> SeatStatus {
        match self.owner {
            Owner::Nobody => SeatStatus::Free,
            Owner::Held(_) => SeatStatus::Held,
            Owner::Sold(_) => SeatStatus::Sold,
            Owner::Organiser(_) | Owner::Channel(_) => SeatStatus::Blocked,
        }
    }

    pub(super) fn view(&self) -> SeatView {
        let (booking, why, channel) = match &self.owner {
            Owner::Nobody => (None, None, None),
            Owner::Held(booking) | Owner::Sold(booking) => (Some(booking.clone()), None, None),
            Owner::Organiser(why) => (None, Some(why.clone()), None),
            Owner::Channel(channel) => (None, None, Some(channel.clone())),
        };
        SeatView {
            seat: self.spec.seat.clone(),
            category: self.spec.category.as_ref().into(),
            status: self.status(),
            booking,
            why,
            channel,
        }
    }
}

/// The seats of one category, added up.
pub(super) fn category_view(
    category: &CategorySpec,
    seats: &[Seat],
    (first_minor, later): OtherPrices,
    types: Vec<TypeView>,
) -> CategoryView {
    let mut units = Units::default();
    let mut aside: BTreeMap<ChannelId, u32> = BTreeMap::new();
    for seat in seats.iter().filter(|seat| seat.spec.category == category.name) {
        match seat.status() {
            SeatStatus::Free => units.free += 1,
            SeatStatus::Held => units.held += 1,
            SeatStatus::Sold => units.sold += 1,
            SeatStatus::Blocked => units.blocked += 1,
        }
        if let Owner::Channel(channel) = &seat.owner {
            *aside.entry(channel.clone()).or_default() += 1;
        }
    }
    CategoryView {
        name: category.name.clone(),
        price_minor: category.price_minor,
        first_minor,
        later,
        types,
        units,
        allotted: aside.into_iter().collect(),
    }
}

/// A booking.
#[derive(Clone, Debug)]
pub(super) struct Booking {
    pub(super) terms: Arc<HoldTerms>,
    pub(super) state: HoldState,
    pub(super) payments: u8,
    pub(super) extensions: u8,
    /// Those of them that had a name.
    pub(super) extensions_named: Vec<ExtensionId>,
    pub(super) checked_in: Vec<CheckIn>,
    /// One of each kind at most.
    pub(super) payers: Vec<(PayerBy, PayerId)>,
}

impl Booking {
    /// When its id may be forgotten: a day after an end that owes nobody anything.
    pub(super) fn forgotten_at(&self) -> Option<Time> {
        match self.state {
            HoldState::Released { at }
            | HoldState::Expired { at, payment: None }
            | HoldState::Cancelled { at, .. } => Some(at.plus_ms(ENDED_KNOWN_MS)),
            HoldState::Expired { payment: Some(_), .. }
            | HoldState::Held { .. }
            | HoldState::Paying { .. }
            | HoldState::Confirmed { .. } => None,
        }
    }

    pub(super) fn view(&self) -> HoldView {
        HoldView {
            terms: Arc::clone(&self.terms),
            state: self.state.clone(),
            payments: self.payments,
            extensions: self.extensions,
            checked_in: self.checked_in.clone(),
        }
    }
}

/// When a claim's id may be forgotten.
pub(super) fn claim_forgotten_at(claim: &ClaimView) -> Option<Time> {
    match claim.state {
        ClaimState::Claimed { .. } => None,
        ClaimState::Returned { at } | ClaimState::Expired { at } | ClaimState::Adjusted { at } => {
            Some(at.plus_ms(ENDED_KNOWN_MS))
        }
    }
}
