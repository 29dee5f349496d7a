//! The organiser looks up who did what.

use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::page::{page, page_size, search};
use crate::json::ids::{EventIdText, TimeMs};
use axum::extract::State;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_ledger::action::{Action, ActionFilter};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

search! {
    ActionSearch, ActionTable {
        /// Only with the key of this name.
        #[param(nullable = false)]
        name: Option<String>,
        /// Only about this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
    }
}

page! {
    /// A page of what was done with keys.
    Actions,
    /// The latest first.
    actions: ActionBody
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
) -> Result<Json<Actions>, Problem> {
    let filter = ActionFilter { name, event, after };
    Ok(Json(ledger.actions(filter, page_size(limit)?).await?.into()))
}

impl From<Action> for ActionBody {
    fn from(action: Action) -> Self {
        let Action { request, at, name, address, method, path, event, status, code } = action;
        Self { request, at, name, address, method, path, event, status, code }
    }
}
