//! Archiving an event: what it takes up is given back, and what it was stays in the history.

use super::read::is_archived;
use crate::http::body::{Json, JsonBody};
use crate::http::bookings::buyer::Erased;
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, FreeText, TimeMs};
use axum::extract::State;
use onrush_core::ids::EventId;
use onrush_core::{Command, Refusal, Time};
use onrush_ledger::Ledger;
use onrush_ledger::booking::BuyerOf;
use onrush_ledger::receipt::ReceiptRule;
use onrush_saga::Sagas;
use onrush_store::{Answer, Ask};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// Why an event is archived.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Archiving {
    /// Why.
    #[schema(value_type = FreeText)]
    why: Box<str>,
}

/// An event that was archived.
#[derive(Serialize, ToSchema)]
pub struct ArchivedEvent {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// When.
    #[schema(value_type = TimeMs)]
    archived_at: Time,
}

/// Frees all that an event takes up whose sale is closed, for good; its history stays. While
/// bookings are confirmed, that waits until the event begins.
#[utoipa::path(
    post, path = "/api/v1/admin/events/{event}/archive", tag = "admin",
    params(("event" = EventIdText, Path)),
    request_body = Archiving,
    responses((status = 200, description = "The event is archived", body = ArchivedEvent), WriteProblems),
)]
pub async fn archive_event(
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    State(sagas): State<Arc<Sagas>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(event): Ids<EventId>,
    operator: Operator,
    JsonBody(Archiving { why }): JsonBody<Archiving>,
) -> Result<Json<ArchivedEvent>, Problem> {
    // What is not there, or was archived, is told before anything about its money.
    settled(&sale, &sagas, &*ledger, &event).await?;
    let command = Command::Archive { reason: operator.because(why) };
    let answer: Answer<()> = sale.engine.run(event.clone(), command).await?;
    units.boards.forget(&event);
    sale.looks.forget(&event);
    Ok(Json(ArchivedEvent { event, archived_at: answer.at }))
}

/// Forgets who bought something of an archived event: names, mail addresses, languages, also on
/// receipts; their links open nothing any more. Numbers and amounts stay.
#[utoipa::path(
    delete, path = "/api/v1/admin/events/{event}/archive", tag = "admin",
    operation_id = "erase_archived_event",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "How many bookings' buyers were erased", body = Erased),
        WriteProblems),
)]
pub async fn erase_archived(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Ids(event): Ids<EventId>,
    _: Operator,
) -> Result<Json<Erased>, Problem> {
    match sale.view_event(&event).await {
        Err(problem) if is_archived(&problem) => {}
        Err(problem) => return Err(problem),
        Ok(_) => {
            let why = "archive the event first".into();
            return Err(Refusal::OtherStepFirst { why }.into());
        }
    }
    let erased = ledger.erase_buyer(BuyerOf::Event(event)).await?;
    Ok(Json(Erased { erased }))
}

/// Nothing of the event's money is still to come: no payment and no refund is under way, no saga is
/// stuck, and every document is issued. The ledger has followed everything that was decided before.
async fn settled(
    sale: &Sale,
    sagas: &Sagas,
    ledger: &dyn Ledger,
    event: &EventId,
) -> Result<(), Problem> {
    if sale.followed_at(ledger, event).await?.is_none() {
        let why = "the ledger has not followed the sale so far; try again in a moment";
        return Err(Problem::new(Code::MoneyUnderWay, why));
    }
    let rule = sagas.receipt_rule();
    let open = ledger.open_money(event, rule.unwrap_or(ReceiptRule::EVERY)).await?;
    let without_document = if rule.is_some() { open.without_document } else { 0 };
    if open.under_way == 0 && without_document == 0 {
        return Ok(());
    }
    let facts = Map::from_iter([
        ("under_way".to_owned(), Value::from(open.under_way)),
        ("without_document".to_owned(), Value::from(without_document)),
    ]);
    let why = format!(
        "money of {} bookings is under way, and {without_document} lack a receipt; see the sagas, \
         and try again",
        open.under_way
    );
    Err(Problem::new(Code::MoneyUnderWay, why).with(facts))
}
