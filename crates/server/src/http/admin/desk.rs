//! `GET /admin/desk` and `POST /admin/desk/{entry}/settle`.

use crate::http::body::{JsonBody, json};
use crate::http::caller::{Admin, Strict};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::desk::{DeskEntryBody, DeskPage};
use crate::http::shapes::ledger::page_size;
use crate::http::state::App;
use crate::json::ids::{FreeText, IdText};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::ids::BookingId;
use onrush_core::limits::fits_text;
use onrush_ledger::desk::DeskFilter;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which entries, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeskSearch {
    /// `true`: only those that nobody settled.
    #[param(nullable = false)]
    open: Option<bool>,
    /// Only for this booking.
    #[param(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// The `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// Who settles an entry, and what they did about it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settling {
    /// Who.
    #[schema(value_type = FreeText)]
    by: Box<str>,
    /// What they did.
    #[schema(value_type = FreeText)]
    why: Box<str>,
}

/// What the gateway's own desk did with our payments, the latest first: refunds, disputes and
/// second payments that were not asked for here. Nothing is undone because of them; their payments
/// are flagged.
#[utoipa::path(
    get, path = "/api/v1/admin/desk", tag = "admin", operation_id = "desk_entries",
    params(DeskSearch),
    responses((status = 200, description = "A page of entries", body = DeskPage), ReadProblems),
    security(("admin" = []))
)]
pub async fn desk(
    State(app): State<Arc<App>>,
    _: Admin,
    Strict(DeskSearch { open, booking, after, limit }): Strict<DeskSearch>,
) -> Result<Response, Problem> {
    let filter = DeskFilter { open: open.unwrap_or(false), booking, after };
    let page = app.ledger.desk(filter, page_size(limit)?).await?;
    let entries = page.rows.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &DeskPage { entries, next: page.next }))
}

/// Says what was done about an entry; it leaves the list of open ones until there is news of it.
#[utoipa::path(
    post, path = "/api/v1/admin/desk/{entry}/settle", tag = "admin", operation_id = "settle_desk_entry",
    params(("entry" = String, Path, max_length = 255)),
    request_body = Settling,
    responses((status = 200, description = "The entry", body = DeskEntryBody), WriteProblems),
    security(("admin" = []))
)]
pub async fn settle(
    State(app): State<Arc<App>>,
    Path(entry): Path<String>,
    _: Admin,
    JsonBody(Settling { by, why }): JsonBody<Settling>,
) -> Result<Response, Problem> {
    for (name, text) in [("by", &by), ("why", &why)] {
        if text.is_empty() || !fits_text(text) {
            return Err(Problem::new(
                Code::InvalidBody,
                format!("{name}: use 1 to 500 characters"),
            ));
        }
    }
    match app.sagas.settle_desk(&entry, by.into(), why.into()).await? {
        Some(entry) => Ok(json(StatusCode::OK, &DeskEntryBody::from(entry))),
        None => {
            let why = "the desk did nothing of this id; see /api/v1/admin/desk";
            Err(Problem::new(Code::DeskEntryNotFound, why))
        }
    }
}
