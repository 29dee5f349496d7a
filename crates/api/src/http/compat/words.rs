//! What the inherited paths have in common: the inherited words for why not.

use crate::http::body::json;
use crate::json::ids::EventIdText;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::EventId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which event.
#[derive(Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
#[schema(as = InheritedEvent)]
pub struct OfEvent {
    /// The event.
    #[schema(value_type = EventIdText)]
    #[param(value_type = EventIdText)]
    pub(super) event_id: EventId,
}

/// That it was refused, and why in the inherited words. What they have no word for is a problem
/// document.
#[derive(Serialize, ToSchema)]
#[schema(as = InheritedRefusal)]
pub struct Refused {
    /// `false`.
    success: bool,
    /// Why.
    error: Word,
}

/// The inherited words for why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = InheritedError, rename_all = "snake_case")]
pub enum Word {
    /// Somebody else has the seat.
    SeatUnavailable,
    /// It is not the visitor's turn, or they are further on than this, or not so far.
    InvalidState,
    /// A payment is under way.
    CannotCancel,
    /// The visitor has nothing to give up.
    NotFound,
}

pub(in crate::http) fn refused(error: Word) -> Response {
    json(StatusCode::CONFLICT, &Refused { success: false, error })
}
