//! What is kept in `<data>/keys/acme/`: the account, and the certificate with its key; until the
//! account is known, the key that it was asked for with.
//!
//! Each is one file, replaced as a whole, so that a backup or a power cut never parts a key from
//! its certificate.

use instant_acme::AccountCredentials;
use onrush_tls::Pair;
use onrush_tls::rustls::pki_types::PrivatePkcs8KeyDer;
use onrush_tls::rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const ACCOUNT: &str = "account.json";
const ACCOUNT_KEY: &str = "account-key.pem";
const CERTIFICATE: &str = "certificate.pem";
/// What a file with a key begins with: at whose directory it is used.
const DIRECTORY: &str = "directory: ";
/// What follows it in the file of a certificate: when it was fetched.
const FETCHED: &str = "fetched_s: ";
const KEY_BEGINS: &str = "-----BEGIN PRIVATE KEY-----";

/// The directory with the files.
#[derive(Clone, Debug)]
pub(crate) struct Kept(PathBuf);

/// A certificate, and the directory of the authority that issued it.
pub(crate) struct KeptCertificate {
    pub(crate) pair: Pair,
    pub(crate) directory: String,
    /// When it was fetched, in seconds since the epoch by this machine's clock of then; older files do
    /// not say it. The date of the file would be another one after a restore.
    pub(crate) fetched_s: Option<i64>,
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
        let Some((directory, chain, key)) = parts(&text) else {
            return Err(self.wrong(CERTIFICATE, "it is not as it was written"));
        };
        let pair = Pair::new(chain.into(), key.into());
        let pair = pair.map_err(|why| self.wrong(CERTIFICATE, why))?;
        let fetched = text.lines().nth(1).and_then(|line| line.strip_prefix(FETCHED));
        let fetched_s = fetched.and_then(|fetched_s| fetched_s.parse().ok());
        Ok(Some(KeptCertificate { pair, directory: directory.to_owned(), fetched_s }))
    }

    pub(crate) fn store_certificate(
        &self,
        pair: &Pair,
        directory: &str,
        fetched_s: i64,
    ) -> Result<(), String> {
        let chain = String::from_utf8_lossy(pair.chain());
        let key = String::from_utf8_lossy(pair.key());
        let head = format!("{DIRECTORY}{directory}\n{FETCHED}{fetched_s}");
        self.write(CERTIFICATE, &format!("{head}\n{chain}\n{key}"))
    }

    /// The account at this directory, if there is one.
    pub(crate) fn account(&self, directory: &str) -> Result<Option<Account>, String> {
        let Some(text) = self.read(ACCOUNT)? else { return Ok(None) };
        // The parser's own words may repeat what it read.
        let account: Account = serde_json::from_str(&text)
            .map_err(|_| self.wrong(ACCOUNT, "it is not as it was written; take it away"))?;
        Ok(Some(account).filter(|account| account.directory == directory))
    }

    /// Keeps the account, and no longer the key that it was asked for with: the account has it.
    pub(crate) fn store_account(&self, account: &Account) -> Result<(), String> {
        let text = serde_json::to_string(account).map_err(|why| self.wrong(ACCOUNT, why))?;
        self.write(ACCOUNT, &text)?;
        match fs::remove_file(self.0.join(ACCOUNT_KEY)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(self.wrong(ACCOUNT_KEY, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The key that this directory was asked for an account with, if nobody knows what came of it.
    pub(crate) fn account_key(
        &self,
        directory: &str,
    ) -> Result<Option<PrivatePkcs8KeyDer<'static>>, String> {
        let Some(text) = self.read(ACCOUNT_KEY)? else { return Ok(None) };
        let found = parts(&text).and_then(|(of, _, key)| {
            Some((of, PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()).ok()?))
        });
        let Some((of, key)) = found else {
            return Err(self.wrong(ACCOUNT_KEY, "it is not as it was written; take it away"));
        };
        Ok(Some(key).filter(|_| of == directory))
    }

    /// Keeps the key, as PEM, that this directory is about to be asked for an account with.
    pub(crate) fn store_account_key(&self, key: &str, directory: &str) -> Result<(), String> {
        self.write(ACCOUNT_KEY, &format!("{DIRECTORY}{directory}\n{key}"))
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

/// The directory of a file with a key, what stands before the key, and the key.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let directory = text.lines().next()?.strip_prefix(DIRECTORY)?;
    let (before, key) = text.split_at(text.find(KEY_BEGINS)?);
    Some((directory, before, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_testkit::Authority;
    use serde_json::json;
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
        for (directory, fetched_s) in [("https://a.example/dir", 7), ("https://b.example/dir", 8)] {
            let pair = pair();
            kept.store_certificate(&pair, directory, fetched_s).unwrap();
            let found = kept.certificate().unwrap().unwrap();
            assert_eq!(found.directory, directory);
            assert_eq!(found.fetched_s, Some(fetched_s));
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
    fn a_certificate_that_does_not_say_when_it_was_fetched_is_as_good() {
        let data = tempfile::tempdir().unwrap();
        let (kept, pair) = (Kept::below(data.path()), pair());
        kept.store_certificate(&pair, "https://a.example/dir", 7).unwrap();
        let file = data.path().join("keys/acme").join(CERTIFICATE);
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, whole.replace("fetched_s: 7\n", "")).unwrap();
        let found = kept.certificate().unwrap().unwrap();
        assert_eq!((found.fetched_s, found.pair.key()), (None, pair.key()));
    }

    #[test]
    fn a_file_that_is_damaged_is_named_and_repeats_no_key() {
        let data = tempfile::tempdir().unwrap();
        let kept = Kept::below(data.path());
        let pair = pair();
        kept.store_certificate(&pair, "https://a.example/dir", 7).unwrap();
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
        let damaged = format!("{DIRECTORY}https://a.example/dir\n{KEY_BEGINS}\ns3cret");
        fs::write(data.path().join("keys/acme").join(ACCOUNT_KEY), damaged).unwrap();
        let why = kept.account_key("https://a.example/dir").expect_err("it is damaged");
        assert!(why.contains("account-key.pem: ") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn key_of_an_account_is_kept_for_its_directory_until_the_account_is() {
        let data = tempfile::tempdir().unwrap();
        let kept = Kept::below(data.path());
        let directory = "https://a.example/dir";
        assert_eq!(kept.account_key(directory), Ok(None));
        let key = rcgen::KeyPair::generate().unwrap();
        kept.store_account_key(&key.serialize_pem(), directory).unwrap();
        let found = kept.account_key(directory).unwrap().expect("it is kept");
        assert_eq!(found.secret_pkcs8_der(), key.serialize_der());
        assert_eq!(kept.account_key("https://b.example/dir"), Ok(None));
        let file = data.path().join("keys/acme").join(ACCOUNT_KEY);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        let credentials = json!({"id": "1", "key_pkcs8": "AAAA", "directory": directory});
        let credentials = serde_json::from_value(credentials).unwrap();
        let account = Account { directory: directory.into(), contact: None, credentials };
        for _ in 0..2 {
            kept.store_account(&account).unwrap();
            assert!(kept.account(directory).unwrap().is_some());
            assert_eq!(kept.account_key(directory), Ok(None));
        }
    }
}
