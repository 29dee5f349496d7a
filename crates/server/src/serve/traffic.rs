//! What goes through a listener, in numbers.

use crate::live::samples::Samples;
use crate::pressure::Pressure;
use axum::body::Body;
use axum::http::{Response, StatusCode, Uri};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The code of the problem that an answer tells, for those who count answers.
#[derive(Clone, Copy, Debug)]
pub struct Told(pub &'static str);

/// What goes through a listener.
#[derive(Default)]
pub struct Traffic {
    pub(super) connections: AtomicU64,
    classes: [AtomicU64; 5],
    /// Connections that were turned away at the door.
    pub(super) turned_away: AtomicU64,
    /// Who is sent away.
    pub(crate) pressure: OnceLock<Arc<Pressure>>,
    /// Who hears of refusals.
    pub(crate) samples: OnceLock<Arc<Samples>>,
}

impl Traffic {
    /// Connections open now.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Connections that were turned away so far, because all were taken or one address had its share.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Answers so far by class of status.
    #[must_use]
    pub fn responses(&self) -> [(&'static str, u64); 5] {
        let names = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        std::array::from_fn(|class| (names[class], self.classes[class].load(Ordering::Relaxed)))
    }

    /// How much is sent away; `None` before the server has started.
    #[must_use]
    pub fn pressure(&self) -> Option<&Pressure> {
        self.pressure.get().map(Arc::as_ref)
    }

    pub(super) fn count(&self, asks: bool, uri: &Uri, answer: &Response<Body>) {
        let status = answer.status();
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        // Looking at what is not there is no refusal; being sent away is one, whatever was wanted.
        let sent_away =
            [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status);
        if (asks || sent_away)
            && let Some(Told(code)) = answer.extensions().get()
            && let Some(samples) = self.samples.get()
        {
            samples.refused(uri.path(), code);
        }
    }
}
