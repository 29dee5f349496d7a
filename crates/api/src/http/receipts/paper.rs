//! Receipts and credit notes as PDF.

use super::Receipts;
use crate::http::bookings::find::event_of_booking;
use crate::http::bookings::keeper::Keeper;
use crate::http::caller::{Ids, Operator, Strict};
use crate::http::faults::broken;
use crate::http::openapi::ConflictProblems;
use crate::http::problem::{Code, Problem};
use crate::json::ids::IdText;
use crate::paper::{self, Language};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use onrush_core::ids::BookingId;
use onrush_ledger::Ledger;
use onrush_ledger::receipt::{ReceiptFilter, ReceiptNumber};
use serde::Deserialize;
use std::io;
use utoipa::IntoParams;

/// How a document is written.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PaperSearch {
    /// The language of its own words, such as "Total"; English if left out.
    #[param(value_type = Option<Language>, nullable = false, inline)]
    language: Option<Language>,
}

/// A booking's receipt or credit note as PDF.
///
/// The same document comes to the same bytes, until its buyer is erased.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/receipts/{file}", tag = "bookings",
    params(("booking" = IdText, Path),
        ("file" = String, Path, description = "The number and `.pdf`, such as `R-17.pdf`"),
        PaperSearch),
    responses((status = 200, description = "The document", body = String,
        content_type = "application/pdf"), ConflictProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn booking_receipt_pdf(
    Ids((booking, file)): Ids<(BookingId, String)>,
    keeper: Keeper,
    Receipts(ledger): Receipts,
    Strict(query): Strict<PaperSearch>,
) -> Result<Response, Problem> {
    let number = number_of(&file)?;
    keeper.find_ever(&event_of_booking(&booking)?, &booking).await?;
    let booking = Some(booking);
    let filter = ReceiptFilter { booking, number: Some(number), ..ReceiptFilter::default() };
    draw(&*ledger, filter, query).await
}

/// A receipt or credit note as PDF, of whichever booking.
#[utoipa::path(
    get, path = "/api/v1/admin/receipts/{file}", tag = "admin",
    params(("file" = String, Path, description = "The number and `.pdf`, such as `R-17.pdf`"),
        PaperSearch),
    responses((status = 200, description = "The document", body = String,
        content_type = "application/pdf"), ConflictProblems),
)]
pub async fn receipt_pdf(
    _: Operator,
    Receipts(ledger): Receipts,
    Ids(file): Ids<String>,
    Strict(query): Strict<PaperSearch>,
) -> Result<Response, Problem> {
    let number = Some(number_of(&file)?);
    draw(&*ledger, ReceiptFilter { number, ..ReceiptFilter::default() }, query).await
}

/// The number in `<number>.pdf`.
fn number_of(file: &str) -> Result<ReceiptNumber, Problem> {
    let number = file.strip_suffix(".pdf").and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        Problem::new(Code::InvalidId, "use a receipt's number and .pdf, such as R-17.pdf")
    })
}

async fn draw(
    ledger: &dyn Ledger,
    filter: ReceiptFilter,
    query: PaperSearch,
) -> Result<Response, Problem> {
    let Some(receipt) = ledger.receipts(filter, 1).await?.rows.pop() else {
        return Err(Problem::new(Code::ReceiptNotFound, "there is no receipt of this number"));
    };
    let disposition = format!("inline; filename=\"{}.pdf\"", receipt.number);
    let language = query.language.unwrap_or_default();
    // Fonts are cut down for each document, which keeps a processor busy for some milliseconds.
    let drawn = tokio::task::spawn_blocking(move || paper::receipt_pdf(&receipt, language)).await;
    let drawn = drawn.map_err(io::Error::other).and_then(|drawn| drawn.map_err(io::Error::other));
    let drawn = drawn.map_err(|error| broken("drawing a receipt", &error))?;
    // It names a person: it is for no shared cache.
    let headers = [
        (CONTENT_TYPE, "application/pdf"),
        (CACHE_CONTROL, "private, no-store"),
        (CONTENT_DISPOSITION, &disposition),
    ];
    Ok((headers, drawn).into_response())
}
