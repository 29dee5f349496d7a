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
use kept::{Kept, KeptCertificate};
use onrush_base::auth::random;
use onrush_base::config::{AcmeSettings, ConfigError};
use onrush_serve::FetchedCertificate;
use onrush_tls::{Pair, Unusable, Validity, epoch_s};
use schedule::Failures;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
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
    /// What was kept and has ended by this machine's clock, which may be set yet.
    aside: Option<KeptCertificate>,
    /// Until when what was fetched last stays, whatever the clock says.
    rests_until: Option<Instant>,
}

impl Acme {
    /// Takes the certificate that was kept below `data`, unless it has ended.
    ///
    /// One that has not begun is shown: a clock that lags says so of a good one, and visitors go by
    /// their own.
    ///
    /// # Errors
    /// A certificate of the settings cannot be used, as a sentence that names the place.
    pub fn open(settings: &AcmeSettings, data: &Path) -> Result<Self, ConfigError> {
        Self::open_at(settings, data, SystemTime::now())
    }

    fn open_at(settings: &AcmeSettings, data: &Path, now: SystemTime) -> Result<Self, ConfigError> {
        let certificates = settings.certificates().map_err(ConfigError::new)?;
        let http = Http::new(&certificates).map_err(ConfigError::new)?;
        let kept = Kept::below(data);
        let found = kept.certificate().unwrap_or_else(|why| {
            tracing::warn!(why, "the kept certificate cannot be used; a new one is fetched");
            None
        });
        let unusable = |why: Unusable| ConfigError::new(format!("tls.acme: {why}"));
        let shown = FetchedCertificate::new(None).map_err(unusable)?;
        let mut acme = Self {
            settings: settings.clone(),
            kept,
            http,
            shown,
            is_wanted: false,
            aside: found,
            rests_until: None,
        };
        acme.show_kept(now).map_err(unusable)?;
        Ok(acme)
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
        let (mut told, mut failures) = (None, Failures::default());
        loop {
            let now = SystemTime::now();
            match self.show_kept(now) {
                Ok(true) => tracing::info!(
                    "the clock was set: new connections are shown the certificate that was kept"
                ),
                Ok(false) => {}
                Err(why) => {
                    tracing::warn!(%why, "the kept certificate cannot be used; a new one is fetched");
                }
            }
            let wait = self.due_in(now);
            if !wait.is_zero() {
                (told, failures) = (None, Failures::default());
                tokio::time::sleep(wait.min(LOOK_EVERY)).await;
                continue;
            }
            let Err(trouble) = self.renew().await else { continue };
            let asked = self.http.take_retry_after();
            let chance = u64::from_le_bytes(random());
            let (first, fault) = (self.settings.first_pause, trouble.fault);
            let pause = schedule::pause(first, failures.count(fault), fault, asked, chance);
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

    /// Shows what was kept once it has not ended by this clock, and says whether it did so now.
    fn show_kept(&mut self, now: SystemTime) -> Result<bool, Unusable> {
        let is_good = |found: &mut KeptCertificate| {
            found.pair.validity().is_some_and(|validity| epoch_s(now) <= validity.not_after_s)
        };
        let Some(found) = self.aside.take_if(is_good) else { return Ok(false) };
        let is_wanted = found.directory == self.settings.directory
            && is_for_all(&found.pair, &self.settings.domains);
        let dates = found.pair.validity().filter(|_| is_wanted).zip(found.fetched_s);
        self.shown.show(found.pair)?;
        self.is_wanted = is_wanted;
        self.rests_until = dates.and_then(|(validity, fetched_s)| {
            let left = schedule::rest_left(validity, fetched_s, epoch_s(now));
            Instant::now().checked_add(left)
        });
        Ok(true)
    }

    /// In what time a certificate is to be fetched.
    fn due_in(&self, now: SystemTime) -> Duration {
        let validity =
            self.shown.pair().filter(|_| self.is_wanted).and_then(|pair| pair.validity());
        let by_clock =
            validity.map_or(Duration::ZERO, |validity| schedule::due_in(validity, epoch_s(now)));
        let rest = self.rests_until.map(|until| until.saturating_duration_since(Instant::now()));
        by_clock.max(rest.unwrap_or_default())
    }

    async fn renew(&mut self) -> Result<(), Trouble> {
        let pair = order::fetch(&self.settings, &self.http, &self.kept, self.shown.challenges());
        let pair = pair.await?;
        self.take(pair, SystemTime::now()).await
    }

    /// Keeps and shows what was issued, whatever the clock says of it: thrown away and ordered again
    /// it would soon be one more than the authority issues for the same names.
    async fn take(&mut self, pair: Pair, now: SystemTime) -> Result<(), Trouble> {
        let validity = pair.validity().filter(|_| is_for_all(&pair, &self.settings.domains));
        let Some(validity) = validity else {
            return Err(Trouble::refused(
                "what the authority issued is not for these names, or has no dates that can be read",
            ));
        };
        let (kept, directory) = (self.kept.clone(), self.settings.directory.clone());
        let (stored, now_s) = (pair.clone(), epoch_s(now));
        let stored = blocking(move || kept.store_certificate(&stored, &directory, now_s)).await;
        // It is as good without a file, until the next start.
        if let Err(why) = stored {
            tracing::error!(
                why,
                "the new certificate could not be kept; a restart fetches another"
            );
        }
        self.shown.show(pair).map_err(|why| Trouble::refused(why.to_string()))?;
        self.is_wanted = true;
        self.aside = None;
        self.rests_until = Instant::now().checked_add(schedule::rest(validity));
        let Validity { not_before_s, not_after_s } = validity;
        tracing::info!(not_after_s, "new connections are shown the certificate that was fetched");
        if !validity.has(now) || schedule::due_in(validity, now_s).is_zero() {
            tracing::warn!(
                not_before_s,
                not_after_s,
                "by this machine's clock what was just fetched is not valid yet, or is to be renewed \
                 already; look at the clock: it is shown all the same, and visitors go by their own"
            );
        }
        if self.due_in(now).is_zero() {
            return Err(Trouble::refused("what the authority issued ends as soon as it begins"));
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_base::config::Config;
    use onrush_testkit::Log;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use tracing::Level;

    const NAME: &str = "tickets.example";
    const HOUR_S: i64 = 3_600;
    const DAY_S: i64 = 24 * HOUR_S;

    fn settings() -> AcmeSettings {
        let text = format!("[tls.acme]\ndomains = [\"{NAME}\"]\naccept_terms = true\n");
        Config::parse(&text).unwrap().tls.unwrap().acme.unwrap()
    }

    /// A certificate for the first three months of a year, and its dates.
    fn issued(year: i32, name: &str) -> (Pair, Validity) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(year, 1, 1);
        params.not_after = date_time_ymd(year, 4, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let pair = Pair::new(certificate.pem().into(), key.serialize_pem().into()).unwrap();
        let validity = pair.validity().unwrap();
        (pair, validity)
    }

    fn clock(at_s: i64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(at_s.try_into().unwrap())
    }

    fn keep(pair: &Pair, fetched_s: i64, data: &Path) {
        Kept::below(data).store_certificate(pair, &settings().directory, fetched_s).unwrap();
    }

    #[tokio::test]
    async fn kept_certificate_that_begins_later_by_our_clock_is_shown() {
        let data = tempfile::tempdir().unwrap();
        let (pair, validity) = issued(3000, NAME);
        keep(&pair, validity.not_before_s, data.path());
        let acme = Acme::open(&settings(), data.path()).unwrap();
        assert_eq!(acme.shown().pair().expect("it is shown").key(), pair.key());
        let now = clock(validity.not_before_s - DAY_S);
        assert_eq!(acme.due_in(now).as_secs(), 61 * 86_400, "and renewed in its time");
    }

    #[tokio::test]
    async fn kept_certificate_that_has_ended_is_shown_once_the_clock_is_set() {
        let data = tempfile::tempdir().unwrap();
        let (pair, validity) = issued(2030, NAME);
        keep(&pair, validity.not_before_s, data.path());
        let ended = clock(validity.not_after_s + 1);
        let mut acme = Acme::open_at(&settings(), data.path(), ended).unwrap();
        assert!(acme.shown().pair().is_none());
        assert_eq!(acme.show_kept(ended), Ok(false));
        assert!(acme.due_in(ended).is_zero());

        let set = clock(validity.not_before_s);
        assert_eq!(acme.show_kept(set), Ok(true));
        assert_eq!(acme.shown().pair().expect("it is shown").key(), pair.key());
        assert!(!acme.due_in(set).is_zero(), "none is ordered");
        assert_eq!(acme.show_kept(set), Ok(false));
    }

    #[tokio::test]
    async fn what_was_issued_is_kept_shown_and_not_ordered_again_whatever_the_clock_says() {
        let (pair, validity) = issued(2030, NAME);
        let Validity { not_before_s, not_after_s } = validity;
        for (now_s, is_odd) in [
            (0, true),
            (not_before_s - HOUR_S, true),
            (not_before_s, false),
            (not_after_s - 31 * DAY_S, false),
            (not_after_s - HOUR_S, true),
            (not_after_s + DAY_S, true),
        ] {
            let (data, now) = (tempfile::tempdir().unwrap(), clock(now_s));
            let (log, _guard) = Log::begin(Level::INFO);
            let mut acme = Acme::open(&settings(), data.path()).unwrap();
            acme.take(pair.clone(), now).await.unwrap();
            assert_eq!(acme.shown().pair().as_ref(), Some(&pair), "at {now_s}");
            let kept = Kept::below(data.path()).certificate().unwrap().expect("it is kept");
            assert_eq!(kept.pair.key(), pair.key());
            assert!(!acme.due_in(now).is_zero(), "at {now_s}");
            let said = log.count("look at the clock");
            assert_eq!(said, usize::from(is_odd), "at {now_s}: {}", log.text());
        }
    }

    #[tokio::test]
    async fn start_by_a_clock_that_is_ahead_orders_no_other_for_two_days() {
        let data = tempfile::tempdir().unwrap();
        let (pair, validity) = issued(2030, NAME);
        let fetched_s = validity.not_after_s - 20 * DAY_S;
        let mut acme = Acme::open(&settings(), data.path()).unwrap();
        acme.take(pair, clock(fetched_s)).await.unwrap();
        for (since_s, is_due) in
            [(0, false), (DAY_S, false), (2 * DAY_S - HOUR_S, false), (2 * DAY_S, true), (-1, true)]
        {
            let now = clock(fetched_s + since_s);
            let acme = Acme::open_at(&settings(), data.path(), now).unwrap();
            assert_eq!(acme.due_in(now).is_zero(), is_due, "after {since_s}");
        }
        let domains = vec![NAME.to_owned(), "www.tickets.example".to_owned()];
        let named = AcmeSettings { domains, ..settings() };
        let now = clock(fetched_s);
        let acme = Acme::open_at(&named, data.path(), now).unwrap();
        assert!(acme.due_in(now).is_zero(), "a name that was added is not kept waiting");
    }

    #[tokio::test]
    async fn what_was_issued_for_other_names_is_neither_kept_nor_shown() {
        let data = tempfile::tempdir().unwrap();
        let mut acme = Acme::open(&settings(), data.path()).unwrap();
        let (pair, validity) = issued(2030, "other.example");
        let trouble = acme.take(pair, clock(validity.not_before_s)).await.unwrap_err();
        assert!(trouble.why.contains("is not for these names"), "{}", trouble.why);
        assert!(acme.shown().pair().is_none());
        assert!(Kept::below(data.path()).certificate().unwrap().is_none());
    }
}
