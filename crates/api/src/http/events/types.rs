//! Ticket types: set by the organiser, and told with how they changed.

use super::prices::priced;
use super::read::run_and_show;
use super::shapes::EventBody;
use super::shapes::stock::{CategoryBody, PoolBody};
use crate::history::TypesChange;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::{ReadProblems, WriteProblems};
use crate::http::problem::Problem;
use crate::http::shapes::reason::reasoned;
use crate::http::shapes::types::NewType;
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, FreeText, IdText};
use crate::prices::{check_types, find};
use axum::extract::State;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::question::AvailabilityNow;
use onrush_saga::Sagas;
use onrush_store::Ask;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

reasoned! {
    /// The ticket types of a pool, or of a category of seats.
    NewTypes {
        /// The pool, if it is about one.
        #[serde(default)]
        #[schema(value_type = Option<IdText>)]
        pool: Option<String>,
        /// The category of seats, if it is about one.
        #[serde(default)]
        #[schema(value_type = Option<FreeText>)]
        category: Option<Box<str>>,
        /// All its types from now on, the one of units that none is named for first; none is no types.
        #[schema(max_items = 20)]
        types: Vec<NewType>,
    }
}

/// Ticket types, and how they came to be what they are.
#[derive(Serialize, ToSchema)]
pub struct TicketTypes {
    /// Each pool, in the order they were added.
    pools: Vec<PoolBody>,
    /// Each price category of seats, in the order they were added.
    categories: Vec<CategoryBody>,
    /// How types changed: the latest 500 changes, oldest first.
    history: Vec<TypesChange>,
}

/// Sets the ticket types of a pool's units or a category's seats, all of them at once.
///
/// What is held, being paid for, or sold keeps its types and what they cost.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/types", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = NewTypes,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn set_types(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    JsonBody(NewTypes { pool, category, types, why, .. }): JsonBody<NewTypes>,
) -> Result<Json<EventBody>, Problem> {
    let (_, of) = priced(pool, category)?;
    let types = types.into_iter().enumerate().map(|(nth, it)| it.ticket_type(nth));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let (_, view) = sale.view_event(&event).await?;
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    // What there is not is for the rules to refuse.
    if let Some((base_prices_minor, _)) = find(&left, &of) {
        check_types(sagas.gateway(), &view.settings, &types, &base_prices_minor)
            .map_err(|error| Problem::from(error).about("types"))?;
    }
    let command = Command::SetTypes { of, types, reason: operator.because(why) };
    run_and_show(&sale, &event, command).await.map_err(Problem::named_in_body)
}

/// Which ticket types there are, and how that changed.
///
/// The whole feed is read for it, which takes a few seconds for each million decisions; one
/// question at a time.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/types", tag = "admin",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The types", body = TicketTypes), ReadProblems),
)]
pub async fn types(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Json<TicketTypes>, Problem> {
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let history = units.histories.of_types(&event).await?;
    let (_, view) = sale.view_event(&event).await?;
    let pools = PoolBody::all(&left.pools, &view.settings);
    let categories = CategoryBody::all(left.categories, &view.settings);
    Ok(Json(TicketTypes { pools, categories, history }))
}
