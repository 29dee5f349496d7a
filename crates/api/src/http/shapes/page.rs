//! How many rows a page has.

use crate::http::problem::{Code, Problem};

/// How many rows a page has: 1 to 1000, and 100 if nothing is said.
///
/// # Errors
/// `INVALID_QUERY`.
pub fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
    match limit.unwrap_or(100) {
        limit @ 1..=1_000 => Ok(limit),
        _ => Err(Problem::new(Code::InvalidQuery, "limit: use 1 to 1000").about("limit")),
    }
}
