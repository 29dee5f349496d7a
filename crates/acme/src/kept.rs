//! What is kept in `<data>/keys/acme/`: the account, and the certificate with its key.
//!
//! Each is one file, replaced as a whole, so that a backup or a power cut never parts a key from
//! its certificate.

use instant_acme::AccountCredentials;
use onrush_tls::Pair;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const ACCOUNT: &str = "account.json";
const CERTIFICATE: &str = "certificate.pem";
/// What the certificate's file begins with: whose it is.
const DIRECTORY: &str = "directory: ";
const KEY_BEGINS: &str = "-----BEGIN PRIVATE KEY-----";

/// The directory with the files.
#[derive(Clone, Debug)]
pub(crate) struct Kept(PathBuf);

/// A certificate, and the directory of the authority that issued it.
pub(crate) struct KeptCertificate {
    pub(crate) pair: Pair,
    pub(crate) directory: String,
}

/// An account at an authority.
#[derive(Serialize, Deserialize)]
pub(crate) struct Account {
    /// Whose directory it is of.
    pub(crate) directory: String,
    /// What the authority was told.
    pub(crate) contact: Option<String>,
    /// Its name there and its key.
    pub(crate) credentials: AccountCredentials,
}

impl Kept {
    pub(crate) fn below(data: &Path) -> Self {
        Self(data.join("keys").join("acme"))
    }

    /// The certificate, if there is one.
    pub(crate) fn certificate(&self) -> Result<Option<KeptCertificate>, String> {
        let Some(text) = self.read(CERTIFICATE)? else { return Ok(None) };
        let directory = text.lines().next().and_then(|line| line.strip_prefix(DIRECTORY));
        let parts = text.find(KEY_BEGINS).map(|at| text.split_at(at));
        let (Some(directory), Some((chain, key))) = (directory, parts) else {
            return Err(self.wrong(CERTIFICATE, "it is not as it was written"));
        };
        let pair = Pair::new(chain.into(), key.into());
        let pair = pair.map_err(|why| self.wrong(CERTIFICATE, why))?;
        Ok(Some(KeptCertificate { pair, directory: directory.to_owned() }))
    }

    pub(crate) fn store_certificate(&self, pair: &Pair, directory: &str) -> Result<(), String> {
        let chain = String::from_utf8_lossy(pair.chain());
        let key = String::from_utf8_lossy(pair.key());
        self.write(CERTIFICATE, &format!("{DIRECTORY}{directory}\n{chain}\n{key}"))
    }

    /// The account at this directory, if there is one.
    pub(crate) fn account(&self, directory: &str) -> Result<Option<Account>, String> {
        let Some(text) = self.read(ACCOUNT)? else { return Ok(None) };
        // The parser's own words may repeat what it read.
        let account: Account = serde_json::from_str(&text)
            .map_err(|_| self.wrong(ACCOUNT, "it is not as it was written; take it away"))?;
        Ok(Some(account).filter(|account| account.directory == directory))
    }

    pub(crate) fn store_account(&self, account: &Account) -> Result<(), String> {
        let text = serde_json::to_string(account).map_err(|why| self.wrong(ACCOUNT, why))?;
        self.write(ACCOUNT, &text)
    }

    fn wrong(&self, name: &str, why: impl std::fmt::Display) -> String {
        format!("{}: {why}", self.0.join(name).display())
    }

    fn read(&self, name: &str) -> Result<Option<String>, String> {
        match fs::read_to_string(self.0.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.wrong(name, error)),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        self.replace(name, text.as_bytes()).map_err(|error| self.wrong(name, error))
    }

    /// Puts a file into the place of the one from before, durably, for its owner alone.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let aside = self.0.join(format!("{name}.tmp"));
        // One that a power cut left.
        match fs::remove_file(&aside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, self.0.join(name))?;
        // The directories may be as new as the file.
        self.0.ancestors().take(3).try_for_each(|dir| File::open(dir)?.sync_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_testkit::Authority;
    use std::os::unix::fs::PermissionsExt;

    fn pair() -> Pair {
        let issued = Authority::new("ours").server();
        Pair::new(issued.cert.into(), issued.key.into()).unwrap()
    }

    #[test]
    fn a_certificate_is_kept_for_its_owner_alone_and_replaced_as_a_whole() {
        let data = tempfile::tempdir().unwrap();
        let kept = Kept::below(data.path());
        assert!(kept.certificate().unwrap().is_none());
        let dir = data.path().join("keys/acme");
        for directory in ["https://a.example/dir", "https://b.example/dir"] {
            let pair = pair();
            kept.store_certificate(&pair, directory).unwrap();
            let found = kept.certificate().unwrap().unwrap();
            assert_eq!(found.directory, directory);
            assert_eq!(found.pair.key(), pair.key());
            assert_eq!(found.pair.validity(), pair.validity());
            assert!(found.pair.is_for("localhost") && !found.pair.is_for("other.example"));
            assert!(!String::from_utf8_lossy(found.pair.chain()).contains("PRIVATE"));
            // What a power cut leaves is in nobody's way.
            fs::write(dir.join("certificate.pem.tmp"), "half").unwrap();
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir), 0o700);
        assert_eq!(mode(&dir.join(CERTIFICATE)), 0o600);
    }

    #[test]
    fn a_file_that_is_damaged_is_named_and_repeats_no_key() {
        let data = tempfile::tempdir().unwrap();
        let kept = Kept::below(data.path());
        let pair = pair();
        kept.store_certificate(&pair, "https://a.example/dir").unwrap();
        let file = data.path().join("keys/acme").join(CERTIFICATE);
        let whole = fs::read_to_string(&file).unwrap();
        let key = String::from_utf8_lossy(pair.key()).lines().nth(1).unwrap().to_owned();
        for damaged in [&whole[..40], &whole[..whole.len() - 80], &whole[30..], ""] {
            fs::write(&file, damaged).unwrap();
            let why = kept.certificate().err().expect("it is damaged");
            assert!(why.contains("keys/acme/certificate.pem: ") && !why.contains(&key), "{why}");
        }
        fs::write(data.path().join("keys/acme").join(ACCOUNT), "{\"s3cret\"").unwrap();
        let why = kept.account("https://a.example/dir").err().expect("it is damaged");
        assert!(why.contains("account.json: ") && !why.contains("s3cret"), "{why}");
    }
}
