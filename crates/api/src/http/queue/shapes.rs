//! Which place is meant, and what was left.

use crate::json::ids::{AsOfText, PlaceIdText};
use crate::json::words::words;
use onrush_core::ids::PlaceId;
use onrush_core::view::LeftFrom;
use onrush_store::AsOf;
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

/// Which of a visitor's places is looked at, and what they were told before.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhichLook {
    /// The place; if left out, the visitor's session if there is one, else their place that is served first.
    #[param(value_type = Option<PlaceIdText>, nullable = false)]
    pub place: Option<PlaceId>,
    /// `as_of` of the last answer, if it had one: this answer is of no earlier state, and may be a
    /// second old. Without it the answer is of the present state.
    #[param(value_type = Option<AsOfText>, nullable = false)]
    pub as_of: Option<AsOf>,
}

/// What was left.
#[derive(Debug, Serialize, ToSchema)]
pub struct Left {
    /// `queue` or `active`.
    #[schema(value_type = LeftFromText)]
    pub from: LeftFrom,
}

words!(
    /// What can be left.
    LeftFromText, "LeftFrom", LeftFrom
);
