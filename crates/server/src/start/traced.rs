//! An engine whose every command and question is a span.

use onrush_base::spans::TARGET;
use onrush_core::ids::EventId;
use onrush_core::{Command, Query, Reply, View};
use onrush_store::{Answer, AsOf, Engine, Failure, Feed, Figures, Hindrance, Pending, Seq};
use std::sync::Arc;
use std::time::Duration;
use tracing::field::Empty;
use tracing::{Instrument, Span, trace_span};

/// An engine that is watched. It stands before the real one only if somebody collects traces.
pub(super) struct Traced(pub(super) Arc<dyn Engine>);

impl Engine for Traced {
    fn execute(&self, event: EventId, command: Command) -> Pending<Reply> {
        let span = span(command.name(), &event);
        let pending = span.in_scope(|| self.0.execute(event, command));
        watched(span, pending)
    }

    fn query(&self, event: EventId, query: Query) -> Pending<View> {
        let span = span(query.name(), &event);
        let pending = span.in_scope(|| self.0.query(event, query));
        watched(span, pending)
    }

    fn query_since(&self, event: EventId, query: Query, as_of: AsOf) -> Pending<View> {
        let span = span(query.name(), &event);
        let pending = span.in_scope(|| self.0.query_since(event, query, as_of));
        watched(span, pending)
    }

    fn events(&self) -> Pending<Vec<EventId>> {
        self.0.events()
    }

    fn reach(&self) -> Pending<()> {
        self.0.reach()
    }

    fn hindrance(&self) -> Option<Hindrance> {
        self.0.hindrance()
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn subscribe(&self, after: Seq) -> Box<dyn Feed> {
        self.0.subscribe(after)
    }

    fn committed(&self) -> Seq {
        self.0.committed()
    }

    fn settled(&self, event: EventId) -> Pending<Seq> {
        self.0.settled(event)
    }

    fn waiting(&self) -> Duration {
        self.0.waiting()
    }

    fn figures(&self) -> Figures {
        self.0.figures()
    }
}

fn span(name: &'static str, event: &EventId) -> Span {
    trace_span!(
        target: TARGET,
        "engine",
        otel.name = name,
        onrush.event = %event,
        onrush.outcome = Empty,
        onrush.refusal = Empty,
        otel.status_code = Empty,
    )
}

fn watched<T: Send + 'static>(span: Span, pending: Pending<T>) -> Pending<T> {
    let answer = async move {
        let answer = pending.await;
        note(&answer);
        answer
    };
    Box::pin(answer.instrument(span))
}

/// Says in the present span what came of it. That the rules say no is no error.
fn note<T>(answer: &Result<Answer<T>, Failure>) {
    let span = Span::current();
    let (outcome, is_error) = match answer {
        Ok(_) => ("done", false),
        Err(Failure::Refused(refusal)) => {
            span.record("onrush.refusal", refusal.code());
            ("refused", false)
        }
        Err(Failure::Busy { .. }) => ("busy", true),
        Err(Failure::DiskLow) => ("disk_low", true),
        Err(Failure::Rebuilding { .. }) => ("rebuilding", true),
        Err(Failure::Unreachable) => ("unreachable", true),
        Err(Failure::Faulty) => ("faulty", true),
        Err(Failure::Stopped) => ("stopped", true),
    };
    span.record("onrush.outcome", outcome);
    if is_error {
        span.record("otel.status_code", "ERROR");
    }
}
