//! The organiser looks up who did what.

use crate::http::body::json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::page_size;
use crate::json::ids::{EventIdText, TimeMs};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_ledger::action::{Action, ActionFilter};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which actions, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ActionSearch {
    /// Only with the key of this name.
    #[param(nullable = false)]
    name: Option<String>,
    /// Only about this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// The `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// A page of what was done with keys.
#[derive(Serialize, ToSchema)]
pub struct Actions {
    /// The latest first.
    actions: Vec<ActionBody>,
    /// What to ask for next as `after`; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
}

/// Something that was done with a key, or tried.
#[derive(Serialize, ToSchema)]
#[schema(as = Action)]
pub struct ActionBody {
    /// The request's id, as the answer's `X-Request-Id` had it.
    request: String,
    /// When.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// Whose key; missing for a wrong one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
    /// From which address.
    address: String,
    /// The method.
    method: String,
    /// The path, with what it was about, but without users.
    path: String,
    /// The event, if it was about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// The status of the answer.
    status: u16,
    /// Why not; missing if it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<String>,
}

/// What was done with keys, the latest first: every change, exports, sign-ins, what was refused, and
/// wrong keys.
#[utoipa::path(
    get, path = "/api/v1/admin/actions", tag = "admin",
    params(ActionSearch),
    responses((status = 200, description = "A page of them", body = Actions), ReadProblems),
)]
pub async fn actions(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(ActionSearch { name, event, after, limit }): Strict<ActionSearch>,
) -> Result<Response, Problem> {
    let page = ledger.actions(ActionFilter { name, event, after }, page_size(limit)?).await?;
    let actions = page.rows.into_iter().map(ActionBody::from).collect();
    Ok(json(StatusCode::OK, &Actions { actions, next: page.next }))
}

impl From<Action> for ActionBody {
    fn from(action: Action) -> Self {
        let Action { request, at, name, address, method, path, event, status, code } = action;
        Self { request, at, name, address, method, path, event, status, code }
    }
}
