//! What the operator's listener knows.

use crate::http::state::HttpState;
use onrush_serve::Traffic;
use std::sync::{Arc, OnceLock};

/// What the operator's listener knows; there is no state before the engine has recovered.
#[derive(Clone)]
pub struct Operator {
    /// What the public listener's handlers are given.
    pub state: Arc<OnceLock<HttpState>>,
    /// The public listener's traffic.
    pub traffic: Arc<Traffic>,
}
