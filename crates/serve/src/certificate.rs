//! Our certificate: read from files and taken up anew when they change, or shown by whoever fetches it.

use onrush_base::config::{ConfigError, TlsSettings};
use onrush_tls::rustls::ServerConfig;
use onrush_tls::{Challenges, Pair, Unusable, answering_config, server_config};
use std::future::Future;
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// The certificate that new connections are shown.
#[derive(Clone)]
pub struct Certificate {
    now: Arc<Now>,
}

/// What new connections are shown, as others may look at it: it keeps no listener's certificate alive.
#[derive(Clone)]
pub struct CertificateView(watch::Receiver<Shown>);

/// A certificate that is fetched, and what answers whoever looks whether its names are ours.
#[derive(Clone)]
pub struct FetchedCertificate {
    now: Arc<Now>,
    challenges: Arc<Challenges>,
}

impl Certificate {
    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read or used, as a sentence that names the place.
    pub fn open(settings: &TlsSettings) -> Result<Self, ConfigError> {
        let now = read(settings).map_err(ConfigError::new)?;
        Ok(Self { now: Arc::new(watch::Sender::new(now)) })
    }

    /// Looks at the files again and again, until no listener has the certificate any more. What
    /// they have is taken up if it is a whole pair that can be used; whatever else stands there is
    /// told once, and what was there before stays.
    pub fn follow(&self, settings: TlsSettings) -> impl Future<Output = ()> + use<> {
        follow(settings, Arc::downgrade(&self.now))
    }

    /// What it is, now and later.
    #[must_use]
    pub fn view(&self) -> CertificateView {
        CertificateView(self.now.subscribe())
    }

    /// What a connection that comes in now is shown.
    pub(super) fn now(&self) -> Arc<ServerConfig> {
        self.now.borrow().config.clone()
    }
}

impl CertificateView {
    /// Whether there is one yet.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0.borrow().pair.is_some()
    }

    /// Its last second, since the epoch.
    #[must_use]
    pub fn not_after_s(&self) -> Option<i64> {
        self.0.borrow().not_after_s
    }
}

impl FetchedCertificate {
    /// One that was fetched before; without it new connections are greeted once there is one.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn new(kept: Option<Pair>) -> Result<Self, Unusable> {
        let challenges = Arc::<Challenges>::default();
        let shown = Shown::fetched(kept, &challenges)?;
        Ok(Self { now: Arc::new(watch::Sender::new(shown)), challenges })
    }

    /// What a listener takes.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        Certificate { now: self.now.clone() }
    }

    /// What new connections are shown.
    #[must_use]
    pub fn pair(&self) -> Option<Pair> {
        self.now.borrow().pair.clone()
    }

    /// Shows it to all that connect from now on.
    ///
    /// # Errors
    /// It cannot be used; what was there before stays.
    pub fn show(&self, pair: Pair) -> Result<(), Unusable> {
        self.now.send_replace(Shown::fetched(Some(pair), &self.challenges)?);
        Ok(())
    }

    /// What whoever looks at our names is answered.
    #[must_use]
    pub fn challenges(&self) -> &Challenges {
        &self.challenges
    }
}

type Now = watch::Sender<Shown>;

/// What new connections are shown, with the texts that it was made of.
struct Shown {
    pair: Option<Pair>,
    not_after_s: Option<i64>,
    config: Arc<ServerConfig>,
}

impl Shown {
    fn of_files(pair: Pair) -> Result<Self, String> {
        let config = server_config(&pair).map_err(|why| format!("tls: {why}"))?;
        Ok(Self::new(Some(pair), config))
    }

    fn fetched(pair: Option<Pair>, challenges: &Arc<Challenges>) -> Result<Self, Unusable> {
        let config = answering_config(pair.as_ref(), challenges.clone())?;
        Ok(Self::new(pair, config))
    }

    fn new(pair: Option<Pair>, config: ServerConfig) -> Self {
        let not_after_s = pair.as_ref().and_then(Pair::validity).map(|dates| dates.not_after_s);
        Self { pair, not_after_s, config: Arc::new(config) }
    }
}

async fn follow(settings: TlsSettings, now: Weak<Now>) {
    let mut told = None;
    loop {
        tokio::time::sleep(settings.look_every).await;
        let Some(now) = now.upgrade() else { return };
        let settings = settings.clone();
        let before = now.borrow().pair.clone();
        let looked = tokio::task::spawn_blocking(move || match settings.load() {
            Ok(pair) if Some(&pair) == before.as_ref() => Ok(None),
            Ok(pair) => Ok(Some(Shown::of_files(pair)?)),
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

fn read(settings: &TlsSettings) -> Result<Shown, String> {
    Shown::of_files(settings.load()?)
}
