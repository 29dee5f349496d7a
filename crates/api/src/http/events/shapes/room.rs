//! Settings of the waiting room.

use super::change::{given, set, whole};
use crate::json::ids::{
    DurationNumber, FreeText, LimitNumber, PlacesNumber, QueueSizeNumber, RoomCapacityNumber,
    UnitsPerVisitorNumber,
};
use crate::json::whole::Whole;
use onrush_core::settings::{Digest, Order, RoomSettings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The order of the people in the prequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Order)]
pub enum OrderName {
    /// First come, first served.
    Fifo,
    /// By lot, from a seed that is committed to when the event is made.
    Draw,
}

/// The waiting room, as it is shown.
#[derive(Serialize, ToSchema)]
#[schema(as = Room)]
pub struct RoomBody {
    capacity: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outflow_per_min: Option<u32>,
    session_ms: i64,
    place_ttl_ms: i64,
    arrive_ms: i64,
    max_queue_size: u32,
    places_per_user: u32,
    units_per_visitor: u32,
    order: OrderName,
    /// Which public value is mixed into the draw; missing if none was promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FreeText>, nullable = false)]
    public_value_source: Option<Box<str>>,
}

impl RoomBody {
    /// What is shown of a room.
    #[must_use]
    pub fn new(room: &RoomSettings) -> Self {
        Self {
            capacity: room.capacity,
            outflow_per_min: room.outflow_per_min,
            session_ms: room.session_ms,
            place_ttl_ms: room.place_ttl_ms,
            arrive_ms: room.arrive_ms,
            max_queue_size: room.max_queue_size,
            places_per_user: room.places_per_user,
            units_per_visitor: room.units_per_visitor,
            order: match room.order {
                Order::Fifo => OrderName::Fifo,
                Order::Draw { seed_hash: _ } => OrderName::Draw,
            },
            public_value_source: room.public_value_source.clone(),
        }
    }
}

/// Changes to a waiting room; what is left out stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomChange {
    /// Admitted visitors at a time.
    #[schema(value_type = Option<RoomCapacityNumber>)]
    capacity: Option<Whole<u32>>,
    /// Admissions a minute at most; `null` is no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<LimitNumber>)]
    outflow_per_min: Option<Option<Whole<u32>>>,
    /// How long an admitted visitor may shop.
    #[schema(value_type = Option<DurationNumber>)]
    session_ms: Option<Whole<i64>>,
    /// How long a place waits for a visitor who is not seen.
    #[schema(value_type = Option<DurationNumber>)]
    place_ttl_ms: Option<Whole<i64>>,
    /// How long an admitted visitor has to show up.
    #[schema(value_type = Option<DurationNumber>)]
    arrive_ms: Option<Whole<i64>>,
    /// People waiting at a time.
    #[schema(value_type = Option<QueueSizeNumber>)]
    max_queue_size: Option<Whole<u32>>,
    /// Places one user may take; 1 in an event with a draw.
    #[schema(value_type = Option<PlacesNumber>)]
    places_per_user: Option<Whole<u32>>,
    /// Units to reckon for each visitor who is in the room and has taken nothing yet: nobody is
    /// admitted who would find fewer left.
    #[schema(value_type = Option<UnitsPerVisitorNumber>)]
    units_per_visitor: Option<Whole<u32>>,
    /// The order of the people in the prequeue.
    #[schema(value_type = Option<OrderName>)]
    order: Option<OrderName>,
    /// Which public value is mixed into the draw, as those who wait are told; the sale opens with one
    /// only then. It is fixed once the prequeue is closed; `null` promises none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<FreeText>)]
    public_value_source: Option<Option<Box<str>>>,
}

impl RoomChange {
    /// Whether this asks for a draw that `room` does not have.
    pub(super) fn wants_new_draw(&self, room: Option<&RoomSettings>) -> bool {
        let has_draw = room.is_some_and(|room| matches!(room.order, Order::Draw { .. }));
        self.order == Some(OrderName::Draw) && !has_draw
    }

    /// Applies the changes; `seed_hash` is there if a new draw is wanted.
    pub fn apply(self, room: &mut RoomSettings, seed_hash: Option<Digest>) {
        set(&mut room.capacity, whole(self.capacity));
        set(&mut room.outflow_per_min, self.outflow_per_min.map(whole));
        set(&mut room.session_ms, whole(self.session_ms));
        set(&mut room.place_ttl_ms, whole(self.place_ttl_ms));
        set(&mut room.arrive_ms, whole(self.arrive_ms));
        set(&mut room.max_queue_size, whole(self.max_queue_size));
        set(&mut room.places_per_user, whole(self.places_per_user));
        set(&mut room.units_per_visitor, whole(self.units_per_visitor));
        set(&mut room.public_value_source, self.public_value_source);
        match (self.order, seed_hash) {
            (Some(OrderName::Fifo), _) => room.order = Order::Fifo,
            (Some(OrderName::Draw), Some(seed_hash)) => room.order = Order::Draw { seed_hash },
            (Some(OrderName::Draw) | None, _) => {}
        }
    }
}
