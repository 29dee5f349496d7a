//! Tickets that count no more.

use crate::http::body::Json;
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText, TimeMs};
use axum::extract::State;
use onrush_base::tickets::Revoked;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::EventId;
use onrush_ledger::Ledger;
use onrush_ledger::booking::BookingFilter;
use std::sync::Arc;
use utoipa::ToSchema;

/// Bookings that are read from the ledger at once.
const PAGE: usize = 1_000;

/// Confirmed bookings that were taken back: their tickets are void.
#[derive(ToSchema)]
#[schema(as = Revoked)]
#[expect(dead_code, reason = "it describes how tickets::Revoked is written")]
pub struct RevokedBody {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: String,
    /// When the list was made.
    #[schema(value_type = TimeMs)]
    at: i64,
    /// The bookings.
    #[schema(value_type = Vec<IdText>)]
    bookings: Vec<String>,
}

/// What who verifies tickets offline must not believe.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/revoked-tickets", tag = "tickets",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The list", body = RevokedBody), ReadProblems),
)]
pub async fn revoked(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Json<Revoked>, Problem> {
    // A booking that is not in the list counts: so nothing that was taken back by then is left out.
    let Some(at) = sale.followed_at(&*ledger, &event).await? else {
        let why = "the ledger has not followed the sale so far; ask again in a moment";
        return Err(Problem::new(Code::LedgerUnavailable, why));
    };
    let (mut bookings, mut after) = (Vec::new(), None);
    loop {
        let (event, status) = (Some(event.clone()), Some(HoldStatus::Cancelled));
        let filter = BookingFilter { event, status, after, ..BookingFilter::default() };
        let page = ledger.bookings(filter, PAGE).await?;
        bookings.extend(page.rows.into_iter().map(|(booking, _)| booking.booking));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(Json(Revoked { event, at, bookings }))
}
