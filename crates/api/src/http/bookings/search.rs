//! The organiser searches bookings and their buyers.

use super::shapes::{BookingStatus, LedgerBooking, LedgerBookings};
use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::events::shapes::money::TaxOf;
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::{page_size, search};
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, UserId};
use onrush_core::limits::fits_text;
use onrush_core::settings::Settings;
use onrush_ledger::booking::{Booking, BookingFilter, Buyer};
use onrush_ledger::{Ledger, Page};
use std::collections::BTreeMap;
use std::sync::Arc;

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
        /// Part of a booking's id, or of its buyer's name or mail address, in whatever capitals.
        #[param(min_length = 1, max_length = 500, nullable = false)]
        text: Option<String>,
    }
}

/// Bookings with their buyers, the latest first. They follow the engine by the feed, so the very
/// latest may be a moment behind; what is free of charge is there once it is confirmed.
#[utoipa::path(
    get, path = "/api/v1/admin/bookings", tag = "admin",
    params(BookingSearch),
    responses((status = 200, description = "A page of bookings", body = LedgerBookings), ReadProblems),
)]
pub async fn search_bookings(
    State(ledger): State<Arc<dyn Ledger>>,
    State(sale): State<Arc<Sale>>,
    _: Operator,
    Strict(query): Strict<BookingSearch>,
) -> Result<Json<LedgerBookings>, Problem> {
    let BookingSearch { event, status, user, text, after, limit } = query;
    let limit = page_size(limit)?;
    let filter = BookingFilter { event, status, user, text: search_text(text)?, after };
    let page = ledger.bookings(filter, limit).await?;
    let mut events: BTreeMap<EventId, Option<Settings>> = BTreeMap::new();
    for (row, _) in &page.rows {
        if !events.contains_key(&row.event) {
            // Bookings are found also while the engine cannot be asked.
            let settings = sale.view_event(&row.event).await.ok().map(|(_, view)| view.settings);
            events.insert(row.event.clone(), settings);
        }
    }
    let shown = |(row, buyer): (Booking, Option<Buyer>)| {
        let settings = events[&row.event].as_ref();
        let tax = settings.and_then(|settings| TaxOf::amount(settings, row.amount_minor));
        LedgerBooking::new(row, buyer, tax)
    };
    let rows = page.rows.into_iter().map(shown).collect();
    Ok(Json(Page { rows, next: page.next }.into()))
}

/// What to look for in bookings and buyers, if it is a text of ordinary length.
pub(in crate::http) fn search_text(text: Option<String>) -> Result<Option<String>, Problem> {
    match text {
        Some(text) if text.is_empty() || !fits_text(&text) => {
            Err(Problem::new(Code::InvalidQuery, "text: use 1 to 500 characters").about("text"))
        }
        text => Ok(text),
    }
}
