//! What a booking costs, line by line, and the tax in it.

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
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{BookingId, EventId, PoolId, SeatId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::Settings;
use onrush_core::tax::Taxed;
use onrush_store::Ask;
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
    lines: Vec<SummaryLine<'a>>,
    /// How much of the amount is tax; missing where the event tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxOf>,
}

/// A part of what a booking costs: a pool's units, a seat, or the fees.
#[derive(Serialize, ToSchema)]
pub struct SummaryLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    pool: Option<&'a PoolId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    seat: Option<&'a SeatId>,
    /// Units; missing in the line of the fees.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    quantity: Option<u32>,
    /// What all of the line costs, in minor units: `net_minor` and `tax_minor` together.
    amount_minor: i64,
    /// The line without its tax.
    net_minor: i64,
    /// The tax in it; 0 where the event tells of none.
    tax_minor: i64,
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
    let (lines, prices_minor, amount_minor, fee_minor) = match &kept {
        Kept::Now(view) => {
            let HoldTerms { lines, prices_minor, amount_minor, fee_minor, .. } = &*view.terms;
            (lines, prices_minor, *amount_minor, *fee_minor)
        }
        Kept::Past(row) => (&row.lines, &row.prices_minor, row.amount_minor, row.fee_minor),
    };
    let (_, view) = sale.view_event(&event).await?;
    let first_minor;
    let prices_minor = match prices_minor.as_slice() {
        [] => {
            first_minor = first_prices(&sale, &units, &event, lines).await?;
            &first_minor
        }
        prices_minor => prices_minor,
    };
    let costs = costs(lines, prices_minor, fee_minor);
    let lines = split(&view.settings, costs);
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

/// What one unit of each line cost first, pools' and then seats'.
async fn first_prices(
    sale: &Sale,
    units: &Units,
    event: &EventId,
    lines: &Lines,
) -> Result<Vec<i64>, Problem> {
    let pools = match lines.pools() {
        [] => Vec::new(),
        _ => sale.engine.ask(event.clone(), AvailabilityNow).await?.value.pools,
    };
    let first_of = |line: &PoolLine| {
        let pool = pools.iter().find(|pool| pool.pool == line.pool);
        let pool = pool.expect("a pool that was booked is there for good");
        pool.first_minor.unwrap_or(pool.price_minor)
    };
    let mut first_minor: Vec<i64> = lines.pools().iter().map(first_of).collect();
    first_minor.extend(units.boards.first_prices(event, lines.seats()).await?);
    Ok(first_minor)
}

/// Every line with what it costs, at these prices of one unit each, the fees last.
fn costs<'a>(lines: &'a Lines, prices_minor: &[i64], fee_minor: i64) -> Vec<SummaryLine<'a>> {
    let line = |amount_minor| SummaryLine {
        pool: None,
        seat: None,
        quantity: None,
        amount_minor,
        net_minor: amount_minor,
        tax_minor: 0,
    };
    let mut prices_minor = prices_minor.iter();
    let of_pools = lines.pools().iter().zip(&mut prices_minor).map(|(wanted, price_minor)| {
        let of_all = line(price_minor * i64::from(wanted.quantity));
        SummaryLine { pool: Some(&wanted.pool), quantity: Some(wanted.quantity), ..of_all }
    });
    let of_pools: Vec<_> = of_pools.collect();
    let seats = lines.seats().iter().zip(prices_minor);
    let of_seats = seats.map(|(seat, price_minor)| SummaryLine {
        seat: Some(seat),
        quantity: Some(1),
        ..line(*price_minor)
    });
    let of_fees = (fee_minor > 0).then(|| line(fee_minor));
    of_pools.into_iter().chain(of_seats).chain(of_fees).collect()
}

/// The same with the tax in each, where the event tells of one.
fn split<'a>(settings: &Settings, mut lines: Vec<SummaryLine<'a>>) -> Vec<SummaryLine<'a>> {
    let Some(tax) = &settings.tax else { return lines };
    let gross_minor: Vec<i64> = lines.iter().map(|line| line.amount_minor).collect();
    let parts = tax.split_all(gross_minor, settings.currency);
    for (line, Taxed { gross_minor: _, net_minor, tax_minor }) in lines.iter_mut().zip(parts) {
        (line.net_minor, line.tax_minor) = (net_minor, tax_minor);
    }
    lines
}
