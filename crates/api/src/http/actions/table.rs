//! What was done with keys as a table for spreadsheets.

use crate::http::caller::{Operator, Strict};
use crate::http::faults::broken;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::shapes::table::{
    Attachment, CSV, ROWS_AT_ONCE, Rows, Written, attach, readable, table, write_cells,
};
use crate::json::ids::EventIdText;
use axum::extract::State;
use axum::response::Response;
use onrush_core::ids::EventId;
use onrush_ledger::action::{Action, ActionFilter};
use onrush_ledger::{Ledger, Page};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

const FILE: Attachment =
    Attachment { content_type: CSV, disposition: "attachment; filename=\"actions.csv\"" };

const HEAD: [&str; 9] =
    ["request", "at", "name", "address", "method", "path", "event", "status", "code"];

/// Which actions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ActionTable {
    /// Only with the key of this name.
    #[param(nullable = false)]
    name: Option<String>,
    /// Only about this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
}

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
    let head = table(|out| out.write_record(HEAD));
    let head = head.map_err(|error| broken("writing the table", &error))?;
    attach(FILE, head, filter, move |filter| read(ledger.clone(), filter)).await
}

/// One page of rows, and what to ask for after it.
async fn read(ledger: Arc<dyn Ledger>, filter: ActionFilter) -> Written<ActionFilter> {
    let Page { rows, next } = ledger.actions(filter.clone(), ROWS_AT_ONCE).await?;
    let rows = table(|out| rows.iter().try_for_each(|row| write_row(out, row)));
    let rows = rows.map_err(|error| broken("writing the table", &error))?;
    Ok((rows, next.map(|next| ActionFilter { after: Some(next), ..filter })))
}

fn write_row(out: &mut Rows, row: &Action) -> csv::Result<()> {
    let Action { request, at, name, address, method, path, event, status, code } = row;
    let cells = [
        request.as_str(),
        &readable(*at),
        name.as_deref().unwrap_or_default(),
        address,
        method,
        path,
        event.as_ref().map_or("", EventId::as_str),
        &status.to_string(),
        code.as_deref().unwrap_or_default(),
    ];
    write_cells(out, cells)
}
