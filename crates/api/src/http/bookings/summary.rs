//! What a booking costs, line by line, and the tax in it.

use super::costs::{CostLine, cost_lines, prices};
use super::find::event_of_booking;
use super::keeper::{Keeper, Kept};
use crate::http::body::json;
use crate::http::caller::Ids;
use crate::http::events::shapes::money::TaxOf;
use crate::http::faults::broken;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::state::{Sale, Units};
use crate::json::ids::{CurrencyText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_core::costs::When;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::BookingId;
use onrush_core::types::AskedTypes;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// What a booking costs: lines and fees add up to its amount, and so do their taxes to its tax.
#[derive(Serialize, ToSchema)]
pub struct Summary<'a> {
    /// The booking.
    #[schema(value_type = IdText)]
    booking: &'a BookingId,
    #[schema(value_type = CurrencyText)]
    currency: String,
    /// What it costs, fees included, in minor units.
    amount_minor: i64,
    /// Pools, then seats, each with all of its units; then the fees, if there are any.
    lines: Vec<CostLine<'a>>,
    /// How much of the amount is tax; missing where the event tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxOf>,
}

/// What a booking costs line by line, with the tax in each: also of one that ended long ago.
///
/// Taxes are rounded once, on the whole amount; each line has its share, so that they add up.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}/summary", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "What it costs", body = Summary), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn summary(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let kept = keeper.find_ever(&event, &booking).await?;
    let (lines, types, prices_minor, amount_minor, fee_minor) = match &kept {
        Kept::Now(view) => {
            let HoldTerms { lines, types, prices_minor, amount_minor, fee_minor, .. } =
                &*view.terms;
            (lines, types, prices_minor, *amount_minor, *fee_minor)
        }
        Kept::Past(row) => {
            (&row.lines, &row.types, &row.prices_minor, row.amount_minor, row.fee_minor)
        }
    };
    let (_, view) = sale.view_event(&event).await?;
    let first_minor;
    let prices_minor = match prices_minor.as_slice() {
        [] => {
            let nothing_asked = AskedTypes::default();
            let first = prices(&sale, &units, &event, lines, &nothing_asked, When::First).await?;
            first_minor = first.each_minor;
            &first_minor
        }
        prices_minor => prices_minor,
    };
    let lines = cost_lines(&view.settings, lines, types.as_deref(), prices_minor, fee_minor);
    let sum_minor: i64 = lines.iter().map(|line| line.amount_minor).sum();
    if sum_minor != amount_minor {
        let found = format!("{booking}: lines of {sum_minor} in an amount of {amount_minor}");
        return Err(broken("adding up a booking", &std::io::Error::other(found)));
    }
    let body = Summary {
        booking: &booking,
        currency: view.settings.currency.to_string(),
        amount_minor,
        lines,
        tax: TaxOf::amount(&view.settings, amount_minor),
    };
    Ok(json(StatusCode::OK, &body))
}
