//! Why a seat is what it is.

use super::shapes::SeatStatusName;
use crate::history::{Step, Subject, What};
use crate::http::body::Json;
use crate::http::caller::{Ids, Operator};
use crate::http::faults::{broken, refused};
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, IdText, TimeMs};
use axum::extract::State;
use onrush_core::ids::{BookingId, EventId, SeatId, UserId};
use onrush_core::question::{AvailabilityNow, SeatsNow};
use onrush_core::view::{SeatStatus, SeatView};
use onrush_core::{Refusal, Time};
use onrush_store::Ask;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A seat, and why it is what it is.
#[derive(Serialize, ToSchema)]
pub struct SeatHistory {
    #[schema(value_type = IdText)]
    seat: SeatId,
    /// Missing where no map was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    section: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    row: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    number: Option<Box<str>>,
    #[schema(value_type = String)]
    category: Arc<str>,
    price_minor: i64,
    #[schema(value_type = SeatStatusName)]
    status: SeatStatus,
    /// The booking that holds or has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// Whose booking that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    user: Option<UserId>,
    /// Who of the organiser's made it what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    by: Option<Box<str>>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    why: Option<Box<str>>,
    /// Since when it is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    since: Option<Time>,
    /// What happened to it: the latest 500 steps, oldest first.
    history: Vec<Step>,
}

/// Why a seat is free, held, sold or blocked: by whom, since when, and what happened before.
///
/// The whole feed is read for it, which takes a few seconds for each million decisions; one
/// question at a time.
#[utoipa::path(
    get, path = "/api/v1/admin/events/{event}/seats/{seat}", tag = "admin",
    params(("event" = EventIdText, Path), ("seat" = IdText, Path)),
    responses((status = 200, description = "The seat", body = SeatHistory), ReadProblems),
)]
pub async fn seat_history(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    Ids((event, seat)): Ids<(EventId, SeatId)>,
    _: Operator,
) -> Result<Json<SeatHistory>, Problem> {
    // Asked before the feed is read, so that what led to it is in the history.
    let seats = sale.engine.ask(event.clone(), SeatsNow).await?.value;
    let Some(view) = seats.into_iter().find(|view| view.seat == seat) else {
        return Err(refused(Refusal::SeatNotFound { seat }));
    };
    let left = sale.engine.ask(event.clone(), AvailabilityNow).await?.value;
    let category = left.categories.iter().find(|other| *other.name == *view.category);
    let price_minor = category.expect("a category that has a seat is there for good").price_minor;
    let drawing = units.plans.load(&event).await;
    let drawing = drawing.map_err(|error| broken("reading the seat map", &error))?;
    let drawn =
        drawing.and_then(|drawing| drawing.seats.into_iter().find(|drawn| drawn.id == seat));
    let (section, row, number) = match drawn {
        Some(drawn) => (Some(drawn.section), Some(drawn.row), Some(drawn.number)),
        None => (None, None, None),
    };

    let history = units.histories.of(&event, Subject::Seat(seat)).await?;
    let made_so = history.iter().rev().find(|step| has_made(step, &view));
    let body = SeatHistory {
        user: made_so.filter(|_| view.booking.is_some()).and_then(|step| step.user.clone()),
        by: made_so.and_then(|step| step.by.clone()),
        why: view.why.or_else(|| made_so.and_then(|step| step.why.clone())),
        since: made_so.map(|step| step.at),
        seat: view.seat,
        section,
        row,
        number,
        category: view.category,
        price_minor,
        status: view.status,
        booking: view.booking,
        history,
    };
    Ok(Json(body))
}

/// Whether a step is one that made the seat what it is. The last one is meant: what came after the
/// seat was looked at may be in the history, too.
fn has_made(step: &Step, view: &SeatView) -> bool {
    let of_its_booking = step.booking == view.booking;
    match view.status {
        SeatStatus::Free => match step.what {
            What::Added | What::Unblocked | What::Released | What::Expired | What::Cancelled => {
                true
            }
            What::Allotted => step.channel.is_none(),
            _ => false,
        },
        SeatStatus::Held => step.what == What::Held && of_its_booking,
        SeatStatus::Sold => step.what == What::Confirmed && of_its_booking,
        SeatStatus::Blocked if view.channel.is_some() => {
            matches!(step.what, What::Allotted | What::Released | What::Expired | What::Cancelled)
        }
        SeatStatus::Blocked => step.what == What::Blocked,
    }
}
