//! What was done with keys as a table for spreadsheets.

use super::list::ActionTable;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{Column, ROWS_AT_ONCE, attach_table, readable};
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_ledger::action::{Action, ActionFilter};
use std::sync::Arc;

const FILE: &str = "attachment; filename=\"actions.csv\"";

const COLUMNS: &[Column<Action>] = &[
    ("request", |row| row.request.as_str().into()),
    ("at", |row| readable(row.at).into()),
    ("name", |row| row.name.as_deref().unwrap_or_default().into()),
    ("address", |row| row.address.as_str().into()),
    ("method", |row| row.method.as_str().into()),
    ("path", |row| row.path.as_str().into()),
    ("event", |row| row.event.as_ref().map_or("", EventId::as_str).into()),
    ("status", |row| row.status.to_string().into()),
    ("code", |row| row.code.as_deref().unwrap_or_default().into()),
];

/// What was done with keys as a table for spreadsheets, the latest first, all of it.
///
/// If the ledger fails half-way the answer breaks off without its end, so that nobody takes the half
/// for the whole.
#[utoipa::path(
    get, path = "/api/v1/admin/actions.csv", tag = "admin", operation_id = "actions_csv",
    params(ActionTable),
    responses((status = 200, description = "The table", body = String, content_type = "text/csv"),
        ReadProblems),
)]
pub async fn actions_csv(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Operator,
    Strict(ActionTable { name, event }): Strict<ActionTable>,
) -> Result<Response, Problem> {
    let filter = ActionFilter { name, event, after: None };
    attach_table(FILE, COLUMNS, move |after| {
        ledger.actions(ActionFilter { after, ..filter.clone() }, ROWS_AT_ONCE)
    })
    .await
}
