//! What planted bugs do to ticket types.

use super::{decide_on, each_hold};
use onrush_core::event::Decision;
use onrush_core::hold::HoldTerms;
use onrush_core::question::BookingOf;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::types::AskedTypes;
use onrush_core::view::Reply;
use onrush_core::{Command, Event, Refusal, Time};
use std::sync::Arc;

/// The command, with these types.
fn with_types(command: &Command, asked: AskedTypes) -> Command {
    let mut command = command.clone();
    if let Command::Hold { types, .. } | Command::HoldBest { types, .. } = &mut command {
        *types = asked;
    }
    command
}

/// A hold that has its types, and is charged as if all units were of the first ones.
pub(super) fn charge_the_first(
    event: &Event,
    at: Time,
    command: &Command,
    mut decision: Decision,
) -> Result<Decision, Refusal> {
    let untyped = event.decide(at, &with_types(command, AskedTypes::default()));
    let Ok(Decision { reply: Reply::Hold(untyped), .. }) = untyped else { return Ok(decision) };
    let charge = |terms: &mut HoldTerms| {
        (terms.amount_minor, terms.fee_minor) =
            (untyped.terms.amount_minor, untyped.terms.fee_minor);
    };
    if let (false, Reply::Hold(view)) = (decision.changes.is_empty(), &mut decision.reply) {
        charge(Arc::make_mut(&mut view.terms));
    }
    each_hold(decision, charge)
}

/// What the rules say if no type has a limit.
pub(super) fn without_limits(
    event: &Event,
    at: Time,
    command: &Command,
) -> Result<Decision, Refusal> {
    decide_on(event, at, command, |row| {
        if let SnapshotRow::Types(list) = row {
            list.types.iter_mut().for_each(|it| (it.min, it.max) = (0, None));
        }
    })
}

/// The answer to a hold that is known, whatever types it names.
pub(super) fn whatever_types(
    event: &Event,
    at: Time,
    command: &Command,
) -> Result<Decision, Refusal> {
    let (Command::Hold { booking, .. } | Command::HoldBest { booking, .. }) = command else {
        return event.decide(at, command);
    };
    let known = event.ask(at, BookingOf { booking: booking.clone(), user: None })?;
    let types = known.terms.types.as_ref().map(|types| types.asked.clone());
    event.decide(at, &with_types(command, types.unwrap_or_default()))
}
