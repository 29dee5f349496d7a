//! `GET /healthz` and `GET /readyz`: whether the process runs, and whether requests should be sent here.

use super::operator::Operator;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Groups, HttpState};
use axum::extract::State;
use onrush_base::metrics::PublisherFigures;
use onrush_saga::Sagas;
use onrush_store::{Engine, Failure};
use std::borrow::Cow;
use std::time::Duration;
use tokio::time::timeout;

/// What a node says to which requests should be sent.
const READY: &str = "ready\n";
/// How long the engine may take: those who ask give up after three seconds or five.
const PATIENCE: Duration = Duration::from_secs(1);
const UNREACHABLE: &str =
    "engine: Redis cannot be reached; what needs it answers ENGINE_UNREACHABLE until it can\n";
const SILENT: &str = "engine: it has not answered for a second\n";
const FULL: &str = "engine: Redis refused something new within the last minute, as its memory is full; \
    what is under way goes on; raise its maxmemory\n";

/// 200 as long as anything answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// On the operator's listener, also while the engine recovers.
///
/// # Errors
/// `STOPPED` while starting or stopping, while the listener has no certificate to show, or if the
/// engine has stopped.
pub async fn readyz(State(operator): State<Operator>) -> Result<String, Problem> {
    match operator.state.get() {
        Some(state) => {
            let (ready, publishers) = tokio::join!(ready(state), state.nodes.publishers());
            let away = ready?.unwrap_or_default();
            let full = full(&*state.sale.engine);
            let elsewhere = publishers.iter().filter_map(trouble);
            let lines = format!("{READY}{away}{full}{}", details(&state.sagas));
            Ok(lines + &elsewhere.collect::<String>())
        }
        None => Err(not_ready()),
    }
}

/// What an operator should know although requests should be sent here, one line each. A payment
/// gateway that is ill makes nobody unready: people go on waiting and holding, and another node
/// would have the same gateway.
fn details(sagas: &Sagas) -> String {
    let Some(health) = sagas.health() else { return String::new() };
    let Some(what_to_do) = health.what_to_do() else { return String::new() };
    let (gateway, view) = (health.gateway(), health.view());
    format!("payment gateway {gateway}: {} since {} ms; {what_to_do}\n", view.state, view.since)
}

/// On the public listener.
///
/// # Errors
/// As [`readyz`].
pub async fn public_readyz(State(state): State<HttpState>) -> Result<&'static str, Problem> {
    ready(&state).await.map(|_away| READY)
}

/// A line about somebody who cannot carry the feed on. That makes nobody unready either: deadlines
/// are met without RabbitMQ, and what Kafka has not been told waits in the archive.
fn trouble(figures: &PublisherFigures) -> Option<String> {
    let PublisherFigures { name, is_connected, behind, failed, .. } = figures;
    if *is_connected {
        return None;
    }
    let behind = behind.map_or(String::new(), |behind| format!(", {behind} decisions behind"));
    Some(format!("{name}: not connected{behind}; failed {failed} times, and the log says why\n"))
}

/// A line about servers whose memory is full. All nodes have the same, and what was begun there goes on.
fn full(engine: &dyn Engine) -> &'static str {
    if engine.is_full() { FULL } else { "" }
}

/// What is asked of the engine first, which tells whether it can be reached.
pub(super) enum Reach {
    /// It answers.
    Answers,
    /// It does not, or changes nothing, and why in a line. A node was started because it did, and it
    /// will again.
    Away(Cow<'static, str>),
    /// It never will again in this process.
    Stopped,
}

/// Looks whether the engine answers. Of a cluster of Redis any part will do.
pub(super) async fn reach(engine: &dyn Engine) -> Reach {
    match timeout(PATIENCE, engine.reach()).await {
        Ok(Ok(_)) => Reach::Answers,
        Ok(Err(failure)) => match failure {
            Failure::Unreachable | Failure::Faulty => Reach::Away(match engine.hindrance() {
                Some(hindrance) => format!("engine: {hindrance}\n").into(),
                None => UNREACHABLE.into(),
            }),
            Failure::Stopped => Reach::Stopped,
            // Whoever says so is there.
            Failure::Refused(_)
            | Failure::Busy { .. }
            | Failure::DiskLow
            | Failure::Rebuilding { .. } => Reach::Answers,
        },
        Err(_) => Reach::Away(SILENT.into()),
    }
}

/// Whether requests should be sent here; with a line, if the engine cannot be used. That makes
/// nobody unready: all nodes have the same Redis, and where no node is left, nobody tells clients to
/// come back (docs/decisions/0030-readiness-without-the-gateway.md).
async fn ready(groups: &Groups) -> Result<Option<Cow<'static, str>>, Problem> {
    if !groups.is_ready() {
        return Err(not_ready());
    }
    if groups.certificate().is_some_and(|certificate| !certificate.is_there()) {
        let why = "there is no certificate yet, so nobody is greeted; the log says why";
        return Err(Problem::new(Code::Stopped, why));
    }
    match reach(&*groups.sale.engine).await {
        Reach::Answers => Ok(None),
        Reach::Away(line) => Ok(Some(line)),
        Reach::Stopped => Err(Failure::Stopped.into()),
    }
}

fn not_ready() -> Problem {
    Problem::new(Code::Stopped, "the server is starting or stopping")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use onrush_store::Hindrance;

    #[tokio::test(start_paused = true)]
    async fn engine_that_is_away_comes_back_and_one_that_has_stopped_does_not() {
        let refuses = format!("engine: {}\n", Hindrance::FewReplicas);
        for (told, hindrance, expected) in [
            (Some(Ok(())), None, None),
            (Some(Err(Failure::Busy { retry_after_ms: 9 })), None, None),
            (Some(Err(Failure::Unreachable)), None, Some(UNREACHABLE)),
            (Some(Err(Failure::Faulty)), None, Some(UNREACHABLE)),
            (Some(Err(Failure::Unreachable)), Some(Hindrance::FewReplicas), Some(refuses.as_str())),
            (None, None, Some(SILENT)),
            (Some(Err(Failure::Stopped)), None, Some("stopped")),
        ] {
            let what = format!("{told:?}, {hindrance:?}");
            let engine =
                EngineStub { reach: told, hindrance, ..EngineStub::telling(|_: &_, _: &_| None) };
            let found = match reach(&engine).await {
                Reach::Answers => None,
                Reach::Away(line) => Some(line),
                Reach::Stopped => Some("stopped".into()),
            };
            assert_eq!(found.as_deref(), expected, "{what}");
        }
    }

    #[tokio::test]
    async fn engine_whose_servers_are_full_answers_and_has_a_line() {
        for (is_full, line) in [(false, ""), (true, FULL)] {
            let engine = EngineStub { is_full, ..EngineStub::telling(|_: &_, _: &_| None) };
            assert!(matches!(reach(&engine).await, Reach::Answers));
            assert_eq!(full(&engine), line);
        }
    }
}
