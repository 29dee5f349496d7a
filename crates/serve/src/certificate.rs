//! Our certificate, taken up anew when its files change.

use onrush_base::config::{ConfigError, TlsSettings};
use onrush_tls::rustls::ServerConfig;
use onrush_tls::{Pair, server_config};
use std::future::Future;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// The certificate that new connections are shown.
#[derive(Clone)]
pub struct Certificate {
    settings: TlsSettings,
    now: Arc<Now>,
}

impl Certificate {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read or used, as a sentence that names the place.
    pub fn open(settings: &TlsSettings) -> Result<Self, ConfigError> {
        let now = read(settings).map_err(ConfigError::new)?;
        Ok(Self { settings: settings.clone(), now: Arc::new(watch::Sender::new(now)) })
    }

    /// What a connection that comes in now is shown.
    pub(super) fn now(&self) -> Arc<ServerConfig> {
        self.now.borrow().1.clone()
    }

    /// Looks at the files again and again, until no listener has the certificate any more. What
    /// they have is taken up if it is a whole pair that can be used; whatever else stands there is
    /// told once, and what was there before stays.
    pub fn follow(&self) -> impl Future<Output = ()> + use<> {
        follow(self.settings.clone(), Arc::downgrade(&self.now))
    }
}

/// What new connections are shown, with the texts that it was made of.
type Now = watch::Sender<(Pair, Arc<ServerConfig>)>;

async fn follow(settings: TlsSettings, now: Weak<Now>) {
    let mut told = None;
    loop {
        tokio::time::sleep(settings.look_every).await;
        let Some(now) = now.upgrade() else { return };
        let settings = settings.clone();
        let before = now.borrow().0.clone();
        let looked = tokio::task::spawn_blocking(move || match settings.load() {
            Ok(pair) if pair == before => Ok(None),
            Ok(pair) => Ok(Some(made(pair)?)),
            Err(why) => Err(why),
        });
        match looked.await {
            Ok(Ok(None)) => told = None,
            Ok(Ok(Some(new))) => {
                now.send_replace(new);
                told = None;
                tracing::info!("new connections are shown the new certificate");
            }
            Ok(Err(why)) if told.as_ref() == Some(&why) => {}
            Ok(Err(why)) => {
                tracing::warn!(why, "the new certificate is not taken; the one from before stays");
                told = Some(why);
            }
            // Only a runtime that ends takes such a task away.
            Err(_) => return,
        }
    }
}

fn read(settings: &TlsSettings) -> Result<(Pair, Arc<ServerConfig>), String> {
    made(settings.load()?)
}

fn made(pair: Pair) -> Result<(Pair, Arc<ServerConfig>), String> {
    let config = server_config(&pair).map_err(|why| format!("tls: {why}"))?;
    Ok((pair, Arc::new(config)))
}
