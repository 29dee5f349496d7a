//! What the operator's listener knows.

use crate::http::state::App;
use crate::serve::Traffic;
use std::sync::{Arc, OnceLock};

/// What the operator's listener knows; there is no [`App`] before the engine has recovered.
#[derive(Clone)]
pub struct Operator {
    /// The app.
    pub app: Arc<OnceLock<Arc<App>>>,
    /// The public listener's traffic.
    pub traffic: Arc<Traffic>,
}
