//! Lists as files: tables for spreadsheets, and anything else that is written a page at a time.

use crate::http::problem::Problem;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use onrush_core::Time;
use std::borrow::Cow;
use std::future::Future;
use std::io;

/// Rows read at a time.
pub const ROWS_AT_ONCE: usize = 1_000;

/// The media type of a table.
pub const CSV: &str = "text/csv; charset=utf-8; header=present";

/// A file that is sent: its media type, and what to save it as.
#[derive(Clone, Copy)]
pub struct Attachment {
    /// Its media type.
    pub content_type: &'static str,
    /// `attachment; filename="…"`.
    pub disposition: &'static str,
}

/// A page of a file, and what to ask for after it.
pub type Written<S> = Result<(Vec<u8>, Option<S>), Problem>;

/// Sends a file: its head, and then all pages from `start` on.
///
/// The first page is read before anything is answered: a ledger that is broken now is a proper 503.
/// If it fails half-way the answer breaks off without its end, so that nobody takes the half for the
/// whole.
///
/// # Errors
/// Those of the first page.
pub async fn attach<S, F, R>(
    file: Attachment,
    mut head: Vec<u8>,
    start: S,
    read: F,
) -> Result<Response, Problem>
where
    S: Send + 'static,
    F: Fn(S) -> R + Send + 'static,
    R: Future<Output = Written<S>> + Send + 'static,
{
    let (first, rest) = read(start).await?;
    head.extend(first);
    let rest = stream::try_unfold((rest, read), |(rest, read)| async move {
        let Some(next) = rest else { return Ok(None) };
        let (page, rest) = read(next).await.map_err(|problem| io::Error::other(problem.code()))?;
        Ok::<_, io::Error>(Some((Bytes::from(page), (rest, read))))
    });
    let first = stream::once(async { Ok(Bytes::from(head)) });
    let mut response = Response::new(Body::from_stream(first.chain(rest)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(file.disposition));
    Ok(response)
}

/// Writes rows of a table.
pub type Rows = csv::Writer<Vec<u8>>;

/// Rows of a table as its bytes.
///
/// # Errors
/// Whatever the writer says.
pub fn table(write: impl FnOnce(&mut Rows) -> csv::Result<()>) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new();
    // Where a spreadsheet parts cells at semicolons, one that stands in quotes parts none.
    writer.terminator(csv::Terminator::CRLF).quote_style(csv::QuoteStyle::Always);
    let mut out = writer.from_writer(Vec::new());
    write(&mut out).map_err(io::Error::other)?;
    out.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// Writes a row, of which no cell runs as a formula.
///
/// # Errors
/// Whatever the writer says.
pub fn write_cells<'a>(
    out: &mut Rows,
    cells: impl IntoIterator<Item = &'a str>,
) -> csv::Result<()> {
    for cell in cells {
        out.write_field(harmless(cell).as_bytes())?;
    }
    out.write_record(None::<&[u8]>)
}

/// A time as spreadsheets read it.
#[must_use]
pub fn readable(at: Time) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0);
    time.map_or_else(|_| at.to_string(), |time| time.to_string())
}

/// What a formula may begin with; spreadsheets in East Asia take the wide signs as well.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n'];
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
        for cell in ["=1+1", "+1", "-1", "@SUM(A1)", "＝1+1", "＋1", "－1", "＠SUM(A1)"] {
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
