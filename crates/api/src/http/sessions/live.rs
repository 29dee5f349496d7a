//! Sessions that live: who is signed in, and ending that; and which keys there are.

use crate::http::body::Json;
use crate::http::caller::{Ids, Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::sessions::sign_in::Scope;
use crate::http::state::Callers;
use crate::json::ids::{IdText, TimeMs};
use axum::extract::State;
use onrush_base::config::keys::Scope as KeyScope;
use onrush_core::Time;
use onrush_core::ids::{ChannelId, PoolId};
use onrush_ledger::session::{BrowserSession, SessionsOf};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Sessions of browsers.
#[derive(Serialize, ToSchema)]
pub struct LiveSessions {
    /// The latest used first.
    sessions: Vec<LiveSession>,
}

/// Somebody who is signed in with a browser.
#[derive(Serialize, ToSchema)]
pub struct LiveSession {
    /// The session's id; it signs nobody in.
    session: String,
    /// Whose key.
    name: String,
    /// From which address they signed in.
    address: String,
    /// When.
    #[schema(value_type = TimeMs)]
    begun_at: Time,
    /// When it was used last, to the minute.
    #[schema(value_type = TimeMs)]
    seen_at: Time,
    /// When it is over at the latest.
    #[schema(value_type = TimeMs)]
    ends_at: Time,
}

impl From<BrowserSession> for LiveSession {
    fn from(session: BrowserSession) -> Self {
        let BrowserSession { id, name, address, begun_at, seen_at, ends_at } = session;
        Self { session: id, name, address, begun_at, seen_at, ends_at }
    }
}

/// Who is signed in with a browser.
#[utoipa::path(
    get, path = "/api/v1/admin/sessions", tag = "admin", operation_id = "live_sessions",
    responses((status = 200, description = "All sessions that live", body = LiveSessions), ReadProblems),
)]
pub async fn sessions(
    State(callers): State<Arc<Callers>>,
    _: Operator,
) -> Result<Json<LiveSessions>, Problem> {
    let live = callers.ledger.live_sessions(callers.clock.now(), callers.idle_ms()).await?;
    // Whose key is gone has no session any more, whatever is written down.
    let live = live.into_iter().filter(|session| callers.sessions.knows(&session.name));
    let sessions = live.map(LiveSession::from).collect();
    Ok(Json(LiveSessions { sessions }))
}

/// Whose sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EndQuery {
    /// Only those of this key; everybody's, also your own, if left out.
    #[param(nullable = false)]
    name: Option<String>,
}

/// How many.
#[derive(Serialize, ToSchema)]
pub struct EndedSessions {
    /// Sessions that ended.
    ended: u64,
}

/// Signs everybody out, or all browsers of one key.
#[utoipa::path(
    delete, path = "/api/v1/admin/sessions", tag = "admin",
    params(EndQuery),
    responses((status = 200, description = "They are signed out", body = EndedSessions), ReadProblems),
)]
pub async fn end_sessions(
    State(callers): State<Arc<Callers>>,
    _: Operator,
    Strict(EndQuery { name }): Strict<EndQuery>,
) -> Result<Json<EndedSessions>, Problem> {
    let which = name.map_or(SessionsOf::Everybody, SessionsOf::Key);
    let ended = end(&callers, which).await?;
    Ok(Json(EndedSessions { ended }))
}

/// Signs one browser out; nothing happens if it is signed out.
#[utoipa::path(
    delete, path = "/api/v1/admin/sessions/{session}", tag = "admin",
    params(("session" = IdText, Path)),
    responses((status = 200, description = "It is signed out", body = EndedSessions), ReadProblems),
)]
pub async fn end_one_session(
    State(callers): State<Arc<Callers>>,
    Ids(session): Ids<PoolId>,
    _: Operator,
) -> Result<Json<EndedSessions>, Problem> {
    let which = SessionsOf::Id(session.as_str().to_owned());
    let ended = end(&callers, which).await?;
    Ok(Json(EndedSessions { ended }))
}

/// Ends sessions and, at once where this node has them, their streams; says how many sessions.
pub(super) async fn end(callers: &Callers, which: SessionsOf) -> Result<u64, Problem> {
    let ended = callers.ledger.end_sessions(which).await?;
    callers.session_streams.look();
    Ok(ended)
}

/// Keys of people and services.
#[derive(Serialize, ToSchema)]
pub struct Keys {
    /// As the settings have them, the old ones first.
    keys: Vec<KeyBody>,
}

/// A key; what it is made of nobody knows here.
#[derive(Serialize, ToSchema)]
#[schema(as = NamedKey)]
pub struct KeyBody {
    /// Who has it.
    name: String,
    /// What it gives the right to.
    #[schema(value_type = Vec<Scope>)]
    scopes: Vec<KeyScope>,
    /// The channels that it may hold from, for others.
    #[schema(value_type = Vec<IdText>)]
    channels: Vec<ChannelId>,
}

/// Which keys there are, and what they give the right to.
#[utoipa::path(
    get, path = "/api/v1/admin/keys", tag = "admin", operation_id = "named_keys",
    responses((status = 200, description = "All keys", body = Keys), ReadProblems),
)]
pub async fn keys(State(callers): State<Arc<Callers>>, _: Operator) -> Result<Json<Keys>, Problem> {
    let keys = callers.keys.iter().map(|key| KeyBody {
        name: key.name.to_string(),
        scopes: key.scopes.clone(),
        channels: key.channels.clone(),
    });
    Ok(Json(Keys { keys: keys.collect() }))
}
