//! The organiser searches bookings and their buyers.

use super::shapes::{BookingStatus, LedgerBooking, LedgerBookings};
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Operator, Strict};
use crate::http::events::shapes::money::TaxOf;
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::{page_size, page_size_or, search};
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, FreeText, IdText, RowsNumber};
use crate::json::whole::Whole;
use axum::extract::State;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, UserId};
use onrush_core::limits::fits_text;
use onrush_core::settings::Settings;
use onrush_ledger::booking::{Booking, BookingFilter, BookingText, Buyer};
use onrush_ledger::{Ledger, Page};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

search! {
    BookingSearch, TableSearch {
        /// Only of this event.
        #[param(value_type = Option<EventIdText>, nullable = false)]
        event: Option<EventId>,
        /// Only with this status.
        #[param(value_type = Option<BookingStatus>, nullable = false, inline)]
        status: Option<HoldStatus>,
        /// Only of this visitor.
        #[param(value_type = Option<IdText>, nullable = false)]
        user: Option<UserId>,
        /// Part of a booking's id, or of its buyer's name or mail address, in whatever capitals. What
        /// is the id of a booking, or the address of a buyer, finds those alone. For a key with neither
        /// `sell` nor `money` it is part of a booking's id only.
        #[param(min_length = 1, max_length = 500, nullable = false)]
        text: Option<String>,
    }
}

/// Which bookings, and which page of them. Nothing, or null, is all of them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BookingSearch)]
pub struct SearchBody {
    /// Only of this event.
    #[schema(value_type = Option<EventIdText>)]
    event: Option<EventId>,
    /// Only with this status.
    #[schema(value_type = Option<BookingStatus>)]
    status: Option<HoldStatus>,
    /// Only of this visitor.
    #[schema(value_type = Option<IdText>)]
    user: Option<UserId>,
    /// What is looked for, as in the query of `GET /api/v1/admin/bookings`.
    #[schema(value_type = Option<FreeText>)]
    text: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// How many at most; 100 if left out.
    #[schema(value_type = Option<RowsNumber>)]
    limit: Option<Whole<usize>>,
}

/// Bookings with their buyers, the latest first. They follow the engine by the feed, so the very
/// latest may be a moment behind; what is free of charge is there once it is confirmed.
///
/// Buyers are told to keys that have `sell`, `money` or `admin`, and looked for with these alone.
/// Addresses are written into logs: look for names and mail addresses with
/// `POST /api/v1/admin/bookings/search`.
#[utoipa::path(
    get, path = "/api/v1/admin/bookings", tag = "admin",
    params(BookingSearch),
    responses((status = 200, description = "A page of bookings", body = LedgerBookings), ReadProblems),
)]
pub async fn search_bookings(
    State(ledger): State<Arc<dyn Ledger>>,
    State(sale): State<Arc<Sale>>,
    operator: Operator,
    Strict(query): Strict<BookingSearch>,
) -> Result<Json<LedgerBookings>, Problem> {
    let BookingSearch { event, status, user, text, after, limit } = query;
    let limit = page_size(limit)?;
    let text = search_text(Code::InvalidQuery, text, &operator)?;
    let filter = BookingFilter { event, status, user, text, after };
    found(&*ledger, &sale, &operator, filter, limit).await
}

/// The same bookings, and what they are looked for by in a body: who buys stands in no address then.
/// It changes nothing, and leaves no row of what was done.
#[utoipa::path(
    post, path = "/api/v1/admin/bookings/search", tag = "admin",
    request_body = SearchBody,
    responses((status = 200, description = "A page of bookings", body = LedgerBookings),
        WriteProblems),
)]
pub async fn search_bookings_by_body(
    State(ledger): State<Arc<dyn Ledger>>,
    State(sale): State<Arc<Sale>>,
    operator: Operator,
    JsonBody(body): JsonBody<SearchBody>,
) -> Result<Json<LedgerBookings>, Problem> {
    let SearchBody { event, status, user, text, after, limit } = body;
    let limit = page_size_or(Code::InvalidBody, limit.map(|limit| limit.0))?;
    let text = search_text(Code::InvalidBody, text, &operator)?;
    let filter = BookingFilter { event, status, user, text, after };
    found(&*ledger, &sale, &operator, filter, limit).await
}

/// A page of what is looked for, as it is told to whoever asks.
async fn found(
    ledger: &dyn Ledger,
    sale: &Sale,
    operator: &Operator,
    filter: BookingFilter,
    limit: usize,
) -> Result<Json<LedgerBookings>, Problem> {
    let page = ledger.bookings(filter, limit).await?;
    let mut events: BTreeMap<EventId, Option<Settings>> = BTreeMap::new();
    for (row, _) in &page.rows {
        if !events.contains_key(&row.event) {
            // Bookings are found also while the engine cannot be asked.
            let settings = sale.view_event(&row.event).await.ok().map(|(_, view)| view.settings);
            events.insert(row.event.clone(), settings);
        }
    }
    let is_told_buyers = operator.is_told_buyers();
    let shown = |(row, buyer): (Booking, Option<Buyer>)| {
        let settings = events[&row.event].as_ref();
        let tax = settings.and_then(|settings| TaxOf::amount(settings, row.amount_minor));
        LedgerBooking::new(row, buyer.filter(|_| is_told_buyers), tax)
    };
    let rows = page.rows.into_iter().map(shown).collect();
    Ok(Json(Page { rows, next: page.next }.into()))
}

/// What to look for, if it is a text of ordinary length, and not `wrong`: in bookings, and in their
/// buyers for whoever is told them. Others would learn from what is found whether somebody bought.
pub(super) fn search_text(
    wrong: Code,
    text: Option<String>,
    operator: &Operator,
) -> Result<Option<BookingText>, Problem> {
    let of: fn(String) -> BookingText =
        if operator.is_told_buyers() { BookingText::OfAnything } else { BookingText::OfId };
    match text {
        Some(text) if text.is_empty() || !fits_text(&text) => {
            Err(Problem::new(wrong, "text: use 1 to 500 characters").about("text"))
        }
        text => Ok(text.map(of)),
    }
}
