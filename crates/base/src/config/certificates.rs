//! Certificates: whose are trusted, and our own. Every server we connect to has the same settings
//! for them.

use onrush_tls::{Certificates, Pair, Unusable};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a text in PEM begins with.
const PEM_BEGINS: &str = "-----BEGIN ";
/// The longest file that is read for a setting.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

/// Certificates or a key in PEM: the path of a file, or the text itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file.
    File(PathBuf),
    /// The text.
    Text(String),
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(f),
            Self::Text(_) => f.write_str("(PEM)"),
        }
    }
}

impl From<String> for Pem {
    fn from(text: String) -> Self {
        if text.trim_start().starts_with(PEM_BEGINS) {
            Self::Text(text)
        } else {
            Self::File(PathBuf::from(text))
        }
    }
}

impl<'de> Deserialize<'de> for Pem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Pem {
    /// The text.
    ///
    /// # Errors
    /// The file cannot be read, as a sentence that names it.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::File(path) => {
                read_small(path).map_err(|error| format!("{}: {error}", path.display()))
            }
        }
    }
}

/// A whole file, as long as it is a file and short enough for what stands in settings.
pub(super) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // A pipe or a device could keep a start waiting, or never end.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}

/// The section `certificates` of a server that one connects to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CertificateSettings {
    /// The authorities that are trusted there, and nobody else; those of the public web if left out.
    pub ca: Option<Pem>,
    /// Our own certificate, if the server wants to see one.
    pub cert: Option<Pem>,
    /// Its key.
    pub key: Option<Pem>,
}

impl CertificateSettings {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Reads them; `place` is the section, such as `redis.certificates`.
    ///
    /// # Errors
    /// What cannot be read or used, as a sentence that names the place.
    pub fn load(&self, place: &str) -> Result<Certificates, String> {
        let read =
            |pem: &Pem, name: &str| pem.read().map_err(|why| format!("{place}.{name}: {why}"));
        let ca = self.ca.as_ref().map(|pem| read(pem, "ca")).transpose()?;
        let own = match (&self.cert, &self.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some(pair(read(cert, "cert")?, read(key, "key")?, place)?),
            (Some(_), None) | (None, Some(_)) => {
                return Err(format!("{place}: cert and key go together"));
            }
        };
        Certificates::new(ca, own).map_err(|why| format!("{place}.ca: {why}"))
    }
}

/// Both as a pair, or what is wrong with which of the two.
pub(super) fn pair(cert: Vec<u8>, key: Vec<u8>, place: &str) -> Result<Pair, String> {
    Pair::new(cert, key).map_err(|why| {
        let name = match why {
            Unusable::NoCertificate | Unusable::NoAuthority(_) => "cert",
            Unusable::NoKey | Unusable::KeyOfAnother | Unusable::Key(_) => "key",
        };
        format!("{place}.{name}: {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use onrush_testkit::{Authority, Issued};

    fn loaded(ca: &str, issued: Option<&Issued>) -> Result<Certificates, String> {
        let settings = CertificateSettings {
            ca: Some(Pem::from(ca.to_owned())),
            cert: issued.map(|issued| Pem::from(issued.cert.clone())),
            key: issued.map(|issued| Pem::from(issued.key.clone())),
        };
        settings.load("redis.certificates")
    }

    #[test]
    fn certificates_are_read_from_files_or_texts_and_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, ours.pem()).unwrap();
        let by_file = loaded(file.to_str().unwrap(), Some(&ours.client("shop"))).unwrap();
        assert_eq!(by_file.authorities(), Some(ours.pem().as_bytes()));

        let (one, other) = (ours.client("a"), theirs.client("b"));
        let mixed = Issued { cert: one.cert.clone(), key: other.key.clone() };
        let turned = Issued { cert: one.key.clone(), key: one.cert.clone() };
        std::fs::write(&file, "no certificate").unwrap();
        for (ca, issued, said) in [
            ("/nowhere/ca.pem", None, "redis.certificates.ca: /nowhere/ca.pem: "),
            (folder.path().to_str().unwrap(), None, "it is not a file"),
            (file.to_str().unwrap(), None, "redis.certificates.ca: there is no whole certificate"),
            (ours.pem(), Some(&mixed), "redis.certificates.key: the key belongs to another"),
            (ours.pem(), Some(&turned), "redis.certificates.cert: there is no whole certificate"),
        ] {
            let why = loaded(ca, issued).unwrap_err();
            assert!(why.contains(said), "{said}: {why}");
            let secret = one.key.lines().nth(1).unwrap();
            assert!(!why.contains(secret), "a key is told: {why}");
        }
        let half = CertificateSettings { cert: Some(Pem::from(one.cert)), ..Default::default() };
        assert!(half.load("x").unwrap_err().contains("go together"));
    }

    #[test]
    fn a_key_in_the_settings_does_not_show() {
        let issued = Authority::new("ours").server();
        let text =
            format!("[tls]\ncert = \"\"\"{}\"\"\"\nkey = \"\"\"{}\"\"\"", issued.cert, issued.key);
        let config = Config::parse(&text).unwrap();
        config.check().unwrap();
        assert!(!format!("{config:?}").contains(issued.key.lines().nth(1).unwrap()));
        assert!(config.pages_url("192.0.2.7:443".parse().unwrap()).starts_with("https://"));
    }
}
