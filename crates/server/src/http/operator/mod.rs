//! For operators: is it alive, is it ready, how is it doing.

pub mod healthz;
pub mod metrics;
pub mod readyz;
mod render;

use crate::http::state::App;
use crate::serve::Traffic;
use std::sync::{Arc, OnceLock};

/// What the operator's listener knows; there is no [`App`] before the engine has recovered.
#[derive(Clone)]
pub struct State {
    /// The app.
    pub app: Arc<OnceLock<Arc<App>>>,
    /// The public listener's traffic.
    pub traffic: Arc<Traffic>,
}
