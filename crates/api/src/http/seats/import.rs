//! Adding the seats of a seating plan.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::events::read::event_answer;
use crate::http::events::shapes::EventBody;
use crate::http::faults::broken;
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, PriceNumber};
use crate::json::whole::Whole;
use crate::plans::{Import, Plan};
use crate::prices::check_prices;
use axum::extract::State;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::question::SeatsNow;
use onrush_saga::Sagas;
use onrush_serve::bodies::MAX_PLAN_BYTES;
use onrush_store::{Ask, Failure};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use utoipa::ToSchema;

/// A seating plan and what its seats cost.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatMapImport {
    /// A pretix seating plan.
    plan: Plan,
    /// The price of each category that seats are in, by name, in minor units; 0 is free of charge.
    #[schema(value_type = BTreeMap<String, PriceNumber>)]
    prices: BTreeMap<String, Whole<i64>>,
}

/// Adds the seats of a pretix seating plan, all or nothing; at most 32 MiB.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/seat-map", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = SeatMapImport,
    responses((status = 200, description = "The event", body = EventBody), WriteProblems),
)]
pub async fn import_seat_map(
    State(sale): State<Arc<Sale>>,
    State(sagas): State<Arc<Sagas>>,
    State(units): State<Arc<Units>>,
    Ids(event): Ids<EventId>,
    _: Operator,
    JsonBody(body): JsonBody<SeatMapImport, MAX_PLAN_BYTES>,
) -> Result<Json<EventBody>, Problem> {
    let prices: BTreeMap<String, i64> =
        body.prices.into_iter().map(|(name, price)| (name, price.0)).collect();
    let (_, view) = sale.view_event(&event).await?;
    let named = prices.iter().map(|(name, price_minor)| (name.as_str(), *price_minor));
    check_prices(sagas.gateway(), &view.settings, named)?;
    let import = body.plan.import(&prices).map_err(|why| Problem::new(Code::InvalidPlan, why))?;
    sale.turns.take("seat-map", add_seats(&sale, &units, &event, import)).await
}

async fn add_seats(
    sale: &Sale,
    units: &Units,
    event: &EventId,
    import: Import,
) -> Result<Json<EventBody>, Problem> {
    let drawn = units.plans.load(event).await;
    let drawn = drawn.map_err(|error| broken("reading the seat map", &error))?;
    let import = import.after(drawn.as_ref());
    let present = sale.engine.ask(event.clone(), SeatsNow).await?.value;
    let present: HashSet<_> = present.into_iter().map(|seat| seat.seat).collect();
    // Where a seat exists already the rules refuse the whole plan, and the drawing there is stays as it is.
    let mut added = None;
    if import.seats.iter().all(|seat| !present.contains(&seat.seat)) {
        // The drawing first: seats are never on sale without one.
        let kept = units.plans.add(event, import.drawing).await;
        added = Some(kept.map_err(|error| broken("keeping the seat map", &error))?);
    }
    let command = Command::AddSeats { categories: import.categories, seats: import.seats };
    let ran = sale.run::<()>(event, command).await;
    // Where the seats may have been added, the drawing stays: of seats, only those that exist are shown.
    if let Some(added) = added
        && ran.as_ref().is_err_and(Failure::changed_nothing)
    {
        let taken = units.plans.take_back(added).await;
        taken.map_err(|error| broken("taking the seat map back", &error))?;
    }
    ran?;
    event_answer(sale, event).await
}
