//! `GET /metrics`.

use super::operator::Operator;
use super::render::render;
use crate::http::problem::{Code, Problem};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// Everything as OpenMetrics text.
///
/// # Errors
/// `STOPPED` while the engine recovers.
pub async fn metrics(State(operator): State<Operator>) -> Result<impl IntoResponse, Problem> {
    let state = operator.state.get();
    let state = state.ok_or_else(|| Problem::new(Code::Stopped, "the server is starting"))?;
    let text = render(state, &operator.traffic).await;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text))
}
