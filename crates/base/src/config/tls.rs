//! The section `[tls]`: the public listener's own certificate.

use super::acme::AcmeSettings;
use super::certificates::{Pem, pair};
use onrush_tls::Pair;
use serde::Deserialize;
use std::time::Duration;

/// The section `[tls]`: the public listener speaks TLS, with a certificate in files or one that is
/// fetched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The certificate and those between it and its authority, ours first.
    pub cert: Option<Pem>,
    /// Its key.
    pub key: Option<Pem>,
    /// How often the files are looked at.
    #[serde(skip, default = "look_every")]
    pub look_every: Duration,
    /// Who issues a certificate to the server itself.
    pub acme: Option<AcmeSettings>,
}

fn look_every() -> Duration {
    Duration::from_secs(5)
}

impl TlsSettings {
    /// A certificate in files, or in texts.
    #[must_use]
    pub fn of_files(cert: Pem, key: Pem) -> Self {
        Self { cert: Some(cert), key: Some(key), look_every: look_every(), acme: None }
    }

    /// Reads certificate and key.
    ///
    /// # Errors
    /// What is not set or cannot be read or used, as a sentence that names the place.
    pub fn load(&self) -> Result<Pair, String> {
        let read = |pem: &Pem, name: &str| pem.read().map_err(|why| format!("tls.{name}: {why}"));
        let (cert, key) = self.both()?;
        pair(read(cert, "cert")?, read(key, "key")?, "tls")
    }

    /// Certificate and key, wherever they stand.
    fn both(&self) -> Result<(&Pem, &Pem), String> {
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Ok((cert, key)),
            (None, None) => Err("tls: set cert and key, or [tls.acme]".into()),
            (Some(_), None) | (None, Some(_)) => Err("tls: cert and key go together".into()),
        }
    }

    /// Whether the certificate or its key stands in a file. Somebody else writes and renews it, one
    /// after the other, so that what is wrong with it may pass.
    #[must_use]
    pub fn is_in_files(&self) -> bool {
        [&self.cert, &self.key].into_iter().flatten().any(|pem| matches!(pem, Pem::File(_)))
    }

    /// What is wrong with what stands in its files now, as a sentence that names the place.
    pub(super) fn file_complaint(&self) -> Option<String> {
        let has_both = self.acme.is_none() && self.both().is_ok();
        if has_both && self.is_in_files() { self.load().err() } else { None }
    }

    /// What is wrong with what is set: one sentence each, with its place. What stands in files is
    /// left to [`Self::file_complaint`]. `is_one_of_many` says whether other nodes have the same
    /// names.
    pub(super) fn complaints(&self, is_one_of_many: bool) -> Vec<String> {
        let Some(acme) = &self.acme else {
            let found = if self.is_in_files() { self.both().err() } else { self.load().err() };
            return found.into_iter().collect();
        };
        let mut found = acme.complaints();
        if self.cert.is_some() || self.key.is_some() {
            found.push(
                "tls: cert and key are a certificate in files, [tls.acme] is one that is fetched; \
                 set one of the two"
                    .into(),
            );
        }
        if is_one_of_many {
            found.push(
                "tls.acme: an authority that looks at a name meets any of several nodes, and only \
                 the one that asked could answer; give all nodes the same files in tls.cert and \
                 tls.key, or let the load balancer speak TLS"
                    .into(),
            );
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use onrush_testkit::{Authority, Issued};

    /// The places that are complained about: in what is set alone, and with what stands in files.
    fn complained_of(text: &str) -> [Vec<String>; 2] {
        let config = Config::parse(text).unwrap();
        [config.check(), config.check_with_files()].map(|checked| {
            let told = checked.err().map(|error| error.to_string()).unwrap_or_default();
            told.lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect()
        })
    }

    #[test]
    fn what_stands_in_files_is_told_apart_from_what_is_set() {
        let authority = Authority::new("ours");
        let (issued, other) = (authority.server(), authority.server());
        let mixed = Issued { cert: issued.cert.clone(), key: other.key };
        let folder = tempfile::tempdir().unwrap();
        let in_files = |name: &str, pair: &Issued| {
            let (cert, key) = pair.write(folder.path(), name).unwrap();
            format!("[tls]\ncert = \"{}\"\nkey = \"{}\"\n", cert.display(), key.display())
        };
        let in_texts = |pair: &Issued| {
            format!("[tls]\ncert = \"\"\"{}\"\"\"\nkey = \"\"\"{}\"\"\"\n", pair.cert, pair.key)
        };
        let away = in_files("away", &issued).replace("away.pem", "nowhere.pem");
        let half = "[tls]\ncert = \"/nowhere/tls.pem\"\n".to_owned();
        let none: &[&str] = &[];
        for (text, by_settings, by_files) in [
            (in_files("whole", &issued), none, none),
            (in_files("mixed", &mixed), none, &["tls.key"]),
            (away, none, &["tls.cert"]),
            (in_texts(&issued), none, none),
            (in_texts(&mixed), &["tls.key"], &["tls.key"]),
            (half, &["tls"], &["tls"]),
            (
                format!("visitors_per_min = 0\n{}", in_files("both", &mixed)),
                &["visitors_per_min"],
                &["visitors_per_min", "tls.key"],
            ),
        ] {
            assert_eq!(complained_of(&text), [by_settings, by_files], "{text}");
        }
    }
}
