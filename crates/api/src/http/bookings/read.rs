//! A visitor's own bookings: one, or page by page.

use super::find::event_of_booking;
use super::keeper::{Keeper, Kept};
use super::shapes::{BookingBody, Bookings};
use crate::http::body::json;
use crate::http::caller::{Ids, Strict, Visitor};
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::page_size;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, IdText};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use onrush_base::auth::names::event_of;
use onrush_core::Refusal;
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::question::BookingsOf;
use onrush_core::settings::{RefundNow, Settings};
use onrush_core::view::{EventView, HoldView};
use onrush_store::{Ask, Engine, Failure};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// How long ago the event of a hold may have been looked at.
const LOOK_IS_GOOD_FOR: Duration = Duration::from_secs(1);

/// One of the visitor's own bookings, or the one whose link is shown; also one that ended long ago.
#[utoipa::path(
    get, path = "/api/v1/bookings/{booking}", tag = "bookings",
    params(("booking" = IdText, Path)),
    responses((status = 200, description = "The booking", body = BookingBody), ReadProblems),
    security(("visitor" = []), ("link" = []))
)]
pub async fn booking(
    State(sale): State<Arc<Sale>>,
    Ids(booking): Ids<BookingId>,
    keeper: Keeper,
) -> Result<Response, Problem> {
    let event = event_of_booking(&booking)?;
    let kept = keeper.find_ever(&event, &booking).await?;
    let body = match &kept {
        Kept::Now(view) => {
            let refund_now = RefundsNow::default().of(&sale, &event, view).await?;
            let latest_until = latest_until(&sale, &event, view).await?;
            BookingBody::new(&event, view).with_refund(refund_now).with_latest(latest_until)
        }
        Kept::Past(row) => BookingBody::of_past(row),
    };
    Ok(json(StatusCode::OK, &body))
}

/// When a hold runs out at the latest; `None` for what is not held. Whoever follows a hold asks every
/// few seconds, so that one look at the event is for all of them.
async fn latest_until(
    sale: &Sale,
    event: &EventId,
    view: &HoldView,
) -> Result<Option<Time>, Problem> {
    if view.state.status() != HoldStatus::Held {
        return Ok(None);
    }
    let seen = sale.looks.event(event, LOOK_IS_GOOD_FOR).await?;
    let EventView { settings, gaps, .. } = &*seen.value;
    Ok(Some(settings.latest_until(&view.terms, gaps)))
}

/// What buyers get back who cancel now: the settings of the event that was asked about last.
#[derive(Default)]
struct RefundsNow(Option<(EventId, Time, Settings)>);

impl RefundsNow {
    /// What the buyer of a booking gets back; `None` if they cannot cancel. Only for a booking that
    /// is confirmed the event is asked for its settings, once.
    async fn of(
        &mut self,
        sale: &Sale,
        event: &EventId,
        view: &HoldView,
    ) -> Result<Option<RefundNow>, Problem> {
        if view.state.status() != HoldStatus::Confirmed {
            return Ok(None);
        }
        if self.0.as_ref().is_none_or(|(known, ..)| known != event) {
            let (at, event_view) = sale.view_event(event).await?;
            self.0 = Some((event.clone(), at, event_view.settings));
        }
        let known = self.0.as_ref();
        Ok(known.and_then(|(_, at, settings)| view.refund_now(settings, *at)))
    }
}

/// Of which event, and which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BookingsQuery {
    /// Only of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// `next` of the page before.
    #[param(value_type = Option<IdText>, nullable = false)]
    after: Option<BookingId>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// Events that are asked for one page. Whoever lists bookings knows nothing of how many events there
/// are, and each that is asked is work that others wait for.
const MOST_EVENTS: usize = 100;

/// The visitor's own bookings, page by page: events in the order they were created, oldest first in each.
///
/// A page is of 100 events at most, so that it may be short, or empty, and yet not the last.
#[utoipa::path(
    get, path = "/api/v1/bookings", tag = "bookings",
    params(BookingsQuery),
    responses((status = 200, description = "A page of bookings", body = Bookings), ReadProblems),
    security(("visitor" = []))
)]
pub async fn bookings(
    State(sale): State<Arc<Sale>>,
    Visitor(user): Visitor,
    Strict(query): Strict<BookingsQuery>,
) -> Result<Response, Problem> {
    let BookingsQuery { event, after, limit } = query;
    let limit = page_size(limit)?;
    let is_list = event.is_none();
    let mut events = match event {
        Some(event) => vec![event],
        None => sale.engine.events().await?.value,
    };
    let after = match after {
        Some(after) => go_on(&mut events, after)?,
        None => None,
    };
    let of = BookingsOf { user, after, limit: u32::try_from(limit).unwrap_or(u32::MAX) };
    let Page { found, next } = page_of(&*sale.engine, &events, is_list, of).await?;
    let mut refunds_now = RefundsNow::default();
    let mut bookings = Vec::with_capacity(found.len());
    for (event, view) in &found {
        let refund_now = refunds_now.of(&sale, event, view).await?;
        let latest_until = latest_until(&sale, event, view).await?;
        let body = BookingBody::new(event, view).with_refund(refund_now);
        bookings.push(body.with_latest(latest_until));
    }
    Ok(json(StatusCode::OK, &Bookings { bookings, next: next.as_ref() }))
}

/// Leaves the events of which something is left after `after`: a booking, which is given back, or all
/// of an event, whose id has a dot behind it then, as no booking's has.
fn go_on(events: &mut Vec<EventId>, after: BookingId) -> Result<Option<BookingId>, Problem> {
    let whole = after.as_str().strip_suffix('.');
    let begun = match whole {
        Some(event) => event.parse().ok(),
        None => event_of(after.as_str()),
    };
    let index = events.iter().position(|event| Some(event) == begun.as_ref());
    let index = index.ok_or_else(no_such_page)?;
    if whole.is_some() {
        events.drain(..=index);
        return Ok(None);
    }
    events.drain(..index);
    Ok(Some(after))
}

/// A page of bookings, and what it ends with if it is not the last.
struct Page<'a> {
    found: Vec<(&'a EventId, HoldView)>,
    next: Option<BookingId>,
}

/// The bookings of these events, in their order, as many as `of` wants in all; its `after` is of the
/// first event.
async fn page_of<'a>(
    engine: &dyn Engine,
    events: &'a [EventId],
    is_list: bool,
    of: BookingsOf,
) -> Result<Page<'a>, Problem> {
    let BookingsOf { user, mut after, limit } = of;
    let limit = limit as usize;
    let mut found: Vec<(&EventId, HoldView)> = Vec::new();
    for event in events.iter().take(MOST_EVENTS) {
        // One more than is wanted says whether there are more.
        let wanted = limit + 1 - found.len();
        if wanted == 0 {
            break;
        }
        let page = BookingsOf {
            user: user.clone(),
            after: after.take(),
            limit: u32::try_from(wanted).unwrap_or(u32::MAX),
        };
        let answer = match engine.ask(event.clone(), page).await {
            Ok(answer) => answer,
            Err(Failure::Refused(Refusal::ReservationNotFound)) => return Err(no_such_page()),
            // It was archived since the list was read.
            Err(Failure::Refused(Refusal::EventArchived { .. })) if is_list => continue,
            Err(failure) => return Err(failure.into()),
        };
        found.extend(answer.value.into_iter().map(|view| (event, view)));
    }
    if found.len() > limit {
        found.truncate(limit);
        let next = found.last().map(|(_, view)| view.terms.booking.clone());
        return Ok(Page { found, next });
    }
    let last_asked = (events.len() > MOST_EVENTS).then(|| &events[MOST_EVENTS - 1]);
    let next = last_asked.map(|event| {
        let all_of_it = format!("{event}.");
        all_of_it.parse().expect("an event id and a dot are as ids of bookings are")
    });
    Ok(Page { found, next })
}

fn no_such_page() -> Problem {
    let why = "after: you have no such booking there, or it ended long ago; begin again without it";
    Problem::new(Code::InvalidQuery, why).about("after")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use onrush_core::hold::{HoldState, HoldTerms};
    use onrush_core::ids::UserId;
    use onrush_core::lines::Lines;
    use onrush_core::{Query, View};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn name(number: usize) -> EventId {
        format!("event-{number}").parse().unwrap()
    }

    fn booking_of(event: &EventId) -> HoldView {
        let terms = HoldTerms {
            booking: format!("{event}.{}", "0".repeat(32)).parse().unwrap(),
            user: "ann".parse().unwrap(),
            lines: Lines::default(),
            asked: None,
            prices_minor: Vec::new(),
            sources: Vec::new(),
            types: None,
            amount_minor: 0,
            fee_minor: 0,
            created_at: Time(1),
        };
        let state = HoldState::Held { until: Time(2) };
        let (terms, checked_in) = (Arc::new(terms), Vec::new());
        HoldView { terms, state, payments: 0, extensions: 0, checked_in }
    }

    #[tokio::test]
    async fn a_page_asks_a_hundred_events_and_the_next_goes_on_behind_them() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let told = move |event: &EventId, query: &Query| {
            assert!(matches!(query, Query::Bookings(BookingsOf { after: None, .. })));
            counted.fetch_add(1, Ordering::Relaxed);
            let theirs = (*event == name(250)).then(|| booking_of(event));
            Some(Ok(View::Bookings(theirs.into_iter().collect())))
        };
        let events: Vec<EventId> = (0..1_000).map(name).collect();
        let engine = EngineStub::telling(told);
        let user: UserId = "ann".parse().unwrap();
        let (mut after, mut found) = (None, Vec::new());
        for page in 1..=10 {
            let mut left = events.clone();
            let after_booking = match after.take() {
                Some(after) => go_on(&mut left, after).unwrap(),
                None => None,
            };
            assert_eq!(after_booking, None, "no page ends with a booking");
            let of = BookingsOf { user: user.clone(), after: None, limit: 100 };
            let Page { found: theirs, next } = page_of(&engine, &left, true, of).await.unwrap();
            found.extend(theirs.into_iter().map(|(event, _)| event.clone()));
            assert_eq!(asked.load(Ordering::Relaxed), page * 100);
            after = next;
        }
        assert_eq!((after, found), (None, vec![name(250)]));
        let gone = "elsewhere.".parse().unwrap();
        assert!(go_on(&mut events.clone(), gone).is_err());
    }
}
