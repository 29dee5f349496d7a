//! Telling people and other systems: messages go from the ledger's outbox over one channel each, at least once.
//!
//! Whoever follows the feed makes [`messages`] and writes them into the outbox together with what they tell of. A
//! [`courier`] for each channel takes them from there. A message keeps its id however often it is sent, so that
//! receivers can drop repeats.

pub mod catalogue;
pub mod courier;
pub mod letter;
pub mod mail;
pub mod messages;
pub mod settings;
pub mod webhook;

use crate::config::{Config, ConfigError};
use crate::tickets::TicketSigner;
use courier::{Courier, Now};
use messages::Channels;
use onrush_ledger::Ledger;
use onrush_store::Engine;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What couriers work with.
#[derive(Clone)]
pub struct Parts {
    /// Where the outbox is.
    pub ledger: Arc<dyn Ledger>,
    /// What knows the events.
    pub engine: Arc<dyn Engine>,
    /// What makes tickets.
    pub tickets: Arc<TicketSigner>,
    /// The time.
    pub now: Now,
}

/// All channels that are configured, each with its courier.
pub struct Relay {
    channels: Channels,
    couriers: Vec<Arc<Courier>>,
}

impl Relay {
    /// A courier for each configured channel. Nothing is sent before [`Self::start`].
    ///
    /// # Errors
    /// A channel's settings cannot be used.
    pub fn new(config: &Config, parts: &Parts) -> Result<Self, ConfigError> {
        let mut couriers = Vec::new();
        if let Some(settings) = &config.mail {
            let channel = Arc::new(mail::MailChannel::new(settings, parts)?);
            couriers.push(Arc::new(Courier::new(channel, parts.ledger.clone(), parts.now.clone())));
        }
        for settings in &config.webhooks {
            let channel = Arc::new(webhook::WebhookChannel::new(settings, parts.now.clone())?);
            couriers.push(Arc::new(Courier::new(channel, parts.ledger.clone(), parts.now.clone())));
        }
        Ok(Self { channels: Channels::of(config), couriers })
    }

    /// Which messages go where.
    #[must_use]
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Says that there may be something new to deliver. Cheap, and harmless if there is not.
    pub fn ring(&self) {
        for courier in &self.couriers {
            courier.ring();
        }
    }

    /// Starts the couriers; they end soon after `stop` says so.
    pub fn start(&self, stop: &watch::Receiver<bool>) -> Vec<JoinHandle<()>> {
        let run = |courier: &Arc<Courier>| tokio::spawn(courier.clone().run(stop.clone()));
        self.couriers.iter().map(run).collect()
    }
}
