//! What goes through a listener, in numbers.

use crate::groups::Group;
use crate::pressure::Pressure;
use axum::body::Body;
use axum::http::{Response, StatusCode, Uri};
use onrush_store::durations::{Counted, Durations};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use strum::VariantArray;

/// The code of the problem that an answer tells, for those who count answers.
#[derive(Clone, Copy, Debug)]
pub struct ProblemCode(pub &'static str);

/// Who hears of refusals: the path of each, and the problem's code.
type HearsOfRefusals = Box<dyn Fn(&str, &'static str) + Send + Sync>;

/// Classes of status.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// What goes through a listener.
#[derive(Default)]
pub struct Traffic {
    pub(super) connections: AtomicU64,
    classes: [AtomicU64; 5],
    /// How long answers took, by kind of request and class of status.
    took: [[Durations; 5]; Group::VARIANTS.len()],
    /// Connections that were turned away at the door.
    pub(super) turned_away: AtomicU64,
    /// Who is sent away.
    pressure: OnceLock<Arc<Pressure>>,
    hears_of_refusals: OnceLock<HearsOfRefusals>,
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
        std::array::from_fn(|class| (CLASSES[class], self.classes[class].load(Ordering::Relaxed)))
    }

    /// How long answers took so far, by kind of request and class of status: what there was none of
    /// is left out.
    pub fn took(&self) -> impl Iterator<Item = (Group, &'static str, Counted)> {
        let of = |&group: &Group| {
            let classes = CLASSES.into_iter().zip(&self.took[group as usize]);
            classes.map(move |(class, took)| (group, class, took.counted()))
        };
        Group::VARIANTS.iter().flat_map(of).filter(|(.., counted)| counted.times() > 0)
    }

    /// How much is sent away; `None` before the server has started.
    #[must_use]
    pub fn pressure(&self) -> Option<&Pressure> {
        self.pressure.get().map(Arc::as_ref)
    }

    /// Sends away what this says, from now on.
    pub fn shed_by(&self, pressure: Arc<Pressure>) {
        drop(self.pressure.set(pressure));
    }

    /// Tells of refusals, from now on.
    pub fn tell_of_refusals(&self, hear: impl Fn(&str, &'static str) + Send + Sync + 'static) {
        drop(self.hears_of_refusals.set(Box::new(hear)));
    }

    pub(super) fn count(&self, asks: bool, uri: &Uri, answer: &Response<Body>, took: Duration) {
        let status = answer.status();
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        self.took[Group::of(uri.path()) as usize][class].note(took);
        // Looking at what is not there is no refusal; being sent away is one, whatever was wanted.
        let sent_away =
            [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status);
        if (asks || sent_away)
            && let Some(ProblemCode(code)) = answer.extensions().get()
            && let Some(hear) = self.hears_of_refusals.get()
        {
            hear(uri.path(), code);
        }
    }
}
