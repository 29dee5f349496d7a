//! A visitor's place or session.

use crate::json::ids::{AsOfText, PlaceIdText, TimeMs};
use onrush_core::Time;
use onrush_core::ids::PlaceId;
use onrush_core::view::{PlaceState, PlaceView};
use onrush_store::AsOf;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a visitor stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Place)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlaceBody {
    /// In the queue.
    Queued {
        /// The place.
        #[schema(value_type = PlaceIdText)]
        place: PlaceId,
        /// Its number in the order taken, from 1.
        number: u32,
        /// 1 is served next; missing before a draw.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        position: Option<u32>,
        /// People waiting.
        total: u32,
        /// When the place lapses unless the visitor is seen; missing before the opening.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<TimeMs>, nullable = false)]
        lapses_at: Option<Time>,
        /// How far the event had come: pass it back with the next question where the visitor stands.
        /// Missing where one process runs the event.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<AsOfText>, nullable = false)]
        as_of: Option<AsOf>,
    },
    /// Admitted.
    Active {
        /// The place.
        #[schema(value_type = PlaceIdText)]
        place: PlaceId,
        /// Its number in the order taken, from 1.
        number: u32,
        /// When the session ends.
        #[schema(value_type = TimeMs)]
        until: Time,
        /// Until when the visitor must show up; missing once they have.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<TimeMs>, nullable = false)]
        arrive_by: Option<Time>,
        /// The signed pass; missing if the session is about to end.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        pass: Option<String>,
    },
    /// The session is over, and what the visitor holds keeps the slot: pay for it, give it back or
    /// leave, then join again.
    Ended {
        /// The place.
        #[schema(value_type = PlaceIdText)]
        place: PlaceId,
        /// Its number in the order taken, from 1.
        number: u32,
        /// When the last hold runs out, and the slot with it.
        #[schema(value_type = TimeMs)]
        until: Time,
    },
    /// Neither.
    NotFound,
}

impl PlaceBody {
    /// What a visitor is shown; `pass` makes the pass of an active one, given the place and the
    /// session's end.
    pub fn new(view: &PlaceView, pass: impl FnOnce(PlaceId, Time) -> Option<String>) -> Self {
        let PlaceView { place, number, ref state } = *view;
        match *state {
            PlaceState::Queued { position, total, lapses_at, see_due: _ } => {
                Self::Queued { place, number, position, total, lapses_at, as_of: None }
            }
            PlaceState::Active { until, arrive_by, see_due: _ } => {
                Self::Active { place, number, until, arrive_by, pass: pass(place, until) }
            }
            PlaceState::Ended { until } => Self::Ended { place, number, until },
        }
    }

    /// The same, saying how far the event had come.
    #[must_use]
    pub fn told(mut self, known: Option<AsOf>) -> Self {
        if let Self::Queued { as_of, .. } = &mut self {
            *as_of = known;
        }
        self
    }
}
