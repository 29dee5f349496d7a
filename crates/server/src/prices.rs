//! What the gateway takes: organisers hear of it when they name a currency, a price or fees, and not their buyers when they
//! pay. Events that were made before go on as they are.

use crate::app::App;
use crate::http::problem::{Code, Problem};
use crate::saga::gateway::takes::Takes;
use onrush_core::ids::EventId;
use onrush_core::limits::MAX_PRICE_MINOR;
use onrush_core::settings::Settings;
use onrush_core::{Query, View};

fn cannot_take(why: String) -> Problem {
    Problem::new(Code::GatewayCannotTake, why)
}

/// What the gateway takes of an event's currency, with its name; `None` if there is no gateway, and so nothing to ask.
fn of_currency(app: &App, settings: &Settings) -> Result<Option<(&'static str, Takes)>, Problem> {
    let Some(gateway) = app.sagas.gateway() else { return Ok(None) };
    let takes = gateway.takes(settings.currency);
    let takes = takes.map_err(|why| cannot_take(format!("currency: {why}")))?;
    Ok(Some((gateway.name(), takes)))
}

/// Checks the currency of an event that is being made.
///
/// # Errors
/// `GATEWAY_CANNOT_TAKE`.
pub fn check_currency(app: &App, settings: &Settings) -> Result<(), Problem> {
    of_currency(app, settings).map(drop)
}

/// Checks prices that are being set: what costs them, and how much.
///
/// # Errors
/// `GATEWAY_CANNOT_TAKE`.
pub fn check_prices<'a>(
    app: &App,
    settings: &Settings,
    prices: impl IntoIterator<Item = (&'a str, i64)>,
) -> Result<(), Problem> {
    // What is free of charge never comes to a gateway, and what no price can be is for the rules to refuse.
    let is_price = |(_, price_minor): &(&str, i64)| (1..=MAX_PRICE_MINOR).contains(price_minor);
    let mut prices = prices.into_iter().filter(is_price).peekable();
    if prices.peek().is_none() {
        return Ok(());
    }
    let Some((gateway, takes)) = of_currency(app, settings)? else { return Ok(()) };
    for (what, price_minor) in prices {
        let complaint = takes.complaint(gateway, settings.currency, price_minor, &settings.fees);
        if let Some(why) = complaint {
            return Err(cannot_take(format!("{what}: {why}")));
        }
    }
    Ok(())
}

/// Checks settings that are about to be changed, if currency or fees are others than before.
///
/// # Errors
/// `GATEWAY_CANNOT_TAKE`.
pub async fn check_change(
    app: &App,
    event: &EventId,
    before: &Settings,
    after: &Settings,
) -> Result<(), Problem> {
    let is_same = (before.currency, before.fees) == (after.currency, after.fees);
    if is_same || after.complaint().is_some() {
        return Ok(());
    }
    if before.currency != after.currency {
        check_currency(app, after)?;
    }
    let answer = app.engine.query(event.clone(), Query::Availability).await?;
    let View::Availability(view) = answer.value else { return Err(crate::app::odd_answer()) };
    let pools = view.pools.iter().map(|pool| (pool.pool.as_str(), pool.price_minor));
    let seats = view.categories.iter().map(|category| (&*category.name, category.price_minor));
    check_prices(app, after, pools.chain(seats))
}
