//! How the payment gateway is.

use crate::http::body::Json;
use crate::http::caller::Operator;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::json::ids::TimeMs;
use crate::json::words::words;
use axum::extract::State;
use onrush_core::Time;
use onrush_ledger::Ledger;
use onrush_ledger::desk::DeskFilter;
use onrush_saga::Sagas;
use onrush_saga::gateway::health::{FailureKind, Health, LastFailure, View};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Entries of the desk that are counted at most.
const MOST_COUNTED: usize = 100;

/// How the payment gateway is, as this node sees it.
#[derive(Serialize, ToSchema)]
pub struct GatewayBody {
    /// Its name; `none` if there is none.
    gateway: &'static str,
    /// `off`, `unknown`, `ok`, `key_refused` or `unreachable`.
    #[schema(value_type = GatewayStateName)]
    state: &'static str,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    since: Option<Time>,
    /// When it last did what it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    last_success_at: Option<Time>,
    /// What went wrong last, also if it is well again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_failure: Option<GatewayFailure>,
    /// What an operator should do; missing if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    what_to_do: Option<&'static str>,
    /// Things that its own desk did and that nobody settled, up to 100.
    desk_open: usize,
}

/// What went wrong with one call.
#[derive(Serialize, ToSchema)]
pub struct GatewayFailure {
    #[schema(value_type = GatewayFailureName)]
    kind: FailureKind,
    /// In the gateway's words.
    why: String,
    #[schema(value_type = TimeMs)]
    at: Time,
}

/// How a gateway is.
#[derive(ToSchema)]
#[schema(as = GatewayState, rename_all = "snake_case")]
pub enum GatewayStateName {
    /// There is none.
    Off,
    /// Nothing was asked so far.
    Unknown,
    /// It answers and knows us.
    Ok,
    /// It does not know our key.
    KeyRefused,
    /// It does not answer, or says to come again.
    Unreachable,
}

words!(
    /// What a call came to.
    GatewayFailureName, "GatewayFailureKind", FailureKind
);

/// How the payment gateway is: since when, what went wrong last, and what to do about it.
#[utoipa::path(
    get, path = "/api/v1/admin/gateway", tag = "admin",
    responses((status = 200, description = "How it is", body = GatewayBody), ReadProblems),
)]
pub async fn gateway_health(
    State(sagas): State<Arc<Sagas>>,
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
) -> Result<Json<GatewayBody>, Problem> {
    let filter = DeskFilter { open: Some(true), ..DeskFilter::default() };
    let desk_open = ledger.desk(filter, MOST_COUNTED).await?.rows.len();
    let body = match sagas.health() {
        Some(health) => GatewayBody::of(health, desk_open),
        None => GatewayBody {
            gateway: "none",
            state: "off",
            since: None,
            last_success_at: None,
            last_failure: None,
            what_to_do: None,
            desk_open,
        },
    };
    Ok(Json(body))
}

impl GatewayBody {
    fn of(health: &Health, desk_open: usize) -> Self {
        let View { state, since, last_success_at, last_failure } = health.view();
        let failure = |LastFailure { kind, why, at }| GatewayFailure { kind, why, at };
        Self {
            gateway: health.gateway(),
            state: state.into(),
            since: Some(since),
            last_success_at,
            last_failure: last_failure.map(failure),
            what_to_do: health.what_to_do(),
            desk_open,
        }
    }
}
