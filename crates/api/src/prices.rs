//! What the gateway takes: organisers hear of it when they name a currency, a price or fees, and
//! not their buyers when they pay. Events that were made before go on as they are.

use onrush_core::ids::EventId;
use onrush_core::limits::MAX_PRICE_MINOR;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::Settings;
use onrush_core::types::{TicketType, TypeView};
use onrush_core::view::AvailabilityView;
use onrush_saga::gateway::Gateway;
use onrush_saga::gateway::takes::Takes;
use onrush_store::{Ask, Engine, Failure};

/// Why a price cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The gateway does not take it.
    #[error("{why}")]
    CannotTake {
        /// Which of the settings it is, if it is one.
        field: Option<&'static str>,
        /// Why not.
        why: String,
    },
    /// The event's other prices cannot be looked at.
    #[error(transparent)]
    Ask(#[from] Failure),
}

impl PriceError {
    /// The same, told of a price, which comes without settings.
    fn of_a_price(self) -> Self {
        match self {
            Self::CannotTake { field: _, why } => Self::CannotTake { field: None, why },
            Self::Ask(error) => Self::Ask(error),
        }
    }
}

/// What the gateway takes of an event's currency, with its name; `None` if there is no gateway, and
/// so nothing to ask.
fn of_currency(
    gateway: Option<&dyn Gateway>,
    settings: &Settings,
) -> Result<Option<(&'static str, Takes)>, PriceError> {
    let Some(gateway) = gateway else { return Ok(None) };
    let takes = gateway.takes(settings.currency);
    let takes = takes.map_err(|why| PriceError::CannotTake {
        field: Some("currency"),
        why: format!("currency: {why}"),
    })?;
    Ok(Some((gateway.name(), takes)))
}

/// Checks the currency of an event that is being made.
///
/// # Errors
/// The gateway does not take it.
pub fn check_currency(
    gateway: Option<&dyn Gateway>,
    settings: &Settings,
) -> Result<(), PriceError> {
    of_currency(gateway, settings).map(drop)
}

/// Checks prices that are being set: what costs them, and how much.
///
/// # Errors
/// The gateway does not take it.
pub fn check_prices<'a>(
    gateway: Option<&dyn Gateway>,
    settings: &Settings,
    prices: impl IntoIterator<Item = (&'a str, i64)>,
) -> Result<(), PriceError> {
    // What is free of charge never comes to a gateway, and what no price can be is for the rules to refuse.
    let is_price = |(_, price_minor): &(&str, i64)| (1..=MAX_PRICE_MINOR).contains(price_minor);
    let mut prices = prices.into_iter().filter(is_price).peekable();
    if prices.peek().is_none() {
        return Ok(());
    }
    let of_currency = of_currency(gateway, settings).map_err(PriceError::of_a_price)?;
    let Some((gateway, takes)) = of_currency else { return Ok(()) };
    for (what, price_minor) in prices {
        let complaint = takes.complaint(gateway, settings.currency, price_minor, &settings.fees);
        if let Some(why) = complaint {
            return Err(PriceError::CannotTake { field: None, why: format!("{what}: {why}") });
        }
    }
    Ok(())
}

/// Checks ticket types with what they cost where one unit costs each of these prices.
///
/// # Errors
/// The gateway does not take what one of them costs.
pub fn check_types<'a>(
    gateway: Option<&dyn Gateway>,
    settings: &Settings,
    types: impl IntoIterator<Item = &'a TicketType>,
    base_prices_minor: &[i64],
) -> Result<(), PriceError> {
    let step_minor = settings.step_minor();
    let each = |it: &'a TicketType| {
        let prices_minor = base_prices_minor.iter();
        let prices_minor = prices_minor.map(move |minor| it.price.of_minor(*minor, step_minor));
        prices_minor.map(move |price_minor| (it.id.as_str(), price_minor))
    };
    check_prices(gateway, settings, types.into_iter().flat_map(each))
}

/// What one unit costs of something that is on sale, now and later.
#[must_use]
pub fn now_and_later(price_minor: i64, later: &[PriceStep]) -> Vec<i64> {
    let later = later.iter().map(|step| step.price_minor);
    std::iter::once(price_minor).chain(later).collect()
}

/// Its prices now and later, and its types; nothing where there is no such pool or category.
#[must_use]
pub fn find<'a>(view: &'a AvailabilityView, of: &Priced) -> Option<(Vec<i64>, &'a [TypeView])> {
    match of {
        Priced::Pool(pool) => {
            let found = view.pools.iter().find(|known| known.pool == *pool)?;
            Some((now_and_later(found.price_minor, &found.later), &found.types))
        }
        Priced::Category(name) => {
            let found = view.categories.iter().find(|known| known.name == *name)?;
            Some((now_and_later(found.price_minor, &found.later), &found.types))
        }
    }
}

/// Checks settings that are about to be changed, if currency or fees are others than before.
///
/// # Errors
/// The gateway does not take it.
pub async fn check_change(
    engine: &dyn Engine,
    gateway: Option<&dyn Gateway>,
    event: &EventId,
    before: &Settings,
    after: &Settings,
) -> Result<(), PriceError> {
    let is_same = (before.currency, before.fees) == (after.currency, after.fees);
    if is_same || after.complaint().is_some() {
        return Ok(());
    }
    if before.currency != after.currency {
        check_currency(gateway, after)?;
    }
    let view = engine.ask(event.clone(), AvailabilityNow).await?.value;
    let pools = view.pools.iter();
    let pools = pools.map(|it| (it.pool.as_str(), it.price_minor, &it.later, &it.types));
    let seats = view.categories.iter();
    let seats = seats.map(|it| (&*it.name, it.price_minor, &it.later, &it.types));
    for (name, price_minor, later, types) in pools.chain(seats) {
        let prices_minor = now_and_later(price_minor, later);
        check_prices(gateway, after, prices_minor.iter().map(|minor| (name, *minor)))?;
        check_types(gateway, after, types.iter().map(AsRef::as_ref), &prices_minor)?;
    }
    Ok(())
}
