//! All sagas: what they need, what is known of them, and what wakes and stops those who drive them.

use super::clerk::{Clerk, Issuer};
use super::gateway::Gateway;
use super::gateway::health::{Health, Watched};
use super::locks::Locks;
use super::steps::Steps;
use crate::pairing::Pairing;
use onrush_base::auth::payers::Payers;
use onrush_base::cluster_store::ClusterStore;
use onrush_base::config::{Patience, RetentionSettings};
use onrush_base::metrics::count;
use onrush_core::Time;
use onrush_core::saga::Stage;
use onrush_core::settings::Settings;
use onrush_ledger::Ledger;
use onrush_ledger::receipt::ReceiptRule;
use onrush_relay::messages::Channels;
use onrush_store::Engine;
use onrush_store::embedded::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tokio::sync::{Notify, Semaphore, watch};

/// How often things happened since the process started.
#[derive(Debug, Default)]
pub struct Counts {
    /// Payments begun.
    pub begun: AtomicU64,
    /// Payments from which money was taken.
    pub captured: AtomicU64,
    /// Payments that ended without money.
    pub failed: AtomicU64,
    /// Refunds that were made.
    pub refunded: AtomicU64,
    /// Sagas that came to wait for an operator.
    pub stuck: AtomicU64,
    /// Things that the gateway's own desk did and that were news.
    pub at_desk: AtomicU64,
    /// Bookings whose buyers were erased because their events were long over.
    pub erased: AtomicU64,
}

impl Counts {
    /// Counts what payments came to.
    pub(super) fn add(&self, stages: &[Stage]) {
        for stage in stages {
            match stage {
                Stage::Creating => count(&self.begun),
                Stage::Captured => count(&self.captured),
                Stage::Void => count(&self.failed),
                Stage::Refunded => count(&self.refunded),
                Stage::Open
                | Stage::Authorised
                | Stage::Capturing
                | Stage::Closing
                | Stage::Closed
                | Stage::Refunding
                | Stage::Returned => {}
            }
        }
    }
}

/// All sagas, and what drives them.
pub struct Sagas {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) gateway: Option<Arc<Watched>>,
    pub(super) clock: Clock,
    pub(super) patience: Patience,
    /// For how long people are known.
    pub(super) retention: RetentionSettings,
    /// Who makes payers of addresses and cards.
    pub(super) payers: Payers,
    /// Who is told what.
    pub(super) channels: Channels,
    /// What all nodes share, if there are several.
    pub(super) cluster: Option<Arc<dyn ClusterStore>>,
    pub(super) counts: Counts,
    /// How long steps take.
    pub(super) steps: Steps,
    pub(super) locks: Locks,
    /// Who issues receipts, if anyone does.
    pub(super) clerk: Option<Clerk>,
    /// Rings when something became due earlier than was known.
    pub(super) due: Notify,
    /// When recovery wakes by itself, in milliseconds since the epoch.
    pub(super) wakes_at: AtomicI64,
    /// Rings when there is something to tell.
    pub told: Arc<Notify>,
    pub(super) at_a_time: Arc<Semaphore>,
    pub(super) stopping: watch::Sender<bool>,
    /// What holds journal and ledger against each other, if the journal is this process' own.
    pub(super) pairing: Option<Pairing>,
    /// Why the process must end, if it must.
    pub(super) failure: watch::Sender<Option<String>>,
}

/// What sagas need to run.
pub struct SagaDeps {
    /// What runs the rules.
    pub engine: Arc<dyn Engine>,
    /// What remembers.
    pub ledger: Arc<dyn Ledger>,
    /// Who takes money, if anyone does.
    pub gateway: Option<Arc<dyn Gateway>>,
    /// The engine's clock.
    pub clock: Clock,
    /// How patient to be.
    pub patience: Patience,
    /// For how long people are known.
    pub retention: RetentionSettings,
    /// Who makes payers of addresses and cards.
    pub payers: Payers,
    /// Who is told what.
    pub channels: Channels,
    /// What all nodes share, if there are several.
    pub cluster: Option<Arc<dyn ClusterStore>>,
    /// What holds journal and ledger against each other.
    pub pairing: Option<Pairing>,
    /// Who issues receipts, if anyone does.
    pub issuer: Option<Issuer>,
}

impl Sagas {
    /// Sagas that nobody drives yet.
    #[must_use]
    pub fn new(parts: SagaDeps) -> Arc<Self> {
        let SagaDeps { engine, ledger, gateway, clock, patience, channels, .. } = parts;
        let SagaDeps { cluster, pairing, payers, issuer, retention, .. } = parts;
        let gateway = gateway.map(|gateway| Arc::new(Watched::new(gateway, clock.clone())));
        Arc::new(Self {
            engine,
            ledger,
            gateway,
            clock,
            patience,
            retention,
            payers,
            channels,
            cluster,
            counts: Counts::default(),
            steps: Steps::default(),
            locks: Locks::default(),
            clerk: issuer.map(Clerk::new),
            due: Notify::new(),
            wakes_at: AtomicI64::new(i64::MAX),
            told: Arc::new(Notify::new()),
            at_a_time: Arc::new(Semaphore::new(patience.at_a_time)),
            stopping: watch::Sender::new(false),
            pairing,
            failure: watch::Sender::new(None),
        })
    }

    /// Who takes money, if anyone does.
    #[must_use]
    pub fn gateway(&self) -> Option<&dyn Gateway> {
        self.gateway.as_deref().map(|gateway| gateway as &dyn Gateway)
    }

    /// How the gateway is, if there is one.
    #[must_use]
    pub fn health(&self) -> Option<&Health> {
        self.gateway.as_deref().map(|gateway| &**gateway.health())
    }

    /// Whether receipts are issued.
    #[must_use]
    pub fn issues_receipts(&self) -> bool {
        self.clerk.is_some()
    }

    /// Which payments have receipts, if any are issued.
    #[must_use]
    pub fn receipt_rule(&self) -> Option<ReceiptRule> {
        self.clerk.as_ref().map(Clerk::rule)
    }

    /// Has an event's settings say which amounts the gateway can express; whether that is news.
    /// Without a gateway they stay as they are: it may only be switched off.
    pub fn set_steps(&self, settings: &mut Settings) -> bool {
        let Some(gateway) = &self.gateway else { return false };
        let step_minor = gateway.step_minor(settings.currency);
        std::mem::replace(&mut settings.amount_step_minor, step_minor) != step_minor
    }

    /// How often things happened.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How long steps took.
    #[must_use]
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Looks at once for sagas that have something to do. Needed only where time does not pass by itself.
    pub fn look(&self) {
        self.due.notify_one();
    }

    /// Has the tasks that drive sagas end as soon as they can.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        self.due.notify_one();
    }

    /// Waits until it turns out that the ledger cannot follow the journal any more, and says why.
    /// The process should end then.
    pub async fn failed(&self) -> String {
        let mut failure = self.failure.subscribe();
        // The sender lives as long as we do.
        let found = failure.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        found.unwrap_or_default()
    }

    pub(super) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the tasks that drive sagas are to end.
    pub async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as we do.
        let _ = stopping.wait_for(|stop| *stop).await;
    }

    /// Wakes recovery if it would sleep beyond this time.
    pub(super) fn due_at(&self, at: Time) {
        if at.0 < self.wakes_at.load(Ordering::SeqCst) {
            self.due.notify_one();
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }
}
