//! Our certificate from an authority: fetched by ACME (RFC 8555), kept, renewed.
//!
//! Names are proved by TLS-ALPN-01 (RFC 8737) on the public listener itself. What was fetched stands
//! in `<data>/keys/acme/` and is shown again after a restart.

#![forbid(unsafe_code)]

mod http;
mod kept;
mod order;
mod schedule;
mod trouble;

use http::Http;
use kept::Kept;
use onrush_base::auth::random;
use onrush_base::config::{AcmeSettings, ConfigError};
use onrush_serve::FetchedCertificate;
use onrush_tls::{Pair, epoch_s};
use std::path::Path;
use std::time::{Duration, SystemTime};
use trouble::Trouble;

/// How long nothing is looked at at most: clocks are set, and machines sleep.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Keeps a listener's certificate valid.
pub struct Acme {
    settings: AcmeSettings,
    kept: Kept,
    http: Http,
    shown: FetchedCertificate,
    /// Whether what is shown is what the settings want, apart from its age.
    is_wanted: bool,
}

impl Acme {
    /// Takes the certificate that was kept below `data`, if it is still valid.
    ///
    /// # Errors
    /// A certificate of the settings cannot be used, as a sentence that names the place.
    pub fn open(settings: &AcmeSettings, data: &Path) -> Result<Self, ConfigError> {
        let certificates = settings.certificates().map_err(ConfigError::new)?;
        let http = Http::new(&certificates).map_err(ConfigError::new)?;
        let kept = Kept::below(data);
        let found = match kept.certificate() {
            Ok(found) => found.filter(|found| is_valid(&found.pair)),
            Err(why) => {
                tracing::warn!(why, "the kept certificate cannot be used; a new one is fetched");
                None
            }
        };
        let is_wanted = found.as_ref().is_some_and(|found| {
            found.directory == settings.directory && is_for_all(&found.pair, &settings.domains)
        });
        let shown = FetchedCertificate::new(found.map(|found| found.pair));
        let shown = shown.map_err(|why| ConfigError::new(format!("tls.acme: {why}")))?;
        Ok(Self { settings: settings.clone(), kept, http, shown, is_wanted })
    }

    /// What a listener shows.
    #[must_use]
    pub fn shown(&self) -> &FetchedCertificate {
        &self.shown
    }

    /// Fetches a certificate whenever there is none or a third of its life is left. Never ends.
    ///
    /// One that cannot be fetched is told once for each reason and tried again, ever later; what was
    /// shown before stays.
    pub async fn run(mut self) {
        if self.shown.pair().is_none() {
            tracing::warn!(
                domains = ?self.settings.domains,
                directory = self.settings.directory,
                "there is no certificate yet; until one is issued nobody is greeted, and the server \
                 is not ready"
            );
        }
        let (mut told, mut failures) = (None, 0);
        loop {
            let wait = self.due_in();
            if !wait.is_zero() {
                (told, failures) = (None, 0);
                tokio::time::sleep(wait.min(LOOK_EVERY)).await;
                continue;
            }
            let Err(trouble) = self.renew().await else { continue };
            let asked = self.http.take_retry_after();
            let chance = u64::from_le_bytes(random());
            let pause =
                schedule::pause(self.settings.first_pause, failures, trouble.fault, asked, chance);
            failures += 1;
            if told.as_ref() != Some(&trouble.why) {
                let why = &trouble.why;
                let stays =
                    if self.shown.pair().is_some() { "; the one from before stays" } else { "" };
                let again_in_s = pause.as_secs();
                tracing::warn!(why, again_in_s, "no certificate could be fetched{stays}");
                told = Some(trouble.why);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// In what time a certificate is to be fetched.
    fn due_in(&self) -> Duration {
        let validity =
            self.shown.pair().filter(|_| self.is_wanted).and_then(|pair| pair.validity());
        validity.map_or(Duration::ZERO, |validity| {
            schedule::due_in(validity, epoch_s(SystemTime::now()))
        })
    }

    async fn renew(&mut self) -> Result<(), Trouble> {
        let pair = order::fetch(&self.settings, &self.http, &self.kept, self.shown.challenges());
        let pair = pair.await?;
        if !is_valid(&pair) || !is_for_all(&pair, &self.settings.domains) {
            return Err(Trouble::refused(
                "what the authority issued is not valid now, or not for these names; look at this \
                 machine's clock",
            ));
        }
        let (kept, directory) = (self.kept.clone(), self.settings.directory.clone());
        let stored = pair.clone();
        let stored = blocking(move || kept.store_certificate(&stored, &directory)).await;
        // It is as good without a file, until the next start.
        if let Err(why) = stored {
            tracing::error!(
                why,
                "the new certificate could not be kept; a restart fetches another"
            );
        }
        let not_after_s = pair.validity().map(|validity| validity.not_after_s);
        self.shown.show(pair).map_err(|why| Trouble::refused(why.to_string()))?;
        self.is_wanted = true;
        tracing::info!(not_after_s, "new connections are shown the certificate that was fetched");
        if self.due_in().is_zero() {
            return Err(Trouble::refused(
                "what the authority issued is to be renewed already; look at this machine's clock",
            ));
        }
        Ok(())
    }
}

fn is_valid(pair: &Pair) -> bool {
    pair.validity().is_some_and(|validity| validity.has(SystemTime::now()))
}

fn is_for_all(pair: &Pair, domains: &[String]) -> bool {
    domains.iter().all(|domain| pair.is_for(domain))
}

/// Something that waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}
