//! Removing and banning visitors.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::shapes::page::page_size;
use crate::http::shapes::reason::reasoned;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, FreeText, IdText, TimeMs};
use axum::extract::State;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_core::question::BansAfter;
use onrush_core::view::{BanView, RemovedView};
use onrush_core::{Command, Time};
use onrush_store::Ask;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Why a visitor is removed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// Read over: who asks is the key's name.
    #[serde(default)]
    #[schema(value_type = serde_json::Value, deprecated)]
    by: IgnoredAny,
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
    /// Whether they may take no place, hold or claim in this event from now on.
    #[serde(default)]
    ban: bool,
}

/// What was taken from a visitor.
#[derive(Serialize, ToSchema)]
pub struct RemovedBody {
    /// Whom.
    #[schema(value_type = IdText)]
    user: UserId,
    /// Waiting places that were given up.
    places: u32,
    /// Whether a session ended.
    session_ended: bool,
    /// Holds that were released.
    released: u32,
    /// Bookings whose payment runs: they stay until it has ended.
    #[schema(value_type = Vec<IdText>)]
    paying: Vec<BookingId>,
    /// Whether they are banned.
    banned: bool,
}

impl From<RemovedView> for RemovedBody {
    fn from(view: RemovedView) -> Self {
        let RemovedView { user, places, session, released, paying, banned } = view;
        Self { user, places, session_ended: session, released, paying, banned }
    }
}

/// Takes places, session and unpaid holds from a visitor, in one decision, and bans them from the
/// event if wished.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/visitors/{user}/remove", tag = "admin",
    params(("event" = EventIdText, Path), ("user" = IdText, Path)),
    request_body = Removal,
    responses((status = 200, description = "What was taken", body = RemovedBody), WriteProblems),
)]
pub async fn remove_visitor(
    State(sale): State<Arc<Sale>>,
    Ids((event, user)): Ids<(EventId, UserId)>,
    operator: Operator,
    JsonBody(Removal { by: IgnoredAny, why, ban }): JsonBody<Removal>,
) -> Result<Json<RemovedBody>, Problem> {
    let command = Command::RemoveVisitor { user, reason: operator.because(why), ban };
    let view: RemovedView = sale.run(&event, command).await?;
    Ok(Json(RemovedBody::from(view)))
}

reasoned! {
    /// Why a ban ends.
    Unban {}
}

/// A visitor who is not banned.
#[derive(Serialize, ToSchema)]
pub struct UnbannedBody {
    /// Whom.
    #[schema(value_type = IdText)]
    user: UserId,
    /// Always false.
    banned: bool,
}

/// Ends a ban; nothing changes for somebody who is not banned.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/visitors/{user}/unban", tag = "admin",
    params(("event" = EventIdText, Path), ("user" = IdText, Path)),
    request_body = Unban,
    responses((status = 200, description = "They are not banned", body = UnbannedBody), WriteProblems),
)]
pub async fn unban_visitor(
    State(sale): State<Arc<Sale>>,
    Ids((event, user)): Ids<(EventId, UserId)>,
    operator: Operator,
    JsonBody(Unban { why, .. }): JsonBody<Unban>,
) -> Result<Json<UnbannedBody>, Problem> {
    let command = Command::UnbanVisitor { user: user.clone(), reason: operator.because(why) };
    sale.run::<()>(&event, command).await?;
    Ok(Json(UnbannedBody { user, banned: false }))
}

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BansQuery {
    /// Where the page begins: the `next` of the one before.
    #[param(value_type = Option<IdText>, nullable = false)]
    after: Option<UserId>,
    /// How many at most; 100 if left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
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
)]
pub async fn bans(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    Strict(BansQuery { after, limit }): Strict<BansQuery>,
) -> Result<Json<BansBody>, Problem> {
    let limit = page_size(limit)?;
    // One more tells whether there is another page.
    let at_most = u32::try_from(limit).map_or(u32::MAX, |limit| limit + 1);
    let mut bans = sale.engine.ask(event, BansAfter { after, at_most }).await?.value;
    let is_last = bans.len() <= limit;
    bans.truncate(limit);
    let next = bans.last().filter(|_| !is_last).map(|ban| ban.user.clone());
    let bans = bans.into_iter().map(BanBody::from).collect();
    Ok(Json(BansBody { bans, next }))
}
