//! Lists as files: tables for spreadsheets, and anything else that is written a page at a time.

use crate::http::faults::broken;
use crate::http::problem::Problem;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use onrush_core::Time;
use onrush_ledger::{Page, Pending};
use std::borrow::Cow;
use std::io;

/// A table begins with it, or Excel reads it in the computer's older encoding, and shows names with
/// accents, and all in Korean or Thai, as other signs.
const IS_UTF8: &str = "\u{feff}";

/// Rows read at a time.
pub const ROWS_AT_ONCE: usize = 1_000;

/// A file that is sent: its media type, and what to save it as.
#[derive(Clone, Copy)]
pub struct Attachment {
    /// Its media type.
    pub content_type: &'static str,
    /// `attachment; filename="…"`.
    pub disposition: &'static str,
}

/// Sends a whole list as a file: its head, and then what is written of each page.
///
/// `page` reads [`ROWS_AT_ONCE`] rows after what it is given. The first page is read before anything
/// is answered: a ledger that is broken now is a proper 503. If it fails half-way the answer breaks
/// off without its end, so that nobody takes the half for the whole.
///
/// # Errors
/// Those of the first page.
pub async fn attach<R: Send + 'static>(
    file: Attachment,
    mut head: Vec<u8>,
    page: impl Fn(Option<String>) -> Pending<Page<R>> + Send + 'static,
    write: impl Fn(&[R]) -> Result<Vec<u8>, Problem> + Send + Sync + 'static,
) -> Result<Response, Problem> {
    let (first, next) = written(page(None), &write).await?;
    head.extend(first);
    let rest = stream::try_unfold((next, page, write), |(next, page, write)| async move {
        let Some(after) = next else { return Ok(None) };
        let (bytes, next) = written(page(Some(after)), &write)
            .await
            .map_err(|problem| io::Error::other(problem.code()))?;
        Ok::<_, io::Error>(Some((Bytes::from(bytes), (next, page, write))))
    });
    let first = stream::once(async { Ok(Bytes::from(head)) });
    let mut response = Response::new(Body::from_stream(first.chain(rest)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(file.disposition));
    Ok(response)
}

/// A page as its part of the file, and what to ask for after it.
async fn written<R>(
    page: Pending<Page<R>>,
    write: &(impl Fn(&[R]) -> Result<Vec<u8>, Problem> + Sync),
) -> Result<(Vec<u8>, Option<String>), Problem> {
    let Page { rows, next } = page.await?;
    Ok((write(&rows)?, next))
}

/// A column of a table: its name, and what stands in it.
pub type Column<R> = (&'static str, fn(&R) -> Cow<'_, str>);

/// Sends a whole list as a table for spreadsheets, as [`attach`] does.
///
/// # Errors
/// Those of the first page.
pub async fn attach_table<R: Send + 'static>(
    disposition: &'static str,
    columns: &'static [Column<R>],
    page: impl Fn(Option<String>) -> Pending<Page<R>> + Send + 'static,
) -> Result<Response, Problem> {
    let content_type = "text/csv; charset=utf-8; header=present";
    let mut head = IS_UTF8.as_bytes().to_vec();
    head.extend(table(|out| out.write_record(columns.iter().map(|(name, _)| name)))?);
    let write =
        move |rows: &[R]| table(|out| rows.iter().try_for_each(|row| write_row(out, columns, row)));
    attach(Attachment { content_type, disposition }, head, page, write).await
}

/// Writes rows of a table.
type Rows = csv::Writer<Vec<u8>>;

/// Rows of a table as its bytes.
fn table(write: impl FnOnce(&mut Rows) -> csv::Result<()>) -> Result<Vec<u8>, Problem> {
    let mut writer = csv::WriterBuilder::new();
    // Where a spreadsheet parts cells at semicolons, one that stands in quotes parts none.
    writer.terminator(csv::Terminator::CRLF).quote_style(csv::QuoteStyle::Always);
    let mut out = writer.from_writer(Vec::new());
    write(&mut out).map_err(|error| broken("writing the table", &error))?;
    out.into_inner().map_err(|error| broken("writing the table", &error))
}

/// Writes a row, of which no cell runs as a formula.
fn write_row<R>(out: &mut Rows, columns: &[Column<R>], row: &R) -> csv::Result<()> {
    for (_, cell) in columns {
        out.write_field(harmless(&cell(row)).as_bytes())?;
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
