//! `GET /readyz`: whether requests should be sent here.

use crate::app::App;
use crate::http::problem::{Code, Problem};
use axum::extract::State;
use std::sync::Arc;

/// On the operator's listener, also while the engine recovers.
///
/// # Errors
/// `STOPPED` while starting or stopping, or if the engine does not answer.
pub async fn readyz(State(state): State<super::State>) -> Result<&'static str, Problem> {
    match state.app.get() {
        Some(app) => ready(app).await,
        None => Err(not_ready()),
    }
}

/// On the public listener.
///
/// # Errors
/// As [`readyz`].
pub async fn public_readyz(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    ready(&app).await
}

async fn ready(app: &App) -> Result<&'static str, Problem> {
    if !app.is_ready() {
        return Err(not_ready());
    }
    app.engine.events().await?;
    Ok("ready\n")
}

fn not_ready() -> Problem {
    Problem::new(Code::Stopped, "the server is starting or stopping")
}
