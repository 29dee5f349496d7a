//! Prices: changed, now or from some time on, and explained.

use super::read::run_and_show;
use super::shapes::EventBody;
use super::shapes::stock::{CategoryBody, PoolBody};
use super::shapes::times::check_unit;
use crate::history::PriceChange;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::lines::id;
use crate::http::shapes::reason::reasoned;
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, FreeText, IdText, PriceNumber, TimeMs};
use crate::json::whole::Whole;
use crate::prices::{check_prices, check_types, find, now_and_later};
use axum::extract::State;
use onrush_core::ids::EventId;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::AvailabilityNow;
use onrush_core::{Command, Time};
use onrush_saga::Sagas;
use onrush_store::Ask;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

reasoned! {
    /// Another price of a pool, or of a category of seats.
    NewPrice {
        /// The pool, if it is about one.
        #[serde(default)]
        #[schema(value_type = Option<IdText>)]
        pool: Option<String>,
        /// The category of seats, if it is about one.
        #[serde(default)]
        #[schema(value_type = Option<FreeText>)]
        category: Option<Box<str>>,
        /// The price of one unit from now on, in minor units; 0 is free of charge.
        #[schema(value_type = PriceNumber)]
        price_minor: Whole<i64>,
        /// What it costs later, the earliest first, at most 20 prices; whatever was to come before is
        /// forgotten.
        #[serde(default)]
        #[schema(max_items = 20)]
        later: Vec<NewStep>,
    }
}

/// A price from some time on.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStep {
    /// From when on.
    #[schema(value_type = TimeMs)]
    from: Whole<i64>,
    /// The price of one unit, in minor units.
    #[schema(value_type = PriceNumber)]
    price_minor: Whole<i64>,
}

/// Prices, and how they came to be what they are.
#[derive(Serialize, ToSchema)]
pub struct Prices {
    /// Each pool, in the order they were added.
    pools: Vec<PoolBody>,
    /// Each price category of seats, in the order they were added.
    categories: Vec<CategoryBody>,
    /// How prices changed: the latest 500 changes, oldest first.
    history: Vec<PriceChange>,
}

/// Sets what a pool's units or a category's seats cost, from now on and later.
///
/// What is held, being paid for, or sold keeps its price. A price that is to come holds from its
/// time on.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/prices", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = NewPrice,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn change_price(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    JsonBody(NewPrice { pool, category, price_minor, later, why, .. }): JsonBody<NewPrice>,
) -> Result<Json<EventBody>, Problem> {
    let (name, of) = priced(pool, category)?;
    let step = |NewStep { from, price_minor }| PriceStep {
        from: Time(from.0),
        price_minor: price_minor.0,
    };
    let (price_minor, later) = (price_minor.0, later.into_iter().map(step).collect::<Vec<_>>());
    later.iter().try_for_each(|step| check_unit("later", step.from))?;
    let (_, view) = sale.view_event(&event).await?;
    let now = [(name.as_str(), price_minor)];
    check_prices(sagas.gateway(), &view.settings, now)
        .map_err(|error| Problem::from(error).about("price_minor"))?;
    let then = later.iter().map(|step| (name.as_str(), step.price_minor));
    check_prices(sagas.gateway(), &view.settings, then)
        .map_err(|error| Problem::from(error).about("later"))?;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    if let Some((_, types)) = find(&left, &of) {
        let types = types.iter().map(AsRef::as_ref);
        check_types(sagas.gateway(), &view.settings, types, &now_and_later(price_minor, &later))
            .map_err(|error| Problem::from(error).about("price_minor"))?;
    }
    let reason = operator.because(why);
    let command = Command::ChangePrice { of, price_minor, later, reason };
    run_and_show(&sale, &event, command).await.map_err(Problem::named_in_body)
}

/// The one of the two that is named, and its name.
///
/// # Errors
/// `INVALID_BODY` for none or both, `INVALID_ID`.
pub(super) fn priced(
    pool: Option<String>,
    category: Option<Box<str>>,
) -> Result<(String, Priced), Problem> {
    match (pool, category) {
        (Some(pool), None) => {
            let id = id(&pool).map_err(|problem| problem.about("pool"))?;
            Ok((pool, Priced::Pool(id)))
        }
        (None, Some(category)) => Ok((category.to_string(), Priced::Category(category))),
        (Some(_), Some(_)) | (None, None) => {
            let why = "name a pool or a category, one of the two";
            Err(Problem::new(Code::InvalidBody, why).about("pool"))
        }
    }
}

/// What everything costs, now and later, and how that changed.
///
/// The whole feed is read for it, which takes a few seconds for each million decisions; one
/// question at a time.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/prices", tag = "admin",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The prices", body = Prices), ReadProblems),
)]
pub async fn prices(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Json<Prices>, Problem> {
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let history = units.histories.of_prices(&event).await?;
    let (_, view) = sale.view_event(&event).await?;
    let pools = PoolBody::all(&left.pools, &view.settings);
    let categories = CategoryBody::all(left.categories, &view.settings);
    Ok(Json(Prices { pools, categories, history }))
}
