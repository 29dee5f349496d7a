//! `GET /healthz` and `GET /readyz`: whether the process runs, and whether requests should be sent here.

use super::operator::Operator;
use crate::http::problem::{Code, Problem};
use crate::http::state::{Groups, HttpState};
use axum::extract::State;
use onrush_base::metrics::PublisherFigures;
use onrush_saga::Sagas;

/// 200 as long as anything answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// On the operator's listener, also while the engine recovers.
///
/// # Errors
/// `STOPPED` while starting or stopping, while the listener has no certificate to show, or if the
/// engine does not answer.
pub async fn readyz(State(operator): State<Operator>) -> Result<String, Problem> {
    match operator.state.get() {
        Some(state) => {
            let publishers = state.nodes.publishers().await;
            let elsewhere = publishers.iter().filter_map(trouble);
            Ok(format!("{}{}", ready(state).await?, details(&state.sagas))
                + &elsewhere.collect::<String>())
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
    format!(
        "payment gateway {gateway}: {} since {} ms; {what_to_do}\n",
        view.state.word(),
        view.since
    )
}

/// On the public listener.
///
/// # Errors
/// As [`readyz`].
pub async fn public_readyz(State(state): State<HttpState>) -> Result<&'static str, Problem> {
    ready(&state).await
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

async fn ready(groups: &Groups) -> Result<&'static str, Problem> {
    if !groups.is_ready() {
        return Err(not_ready());
    }
    if groups.certificate().is_some_and(|certificate| !certificate.is_there()) {
        let why = "there is no certificate yet, so nobody is greeted; the log says why";
        return Err(Problem::new(Code::Stopped, why));
    }
    groups.sale.engine.reach().await?;
    Ok("ready\n")
}

fn not_ready() -> Problem {
    Problem::new(Code::Stopped, "the server is starting or stopping")
}
