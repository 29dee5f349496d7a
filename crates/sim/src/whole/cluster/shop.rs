//! The cluster as buyers see it: nodes behind proxies, and the bank's page.

use super::http::ToBank;
use super::site::{BANK_SECRET, Site};
use crate::chance::Chance;
use crate::whole::client::{Answer, Asking, Soon, Ways, Wire};
use crate::whole::planted::Planted;
use crate::whole::storefront::Shop as AnyShop;
use crate::whole::story::Story;
use crate::whole::world::Kept;
use hyper::Method;
use onrush_core::ids::PaymentId;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// How many times as fast as people everybody is: a run lasts a minute, and a sale ten.
const PACE: u32 = 10;
/// How long a stream that is alive may not tell what a look has shown: longer than anything in the
/// plan keeps decisions from the archive, which streams are told from.
const TOLD_WITHIN: Duration = Duration::from_secs(45);
/// How often a buyer presses "pay" while the bank does not answer.
const PRESSES: u32 = 60;
const GOOD_CARD: &str = "4242424242424242";
const POOR_CARD: &str = "4000000000000010";

/// TCP to the nodes, to any of them.
pub(super) struct Streets {
    fronts: Vec<SocketAddr>,
    answered: AtomicU64,
}

impl Streets {
    pub(super) fn to(fronts: Vec<SocketAddr>) -> Arc<Self> {
        Arc::new(Self { fronts, answered: AtomicU64::new(0) })
    }

    /// How many requests were answered.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Ways for Streets {
    fn line<'a>(&'a self, _: IpAddr, chance: &'a mut Chance) -> Soon<'a, Option<Box<dyn Wire>>> {
        let front = *chance.pick(&self.fronts);
        Box::pin(async move {
            let line: Box<dyn Wire> = Box::new(TcpStream::connect(front).await.ok()?);
            Some(line)
        })
    }

    fn note_answer(&self, _: &Asking, _: &Answer) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    fn pace(&self) -> u32 {
        PACE
    }
}

/// What a key was answered.
pub(super) struct KeptAnswer {
    pub(super) token: String,
    pub(super) asking: Asking,
    pub(super) answer: Answer,
    pub(super) kept: Kept,
}

/// Where buyers are.
pub(super) struct Shop {
    site: Arc<Site>,
    streets: Arc<Streets>,
    story: Story,
    answers: Mutex<Vec<KeptAnswer>>,
}

impl Shop {
    pub(super) fn new(site: Arc<Site>, story: Story) -> Arc<Self> {
        let streets = Streets::to(site.fronts());
        Arc::new(Self { site, streets, story, answers: Mutex::default() })
    }

    pub(super) fn streets(&self) -> &Arc<Streets> {
        &self.streets
    }

    /// What all keys were answered.
    pub(super) fn answers(&self) -> Vec<KeptAnswer> {
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AnyShop for Shop {
    fn ways(&self) -> Arc<dyn Ways> {
        self.streets.clone()
    }

    fn story(&self) -> &Story {
        &self.story
    }

    fn planted(&self) -> Option<Planted> {
        None
    }

    fn told_within(&self) -> Duration {
        TOLD_WITHIN
    }

    fn streams_lag(&self) -> bool {
        true
    }

    /// Nothing depends on whose card it is: no sale of a cluster limits what one may pay for.
    fn pay<'a>(&'a self, payment: &'a PaymentId, _: u32, is_good: bool) -> Soon<'a, ()> {
        Box::pin(async move {
            let path = format!("/pay/{payment}");
            let card = if is_good { GOOD_CARD } else { POOR_CARD };
            for _ in 0..PRESSES {
                let body = format!("card={card}&action=pay");
                let content_type = "application/x-www-form-urlencoded";
                let page =
                    ToBank { method: Method::POST, path: &path, key: "", content_type, body };
                if let Some(bank) = self.site.bank_at()
                    && let Some((status, _)) = page.ask(bank, BANK_SECRET).await
                    && status < 500
                {
                    return;
                }
                sleep(Duration::from_millis(200)).await;
            }
        })
    }

    fn keep(&self, token: Option<&str>, asking: &Asking, answer: &Answer, kept: Kept) {
        let Some(token) = token.map(str::to_owned) else { return };
        let one = KeptAnswer { token, asking: asking.clone(), answer: answer.clone(), kept };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    }
}
