//! A booking's receipt and credit notes, for whoever keeps it.

use super::Receipts;
use super::shapes::BookingReceipts;
use crate::http::body::Json;
use crate::http::bookings::find::event_of_booking;
use crate::http::bookings::keeper::Keeper;
use crate::http::caller::Ids;
use crate::http::openapi::ConflictProblems;
use crate::http::problem::Problem;
use crate::json::ids::IdText;
use onrush_core::ids::BookingId;
use onrush_ledger::receipt::ReceiptFilter;

/// More than any booking has: a receipt, and a credit note for each refund.
const ALL: usize = 1_000;

/// A booking's receipt, and the credit notes of its refunds, the first one first.
///
/// They are issued beside the payment: a booking that was confirmed a moment ago may have none yet.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/receipts", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "What was issued", body = BookingReceipts), ConflictProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn booking_receipts(
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
    Receipts(ledger): Receipts,
) -> Result<Json<BookingReceipts>, Problem> {
    keeper.find_ever(&event_of_booking(&booking)?, &booking).await?;
    let filter = ReceiptFilter {
        booking: Some(booking.clone()),
        is_rising: true,
        ..ReceiptFilter::default()
    };
    let issued = ledger.receipts(filter, ALL).await?.rows;
    let receipts = issued.into_iter().map(Into::into).collect();
    Ok(Json(BookingReceipts { booking, receipts }))
}
