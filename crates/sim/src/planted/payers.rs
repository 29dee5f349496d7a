//! What planted bugs do to payers.

use super::decide_on;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_core::event::Decision;
use onrush_core::ids::{BookingId, PayerId};
use onrush_core::payers::{NamedPayers, PayerBy};
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Command, Event, Refusal, Time};
use std::collections::BTreeMap;

/// Units that stay counted although they were given back or have run out.
#[derive(Debug, Default)]
pub(super) struct Kept {
    named: BTreeMap<BookingId, BTreeMap<PayerBy, PayerId>>,
    units: BTreeMap<(PayerBy, PayerId), u32>,
}

impl Kept {
    /// Follows a change, which is about to happen.
    pub(super) fn follow(&mut self, event: &Event, at: Time, change: &Change) {
        match change {
            Change::Booking(BookingChange::PayerNamed { booking, by, payer }) => {
                self.named.entry(booking.clone()).or_default().insert(*by, *payer);
            }
            Change::Hold(
                HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
            ) => {
                let question = BookingOf { booking: booking.clone(), user: None };
                let units = event.ask(at, question).map_or(0, |view| view.terms.lines.units());
                for payer in self.named.remove(booking).unwrap_or_default() {
                    *self.units.entry(payer).or_default() += units;
                }
            }
            _ => {}
        }
    }

    /// What the rules say if these units count as well.
    pub(super) fn with_them(
        &self,
        event: &Event,
        at: Time,
        command: &Command,
        decision: Decision,
    ) -> Result<Decision, Refusal> {
        let Command::NamePayer { by, payer, .. } = command else { return Ok(decision) };
        let Some(kept) = self.units.get(&(*by, *payer)) else { return Ok(decision) };
        let limit = event.ask(at, EventNow).ok().and_then(|view| view.settings.max_per(*by));
        match limit {
            Some(limit) if !decision.changes.is_empty() && *kept >= limit => {
                Err(Refusal::PayerLimitExceeded { by: *by, limit })
            }
            Some(_) | None => Ok(decision),
        }
    }
}

/// What the rules say to late money if nobody is named.
pub(super) fn of_nobody(event: &Event, at: Time, command: &Command) -> Result<Decision, Refusal> {
    decide_on(event, at, command, |row| {
        if let SnapshotRow::Hold(hold) = row {
            hold.payers = NamedPayers::default();
        }
    })
}
