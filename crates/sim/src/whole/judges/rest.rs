//! Waits for what is left to do once nothing goes wrong any more, and sees that it comes to an end.

use super::super::operator::DeskReader;
use super::super::server::{Life, Server};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::BookingId;
use onrush_ledger::booking::BookingFilter;
use onrush_ledger::receipt::ReceiptRule;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Bookings that a violation names at most.
const MOST_NAMED: usize = 5;
/// Payments read at a time.
const PAGE: usize = 1_000;

/// Waits until no hold is to run out and no money and no message is under way any more. Where the bank's
/// desk gives money back, an operator reads what it did meanwhile, and does what is to be done.
pub(in super::super) async fn wait_for_rest(
    server: &Arc<Server>,
    patience: Duration,
    mut reader: Option<&mut DeskReader>,
    violations: &mut Vec<String>,
) {
    let begun = Instant::now();
    let unread = reader.is_some().then(|| "what the desk did".to_owned());
    let mut at_desk: Vec<String> = unread.into_iter().collect();
    loop {
        // What was decided last has to reach the ledger before that can say that nothing is left.
        sleep(Duration::from_secs(60)).await;
        if let Some(reader) = reader.as_deref_mut()
            && !at_desk.is_empty()
        {
            at_desk = reader.read().await;
        }
        let life = server.life().expect("it was started");
        let held = BookingFilter { status: Some(HoldStatus::Held), ..BookingFilter::default() };
        let held = match life.ledger.bookings(held, MOST_NAMED).await {
            Ok(page) => page.rows.into_iter().map(|(row, _)| row.booking).collect::<Vec<_>>(),
            Err(error) => {
                violations.push(format!("the ledger does not answer: {error}"));
                return;
            }
        };
        let totals = life.ledger.totals().await;
        let channels = channels_with_more(&life, server).await;
        let receipts = receipts_missing(&life, server).await;
        match totals {
            Ok(totals)
                if totals.open_sagas == 0
                    && totals.stuck_sagas == 0
                    && totals.refunding_minor == 0
                    && at_desk.is_empty()
                    && channels.is_empty()
                    && receipts.is_empty()
                    && held.is_empty() =>
            {
                return;
            }
            Ok(_) if begun.elapsed() > patience && !held.is_empty() => {
                violations.push(format!("{held:?} are still held, as the ledger has it"));
                return;
            }
            Ok(_) if begun.elapsed() > patience && !channels.is_empty() => {
                violations.push(format!("{channels:?} still have something to tell"));
                return;
            }
            Ok(_) if begun.elapsed() > patience && !receipts.is_empty() => {
                violations.push(format!("{receipts:?} still lack receipts, as the ledger has it"));
                return;
            }
            Ok(_) if begun.elapsed() > patience && !at_desk.is_empty() => {
                let some = &at_desk[..at_desk.len().min(MOST_NAMED)];
                violations.push(format!("an operator has still to see to {some:?}"));
                return;
            }
            Ok(totals) if begun.elapsed() > patience => {
                violations.push(format!(
                    "{} sagas have not ended {patience:?} after everything works, {} of them \
                     stuck, and {} are still to go back",
                    totals.open_sagas, totals.stuck_sagas, totals.refunding_minor
                ));
                return;
            }
            // The desk is closed: once all was read, only what is stuck since is left to see to.
            Ok(totals) if totals.stuck_sagas > 0 && reader.is_some() => {
                at_desk.push("what is stuck".into());
            }
            Ok(_) => {}
            Err(error) => {
                violations.push(format!("the ledger does not answer: {error}"));
                return;
            }
        }
    }
}

/// Channels over which something is still to be told.
async fn channels_with_more(life: &Life, server: &Arc<Server>) -> Vec<String> {
    let mut left = Vec::new();
    for channel in server.receivers().channels() {
        if !matches!(life.ledger.next_delivery(&channel).await, Ok(None)) {
            left.push(channel);
        }
    }
    left
}

/// Bookings that were paid, or of which something went back, and whose documents are still to be
/// issued.
async fn receipts_missing(life: &Life, server: &Arc<Server>) -> Vec<BookingId> {
    let (mut missing, mut after) = (Vec::new(), None);
    while server.has_receipts() && missing.len() < MOST_NAMED {
        let Ok(page) = life.ledger.takings(ReceiptRule::EVERY, after, PAGE).await else { break };
        let lacks = page.rows.into_iter().filter(|taking| taking.is_missing);
        missing.extend(lacks.map(|taking| taking.booking));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    missing
}
