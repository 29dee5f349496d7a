//! Events, as anyone may see them.

use super::shapes::{EventBody, Events};
use crate::http::body::Json;
use crate::http::caller::{Ids, Strict};
use crate::http::once::outcome_unknown;
use crate::http::openapi::{EventProblems, OpenProblems};
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::page_size;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use axum::extract::State;
use onrush_core::ids::EventId;
use onrush_core::{Command, Refusal, Time};
use serde::Deserialize;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// Pauses before what was done is shown, while the engine is busy.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// The last event of the page before.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    after: Option<EventId>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// All events, in the order they were created.
#[utoipa::path(
    get, path = "/api/v1/events", tag = "events",
    params(EventsQuery),
    responses((status = 200, description = "A page of events", body = Events), OpenProblems),
)]
pub async fn events(
    State(sale): State<Arc<Sale>>,
    Strict(query): Strict<EventsQuery>,
) -> Result<Json<Events>, Problem> {
    let limit = page_size(query.limit)?;
    let mut ids = sale.engine.events().await?.value;
    if let Some(after) = query.after {
        let index = ids.iter().position(|id| *id == after).ok_or_else(no_such_page)?;
        ids.drain(..=index);
    }
    let more = ids.len() > limit;
    ids.truncate(limit);
    let mut events = Vec::with_capacity(ids.len());
    for id in &ids {
        match sale.view_event(id).await {
            Ok((at, view)) => events.push(EventBody::new(at, view)),
            Err(problem) if is_archived(&problem) => {}
            Err(problem) => return Err(problem),
        }
    }
    let next = if more { ids.pop() } else { None };
    Ok(Json(Events { events, next }))
}

/// After an event that is not listed there is no page, and not the last one either.
fn no_such_page() -> Problem {
    let why = "after: there is no such event, or it was archived meanwhile; begin again without it";
    Problem::new(Code::InvalidQuery, why).about("after")
}

/// Whether a listed event was archived meanwhile.
pub(in crate::http) fn is_archived(problem: &Problem) -> bool {
    problem.code() == Refusal::EventArchived { archived_at: Time::MIN }.code()
}

/// One event.
#[utoipa::path(
    get, path = "/api/v1/events/{event}", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The event", body = EventBody), EventProblems),
)]
pub async fn event(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
) -> Result<Json<EventBody>, Problem> {
    let seen = sale.looks.event(&event, Duration::ZERO).await?;
    Ok(Json(EventBody::new(seen.at, (*seen.value).clone())))
}

/// The event as it is after a change.
pub(in crate::http) async fn event_answer(
    sale: &Sale,
    event: &EventId,
) -> Result<Json<EventBody>, Problem> {
    let (at, view) = sale.view_event(event).await?;
    Ok(Json(EventBody::new(at, view)))
}

/// Runs a command and answers with the event as it is afterwards.
pub(in crate::http) async fn run_and_show(
    sale: &Sale,
    event: &EventId,
    command: Command,
) -> Result<Json<EventBody>, Problem> {
    sale.run::<()>(event, command).await?;
    show_done(|| event_answer(sale, event)).await
}

/// Shows what a command has done, also if the engine is busy just then.
async fn show_done<T, F>(show: impl Fn() -> F) -> Result<T, Problem>
where
    F: Future<Output = Result<T, Problem>>,
{
    for pause in PAUSES {
        match show().await {
            Err(problem) if problem.code() == Code::Busy.facts().0 => {
                tokio::time::sleep(pause).await
            }
            shown => return shown,
        }
    }
    show().await
}

/// Shows what moved units have come to. Where that cannot be, nobody may be told to ask for the same
/// again, which would move as many once more.
pub(in crate::http) async fn show_moved<T, F>(show: impl Fn() -> F) -> Result<T, Problem>
where
    F: Future<Output = Result<T, Problem>>,
{
    show_done(show).await.map_err(|problem| {
        tracing::warn!(code = problem.code(), "units were moved, and what there is is not shown");
        outcome_unknown()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_shown_once_the_engine_has_time() {
        let asked = Cell::new(0);
        let shown = show_done(|| {
            asked.set(asked.get() + 1);
            let busy = Problem::new(Code::Busy, "too much is asked at once");
            std::future::ready(if asked.get() < 3 { Err(busy) } else { Ok("shown") })
        });
        assert_eq!((shown.await.ok(), asked.get()), (Some("shown"), 3));
        let other = || std::future::ready(Err::<(), _>(Problem::new(Code::Internal, "broken")));
        assert!(show_done(other).await.is_err(), "nothing else is waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn units_that_were_moved_and_cannot_be_shown_are_not_to_be_moved_again() {
        for code in [Code::Busy, Code::EventRebuilding, Code::EngineUnreachable, Code::DiskLow] {
            let asked = Cell::new(0);
            let shown = show_moved(|| {
                asked.set(asked.get() + 1);
                std::future::ready(Err::<(), _>(Problem::new(code, "not now")))
            });
            let told = shown.await.err().map(|problem| problem.code());
            assert_eq!(told, Some("OUTCOME_UNKNOWN"), "{code:?}");
            let looks = if code == Code::Busy { PAUSES.len() + 1 } else { 1 };
            assert_eq!(asked.get(), looks, "{code:?}");
        }
    }
}
