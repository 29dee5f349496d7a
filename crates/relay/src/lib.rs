//! Telling people and other systems: messages go from the ledger's outbox over one channel each, at
//! least once.
//!
//! Whoever follows the feed makes [`messages`] and writes them into the outbox together with what
//! they tell of. A [`courier`] for each channel takes them from there. A message keeps its id
//! however often it is sent, so that receivers can drop repeats.

pub mod catalogue;
pub mod courier;
mod deps;
pub mod letter;
pub mod mail;
pub mod messages;
mod smtp;
mod trouble;
pub mod webhook;

pub use deps::RelayDeps;

use courier::{Channel, Courier};
use messages::Channels;
use onrush_base::config::{Config, ConfigError};
use onrush_core::Time;
use std::sync::Arc;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// All channels that are configured, each with its courier.
pub struct Relay {
    channels: Channels,
    couriers: Vec<Arc<Courier>>,
    stopping: watch::Sender<bool>,
}

impl Relay {
    /// A courier for each configured channel. Nothing is sent before [`Self::run`].
    ///
    /// # Errors
    /// A channel's settings cannot be used.
    pub fn new(config: &Config, parts: &RelayDeps) -> Result<Self, ConfigError> {
        let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
        if let Some(settings) = &config.mail {
            channels.push(Arc::new(mail::MailChannel::new(settings, parts)?));
        }
        for settings in &config.webhooks {
            channels.push(Arc::new(webhook::WebhookChannel::new(settings, parts)?));
        }
        Ok(Self::over(config, parts, channels))
    }

    /// A courier for each of these channels, which are those that are configured.
    #[must_use]
    pub fn over(config: &Config, parts: &RelayDeps, channels: Vec<Arc<dyn Channel>>) -> Self {
        let courier =
            |channel| Arc::new(Courier::new(channel, parts.ledger.clone(), parts.clock.clone()));
        let couriers = channels.into_iter().map(courier).collect();
        Self { channels: Channels::of(config), couriers, stopping: watch::Sender::new(false) }
    }

    /// Which messages go where.
    #[must_use]
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// When a message last arrived over each channel, if one has since this node began.
    pub fn last_arrivals(&self) -> impl Iterator<Item = (&str, Option<Time>)> {
        self.couriers.iter().map(|courier| (courier.channel(), courier.last_arrival()))
    }

    /// Says that there may be something new to deliver. Cheap, and harmless if there is not.
    pub fn ring(&self) {
        for courier in &self.couriers {
            courier.ring();
        }
    }

    /// Starts the couriers. They look into the outbox whenever `told` rings, and end soon after
    /// [`Self::stop`].
    pub fn run(self: &Arc<Self>, told: Arc<Notify>) -> Vec<JoinHandle<()>> {
        let run =
            |courier: &Arc<Courier>| tokio::spawn(courier.clone().run(self.stopping.subscribe()));
        let mut tasks: Vec<_> = self.couriers.iter().map(run).collect();
        let (relay, mut stop) = (self.clone(), self.stopping.subscribe());
        tasks.push(tokio::spawn(async move {
            let ringing = async {
                loop {
                    told.notified().await;
                    relay.ring();
                }
            };
            tokio::select! {
                biased;
                () = ringing => {}
                () = async { drop(stop.wait_for(|stop| *stop).await) } => {}
            }
        }));
        tasks
    }

    /// Has the couriers end what they are at, and nothing more.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}
