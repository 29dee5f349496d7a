//! How a sequence ends: nobody is left, the event begins, and it is archived.

use super::Generator;
use crate::truth::Op;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Command, Event};

impl Generator {
    /// Time goes on until nobody waits, is in or holds anything, mostly, and if need be until the
    /// event begins; then it is archived.
    pub(super) fn end_for_good(&mut self) {
        let reason = self.usual_reason();
        self.ask(Command::Archive { reason: reason.clone() });
        let in_use = |event: &Event| {
            event.snapshot().any(|row| match row {
                SnapshotRow::Place(_) | SnapshotRow::Session(_) => true,
                SnapshotRow::Hold(row) => row.state.until().is_some(),
                _ => false,
            })
        };
        for _ in 0..400 {
            let due = self.truth.event.next_deadline();
            let Some(due) = due.filter(|_| in_use(&self.truth.event)) else { break };
            if due > self.truth.now() {
                self.push(Op::Clock(due));
            }
            if self.truth.is_due() {
                self.ask(Command::Tick);
            }
        }
        self.ask(Command::Archive { reason: reason.clone() });
        let starts_at = self.view().and_then(|view| view.settings.starts_at);
        let moments = starts_at.into_iter().flat_map(|at| [at.plus_ms(-1), at]);
        for clock in moments {
            if clock > self.truth.now() {
                self.push(Op::Clock(clock));
                self.ask(Command::Archive { reason: reason.clone() });
            }
        }
    }
}
