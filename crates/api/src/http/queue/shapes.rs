//! Which place is meant, and what was left.

use crate::json::ids::PlaceIdText;
use onrush_core::ids::PlaceId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which of a visitor's places is meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhichPlace {
    /// The place; if left out, the visitor's session if there is one, else their place that is served first.
    #[param(value_type = Option<PlaceIdText>, nullable = false)]
    pub place: Option<PlaceId>,
}

/// What was left.
#[derive(Debug, Serialize, ToSchema)]
pub struct Left {
    /// `queue` or `active`.
    #[schema(value_type = LeftFromText)]
    pub from: onrush_core::view::LeftFrom,
}

/// What can be left.
#[derive(ToSchema)]
#[schema(as = LeftFrom, rename_all = "snake_case")]
pub enum LeftFromText {
    /// A place in the queue.
    Queue,
    /// A session.
    Active,
}
