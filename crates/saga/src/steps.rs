//! How long the steps of sagas take, from the look at what is to be done until it is written down;
//! and the span of each.

use onrush_base::spans::TARGET;
use onrush_core::saga::Todo;
use onrush_ledger::saga::SagaRecord;
use onrush_store::durations::{Counted, Durations};
use std::time::Duration;
use strum::VariantArray;
use tracing::field::{Empty, debug};
use tracing::{Span, trace_span};

/// How long each kind of step took. One at rest was written down although nothing was to be done: it
/// was due, or money astray was dealt with.
#[derive(Debug, Default)]
pub struct Steps([Durations; Todo::VARIANTS.len()]);

impl Steps {
    /// Counts one more.
    pub(super) fn note(&self, todo: Todo, took: Duration) {
        self.0[todo as usize].note(took);
    }

    /// What was counted so far; what there was none of is left out.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, Counted)> {
        let all = Todo::VARIANTS.iter().zip(&self.0);
        let all = all.map(|(todo, durations)| (todo.into(), durations.counted()));
        all.filter(|(_, counted)| counted.times() > 0)
    }
}

/// The span of a step: of which booking, from where on, and what is to be done.
pub(super) fn span(record: &SagaRecord, todo: Todo) -> Span {
    let saga = &record.saga;
    trace_span!(
        target: TARGET,
        "saga",
        otel.name = <&str>::from(todo),
        onrush.event = %saga.event,
        onrush.booking = %saga.booking,
        onrush.saga.step = ?saga.step,
        onrush.saga.tries = saga.tries,
        onrush.saga.next_step = Empty,
        onrush.saga.stuck = Empty,
        otel.status_code = Empty,
    )
}

/// Says where a step led.
pub(super) fn came_to(span: &Span, written: &SagaRecord) {
    let saga = &written.saga;
    span.record("onrush.saga.next_step", debug(saga.step));
    if saga.stuck.is_some() {
        span.record("onrush.saga.stuck", true);
        span.record("otel.status_code", "ERROR");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_counted_under_its_own_word() {
        let steps = Steps::default();
        for &todo in Todo::VARIANTS {
            steps.note(todo, Duration::from_millis(todo as u64));
        }
        let counted: Vec<_> = steps.counted().collect();
        assert_eq!(counted.len(), Todo::VARIANTS.len());
        for (&todo, (name, counted)) in Todo::VARIANTS.iter().zip(counted) {
            assert_eq!((name, counted.sum), (todo.into(), Duration::from_millis(todo as u64)));
        }
    }
}
