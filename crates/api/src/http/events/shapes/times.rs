//! Times that organisers set, and how one is told that is in seconds.

use crate::http::problem::Problem;
use onrush_core::{Refusal, Time};

/// In seconds this is in the year 5138, in milliseconds in March 1973: nobody means either.
const LAST_IN_SECONDS_MS: i64 = 99_999_999_999;

/// Checks that a time is not in seconds. It would be long past: a sale would open, or close, at once.
///
/// # Errors
/// `INVALID_SETTINGS` about `field`.
pub fn check_unit(field: &'static str, at: Time) -> Result<(), Problem> {
    if !(1..=LAST_IN_SECONDS_MS).contains(&at.0) {
        return Ok(());
    }
    let why = format!("{field}: this is in seconds; use milliseconds since 1970").into();
    Err(Refusal::InvalidSettings { field: Some(field.into()), why }.into())
}
