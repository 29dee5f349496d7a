//! What a choice would cost, before anything is held.

use super::costs::{CostLine, UnitPrices, cost_lines, prices};
use crate::http::body::{JsonBytes, json};
use crate::http::caller::Ids;
use crate::http::events::shapes::money::TaxOf;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::WishBody;
use crate::http::state::{Callers, Sale, Units};
use crate::json::ids::{CurrencyText, EventIdText, TimeMs};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use onrush_core::Time;
use onrush_core::costs::When;
use onrush_core::ids::EventId;
use onrush_core::types::{Part, parts};
use onrush_serve::connection::Connection;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// What a choice costs if it is held now: lines and fees add up to the amount, and so do their taxes.
#[derive(Serialize, ToSchema)]
pub struct Quote<'a> {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: &'a EventId,
    /// The time of these prices.
    #[schema(value_type = TimeMs)]
    at: Time,
    #[schema(value_type = CurrencyText)]
    currency: String,
    /// What it costs, fees included, in minor units.
    amount_minor: i64,
    /// The fees in it.
    fee_minor: i64,
    /// Pools, then seats, each with all of its units; then the fees, if there are any.
    lines: Vec<CostLine<'a>>,
    /// How much of the amount is tax; missing where the event tells of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tax: Option<TaxOf>,
}

/// What pools, seats and stays cost together if they are held now: to the cent what a booking of them
/// would cost, fees rounded once. Nothing is held, and nobody asks whether anything is free.
#[utoipa::path(
    post, path = "/api/v1/events/{event}/quote", tag = "bookings",
    params(("event" = EventIdText, Path)),
    request_body = WishBody,
    responses((status = 200, description = "What it costs", body = Quote), WriteProblems),
)]
pub async fn quote(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    Ids(event): Ids<EventId>,
    body: JsonBytes,
) -> Result<Response, Problem> {
    callers.limits.read(callers.address_of(&connection, &headers))?;
    let wish = body.parse::<WishBody<'_>>()?;
    if wish.leaves_seats_to_us() {
        let why = "best: name seats; what the best ones cost is told with the booking";
        return Err(Problem::new(Code::InvalidBody, why).about("best"));
    }
    if wish.has_others() {
        let why = "otherwise: ask for the price of one thing at a time";
        return Err(Problem::new(Code::InvalidBody, why).about("otherwise"));
    }
    let (lines, asked) = (wish.lines()?, wish.types()?);
    asked.check_fit(Some(&lines), 0)?;
    let seen = sale.looks.event(&event, Duration::ZERO).await?;
    let (at, settings) = (seen.at, &seen.value.settings);
    let prices = prices(&sale, &units, &event, &lines, &asked, When::Now).await?;
    let UnitPrices { each_minor, types } = prices;
    let price_of = |part: Part<'_>| {
        let one_minor = part.held.map_or(each_minor[part.line as usize], |held| held.price_minor);
        one_minor * i64::from(part.quantity)
    };
    let price_minor = parts(&lines, types.as_ref()).map(price_of).sum();
    let fee_minor = settings.fees.on_minor_in_steps(price_minor, settings.step_minor());
    let amount_minor = price_minor + fee_minor;
    let body = Quote {
        event: &event,
        at,
        currency: settings.currency.to_string(),
        amount_minor,
        fee_minor,
        lines: cost_lines(settings, &lines, types.as_ref(), &each_minor, fee_minor),
        tax: TaxOf::amount(settings, amount_minor),
    };
    Ok(json(StatusCode::OK, &body))
}
