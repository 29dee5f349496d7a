//! `GET /admin/events/{event}/bans`.

use crate::http::body::json;
use crate::http::caller::{Admin, Ids, Strict};
use crate::http::faults::odd_answer;
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::App;
use crate::json::ids::{EventIdText, IdText, TimeMs};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::{EventId, UserId};
use onrush_core::view::BanView;
use onrush_core::{Query, Time, View};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// The longest page.
const MAX_PAGE: u32 = 1_000;

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BansQuery {
    /// Where the page begins: the `next` of the one before.
    #[param(value_type = Option<IdText>, nullable = false)]
    after: Option<UserId>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<u32>,
}

/// A page of banned visitors.
#[derive(Serialize, ToSchema)]
pub struct BansBody {
    /// By user id.
    bans: Vec<BanBody>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    next: Option<UserId>,
}

/// A banned visitor.
#[derive(Serialize, ToSchema)]
#[schema(as = Ban)]
pub struct BanBody {
    /// Whom.
    #[schema(value_type = IdText)]
    user: UserId,
    /// Who banned them.
    #[schema(value_type = String)]
    by: Box<str>,
    /// Why.
    #[schema(value_type = String)]
    why: Box<str>,
    /// Since when.
    #[schema(value_type = TimeMs)]
    at: Time,
}

impl From<BanView> for BanBody {
    fn from(BanView { user, reason, at }: BanView) -> Self {
        Self { user, by: reason.by, why: reason.why, at }
    }
}

/// Who is banned from an event.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/bans", tag = "admin",
    params(("event" = EventIdText, Path), BansQuery),
    responses((status = 200, description = "A page of them", body = BansBody), ReadProblems),
    security(("admin" = []))
)]
pub async fn bans(
    State(app): State<Arc<App>>,
    Ids(event): Ids<EventId>,
    _: Admin,
    Strict(BansQuery { after, limit }): Strict<BansQuery>,
) -> Result<Response, Problem> {
    let limit = limit.unwrap_or(100);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Problem::new(Code::InvalidQuery, "limit: use 1 to 1000"));
    }
    // One more tells whether there is another page.
    let query = Query::Bans { after, at_most: limit + 1 };
    let mut bans = match app.engine.query(event, query).await?.value {
        View::Bans(bans) => bans,
        View::Event(_)
        | View::Availability(_)
        | View::Seats(_)
        | View::Place(_)
        | View::Booking(_)
        | View::Bookings(_)
        | View::Claim(_) => return Err(odd_answer()),
    };
    let is_last = bans.len() <= limit as usize;
    bans.truncate(limit as usize);
    let next = bans.last().filter(|_| !is_last).map(|ban| ban.user.clone());
    let bans = bans.into_iter().map(BanBody::from).collect();
    Ok(json(StatusCode::OK, &BansBody { bans, next }))
}
