//! The organiser's bookings as a table for spreadsheets.

use super::search::search_text;
use super::shapes::BookingStatus;
use crate::http::caller::{Admin, Strict};
use crate::http::faults::broken;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::json::ids::{EventIdText, IdText};
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{EventId, UserId};
use onrush_ledger::booking::{Booking, BookingFilter, Buyer};
use onrush_ledger::{Ledger, Page};
use serde::Deserialize;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use utoipa::IntoParams;

/// Rows read at a time.
const PAGE: usize = 1_000;

const HEAD: [&str; 17] = [
    "booking",
    "event",
    "user",
    "status",
    "pools",
    "seats",
    "amount_minor",
    "fee_minor",
    "currency",
    "payment",
    "refund_minor",
    "checked_in",
    "created_at",
    "updated_at",
    "name",
    "email",
    "language",
];

/// Which bookings.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TableSearch {
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

/// Bookings with their buyers as a table for spreadsheets, the latest first, all of them.
///
/// A cell that a spreadsheet would take for a formula begins with an apostrophe. If the ledger
/// fails half-way the answer breaks off without its end, so that nobody takes the half for the
/// whole.
#[utoipa::path(
    get, path = "/api/v1/admin/bookings.csv", tag = "admin", operation_id = "bookings_csv",
    params(TableSearch),
    responses((status = 200, description = "The table", body = String, content_type = "text/csv"),
        ReadProblems),
    security(("admin" = []))
)]
pub async fn bookings_csv(
    State(ledger): State<Arc<dyn Ledger>>,
    _: Admin,
    Strict(query): Strict<TableSearch>,
) -> Result<Response, Problem> {
    let TableSearch { event, status, user, text } = query;
    let filter = BookingFilter { event, status, user, text: search_text(text)?, after: None };
    // The first page is read before anything is answered: a ledger that is broken now is a proper 503.
    let (first, rest) = read(&*ledger, filter).await?;
    let head = table(|out| out.write_record(HEAD)).map(|mut head| {
        head.extend(first);
        head
    });
    let head = head.map_err(|error| broken("writing the table", &error))?;
    let rest = stream::try_unfold((ledger.clone(), rest), |(ledger, rest)| async move {
        let Some(filter) = rest else { return Ok(None) };
        let page = read(&*ledger, filter).await;
        let (page, rest) = page.map_err(|problem| io::Error::other(problem.code()))?;
        Ok::<_, io::Error>(Some((Bytes::from(page), (ledger, rest))))
    });
    let first = stream::once(async { Ok(Bytes::from(head)) });
    let mut response = Response::new(Body::from_stream(stream::StreamExt::chain(first, rest)));
    let headers = response.headers_mut();
    headers
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present"));
    headers.insert(
        CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"bookings.csv\""),
    );
    Ok(response)
}

/// One page of rows, and what to ask for after it.
async fn read(
    ledger: &dyn Ledger,
    filter: BookingFilter,
) -> Result<(Vec<u8>, Option<BookingFilter>), Problem> {
    let Page { rows, next } = ledger.bookings(filter.clone(), PAGE).await?;
    let rows =
        table(|out| rows.iter().try_for_each(|(row, buyer)| write_row(out, row, buyer.as_ref())));
    let rows = rows.map_err(|error| broken("writing the table", &error))?;
    Ok((rows, next.map(|next| BookingFilter { after: Some(next), ..filter })))
}

type Out = csv::Writer<Vec<u8>>;

fn table(write: impl FnOnce(&mut Out) -> csv::Result<()>) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new();
    // Where a spreadsheet parts cells at semicolons, one that stands in quotes parts none.
    writer.terminator(csv::Terminator::CRLF).quote_style(csv::QuoteStyle::Always);
    let mut out = writer.from_writer(Vec::new());
    write(&mut out).map_err(io::Error::other)?;
    out.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

fn write_row(out: &mut Out, row: &Booking, buyer: Option<&Buyer>) -> csv::Result<()> {
    let pools = row.lines.pools().iter().map(|line| format!("{}={}", line.pool, line.quantity));
    let seats = row.lines.seats().iter().map(ToString::to_string);
    let (pools, seats) = (pools.collect::<Vec<_>>().join(" "), seats.collect::<Vec<_>>().join(" "));
    let payment = row.payment.as_ref().map_or("", |payment| payment.as_str());
    let [name, email, language] = buyer.map_or([""; 3], |buyer| {
        [buyer.name.as_str(), buyer.email.as_str(), buyer.language.as_str()]
    });
    for text in [
        row.booking.as_str(),
        row.event.as_str(),
        row.user.as_str(),
        row.status.as_str(),
        &pools,
        &seats,
        &row.amount_minor.to_string(),
        &row.fee_minor.to_string(),
        row.currency.as_str(),
        payment,
        &row.refund_minor.to_string(),
        &row.checked_in.to_string(),
        &readable(row.created_at),
        &readable(row.updated_at),
        name,
        email,
        language,
    ] {
        out.write_field(harmless(text).as_bytes())?;
    }
    out.write_record(None::<&[u8]>)
}

/// A time as spreadsheets read it.
fn readable(at: Time) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0);
    time.map_or_else(|_| at.to_string(), |time| time.to_string())
}

/// What a formula may begin with.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];
/// What parts cells in some country's spreadsheets, or somebody's settings.
const BETWEEN: [char; 6] = [',', ';', '|', '\t', '\r', '\n'];

/// A cell that no spreadsheet takes for a formula, also where it parts cells at other signs than ours:
/// what visitors call themselves must not run on the organiser's machine.
fn harmless(cell: &str) -> Cow<'_, str> {
    if !cell.contains(FORMULA) {
        return Cow::Borrowed(cell);
    }
    let mut text = String::with_capacity(cell.len() + 1);
    // A quotation mark or a blank may stand before a formula.
    let mut may_begin = true;
    for sign in cell.chars() {
        if may_begin && FORMULA.contains(&sign) {
            text.push('\'');
            may_begin = false;
        }
        text.push(sign);
        may_begin = BETWEEN.contains(&sign) || (may_begin && sign == '"');
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_begins_as_a_formula_does() {
        for cell in ["=1+1", "+1", "-1", "@SUM(A1)"] {
            assert_eq!(harmless(cell), format!("'{cell}"));
        }
        for (cell, harmless_cell) in [("\t=1", "'\t'=1"), ("\r=1", "'\r'=1")] {
            assert_eq!(harmless(cell), harmless_cell);
        }
        for cell in ["", "Ann", "a=b", " =1", "Ann-Marie", "ann@example.com"] {
            assert_eq!(harmless(cell), cell);
        }
    }

    #[test]
    fn no_part_of_a_cell_begins_as_a_formula_does_where_others_part_cells() {
        for (cell, harmless_cell) in [
            ("Ann;=1+1", "Ann;'=1+1"),
            ("Ann;\"=1+1", "Ann;\"'=1+1"),
            ("a|@SUM(A1)", "a|'@SUM(A1)"),
            ("a,-1;+2", "a,'-1;'+2"),
            ("a\n=1", "a\n'=1"),
        ] {
            assert_eq!(harmless(cell), harmless_cell);
        }
    }

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(readable(Time(1_790_000_000_123)), "2026-09-21T14:13:20.123Z");
    }
}
