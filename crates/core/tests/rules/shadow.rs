//! What follows the rules through every test: nothing here. The conformance tests of the engines
//! include these tests, and have an engine in this place.

use onrush_core::event::Decision;
use onrush_core::{Command, Event, Refusal, Time};

/// Follows an event, and fails where it does not arrive at the same.
#[derive(Default)]
pub(crate) struct Shadow;

impl Shadow {
    /// Begins with this state, or goes on with it.
    pub(crate) fn replace(&mut self, _now: Time, _event: &Event) {}

    /// Takes the step that the rules took.
    pub(crate) fn follow(
        &mut self,
        _now: Time,
        _command: &Command,
        _decided: &Result<Decision, Refusal>,
    ) {
    }

    /// Compares the whole state.
    pub(crate) fn check(&self, _now: Time, _event: &Event) {}
}
