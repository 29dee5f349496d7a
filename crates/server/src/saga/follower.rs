//! Follows the feed into the ledger: bookings and catalogue as rows, and sagas that have something to do.

use super::rows::saga_of_hold;
use super::{Sagas, kill};
use onrush_core::Change;
use onrush_core::booking::{Position, Step};
use onrush_core::ids::{EventId, PaymentId};
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use onrush_ledger::booking::Booking;
use onrush_ledger::projection::{Fact, Moved, Projection};
use onrush_store::{FeedEntry, Seq};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a ledger or a journal that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows the feed until the engine has stopped.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    let mut currencies = HashMap::new();
    loop {
        let cursor = match sagas.ledger.cursor().await {
            Ok(cursor) => cursor,
            Err(error) => {
                tracing::error!(%error, "the ledger's place in the feed cannot be read");
                if sagas.is_stopping() {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        match follow(&sagas, Seq(cursor), &mut currencies).await {
            Ok(()) => return,
            Err(error) => {
                tracing::error!(error, "the feed cannot be followed; trying again");
                if sagas.is_stopping() {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn follow(
    sagas: &Arc<Sagas>,
    after: Seq,
    currencies: &mut HashMap<EventId, Currency>,
) -> Result<(), String> {
    let mut feed = sagas.engine.subscribe(after);
    loop {
        let page = tokio::select! {
            page = feed.next() => page?,
            () = sagas.stopped() => None,
        };
        let Some(page) = page else { return Ok(()) };
        let projection = project(sagas, &page, currencies).await?;
        let wakes = projection.facts.iter().any(|fact| match fact {
            Fact::Moved(moved) => moved.wake,
            Fact::Event { .. }
            | Fact::Price { .. }
            | Fact::Held { .. }
            | Fact::CheckedIn { .. } => false,
        });
        let holds = projection.facts.iter().any(|fact| matches!(fact, Fact::Held { .. }));
        let tells = !projection.messages.is_empty();
        let held = Position { step: Step::ReserveOk, stage: None };
        if holds {
            kill::point("before", held);
        }
        sagas.ledger.project(projection).await.map_err(|error| error.to_string())?;
        if holds {
            kill::point("after", held);
        }
        if wakes {
            sagas.due.notify_one();
        }
        if tells {
            sagas.told.notify_waiters();
        }
    }
}

async fn project(
    sagas: &Sagas,
    page: &[Arc<FeedEntry>],
    currencies: &mut HashMap<EventId, Currency>,
) -> Result<Projection, String> {
    let mut projection = Projection::default();
    for entry in page {
        projection.cursor = entry.seq.0;
        for change in &entry.changes {
            if let Change::EventCreated { settings } | Change::SettingsChanged { settings } = change
            {
                currencies.insert(entry.event.clone(), settings.currency);
            }
            let currency = match currencies.get(&entry.event) {
                Some(currency) => *currency,
                None => {
                    let currency = sagas.currency(&entry.event).await.map_err(|e| e.to_string())?;
                    currencies.insert(entry.event.clone(), currency);
                    currency
                }
            };
            add(&mut projection.facts, entry, change, currency);
        }
    }
    Ok(projection)
}

/// What one change makes of the ledger's rows.
fn add(facts: &mut Vec<Fact>, entry: &FeedEntry, change: &Change, currency: Currency) {
    let (event, at) = (&entry.event, entry.at);
    let moved = |booking: &onrush_core::ids::BookingId,
                 status: &'static str,
                 payment: Option<&PaymentId>,
                 wake: bool| {
        Fact::Moved(Box::new(Moved {
            booking: booking.clone(),
            status,
            payment: payment.cloned(),
            refund_minor: 0,
            at,
            wake,
        }))
    };
    match change {
        Change::EventCreated { settings } | Change::SettingsChanged { settings } => {
            facts.push(catalogue(event, settings, at));
        }
        Change::PoolAdded { spec } => facts.push(Fact::Price {
            event: event.clone(),
            kind: "pool",
            name: spec.pool.to_string(),
            price_minor: spec.price_minor,
        }),
        Change::SeatsAdded { categories, .. } => {
            facts.extend(categories.iter().map(|category| Fact::Price {
                event: event.clone(),
                kind: "category",
                name: category.name.to_string(),
                price_minor: category.price_minor,
            }));
        }
        Change::HoldPlaced { terms, until } => {
            let booking = Box::new(Booking {
                booking: terms.booking.clone(),
                event: event.clone(),
                user: terms.user.clone(),
                status: "held".into(),
                lines: terms.lines.clone(),
                amount_minor: terms.amount_minor,
                fee_minor: terms.fee_minor,
                currency,
                payment: None,
                refund_minor: 0,
                checked_in: 0,
                created_at: terms.created_at,
                updated_at: at,
            });
            // What is free of charge needs no saga: the engine's own record is all there is to it.
            let priced = terms.amount_minor > 0;
            let saga = priced.then(|| Box::new(saga_of_hold(event, terms, currency, *until)));
            facts.push(Fact::Held { booking, saga });
        }
        Change::PaymentBegun { booking, payment, .. } => {
            facts.push(moved(booking, "paying", Some(payment), true));
        }
        Change::PaymentFailed { booking, .. } => facts.push(moved(booking, "held", None, false)),
        Change::HoldConfirmed { booking, payment } => {
            facts.push(moved(booking, "confirmed", payment.as_ref(), false));
        }
        Change::HoldConfirmedLate { booking, payment } => {
            facts.push(moved(booking, "confirmed", Some(payment), false));
        }
        Change::HoldReleased { booking } => facts.push(moved(booking, "released", None, false)),
        // A payment that ran has to be cancelled.
        Change::HoldExpired { booking } => facts.push(moved(booking, "expired", None, true)),
        Change::ConfirmedCancelled { booking, refund_minor, reason: _ } => {
            facts.push(Fact::Moved(Box::new(Moved {
                booking: booking.clone(),
                status: "cancelled",
                payment: None,
                refund_minor: *refund_minor,
                at,
                wake: true,
            })));
        }
        Change::CheckedIn { booking, ticket: _ } => {
            facts.push(Fact::CheckedIn { booking: booking.clone(), at });
        }
        Change::CapacityAdjusted { .. }
        | Change::UnitsBlocked { .. }
        | Change::UnitsUnblocked { .. }
        | Change::PrequeueOpened
        | Change::PrequeueClosed { .. }
        | Change::SaleOpened { .. }
        | Change::SalePaused
        | Change::SaleResumed
        | Change::SaleClosed
        | Change::PlaceTaken { .. }
        | Change::PlaceSeen { .. }
        | Change::PlaceLeft { .. }
        | Change::Admitted { .. }
        | Change::Arrived { .. }
        | Change::SessionEnded { .. }
        | Change::SlotFreed { .. }
        | Change::HoldExtended { .. }
        | Change::LatePaymentFailed { .. }
        | Change::HoldForgotten { .. }
        | Change::Claimed { .. }
        | Change::Declaimed { .. }
        | Change::ClaimedAdjusted { .. }
        | Change::ClaimForgotten { .. }
        | Change::Resumed { .. } => {}
    }
}

fn catalogue(event: &EventId, settings: &Settings, at: onrush_core::Time) -> Fact {
    Fact::Event {
        event: event.clone(),
        title: settings.title.to_string(),
        currency: settings.currency.to_string(),
        // Settings are plain data, so they are JSON.
        settings: serde_json::to_string(settings).unwrap_or_default(),
        at,
    }
}
