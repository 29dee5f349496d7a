//! The keys of people and services: who has them, and what they give the right to.

use crate::auth::keys::KeyDir;
use crate::auth::random;
use crate::config::Config;
use crate::config::keys::{ADMIN, SCANNER, Scope};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use onrush_core::ids::ChannelId;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq};

/// A key that somebody has; of the key itself only the hash is kept.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// Who has it.
    pub name: Box<str>,
    /// What it gives the right to.
    pub scopes: Vec<Scope>,
    /// The channels that it may hold from, for others.
    pub channels: Vec<ChannelId>,
    hash: [u8; 32],
}

impl NamedKey {
    /// Whether it gives the right to what needs this scope.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// The rights of somebody who signed in without a key. It opens nothing by itself: no keyring
    /// has it.
    #[must_use]
    pub(crate) fn of_person(name: Box<str>, scopes: Vec<Scope>) -> Arc<Self> {
        Arc::new(Self { name, scopes, channels: Vec::new(), hash: [0; 32] })
    }

    /// The key's hash, which others may derive keys from.
    #[must_use]
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

/// Why a configured key cannot be used, as a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyInvalid(pub String);

/// All keys there are.
#[derive(Debug)]
pub struct Keyring {
    keys: Vec<Arc<NamedKey>>,
}

const FILE: &str = "admin-key.sha256";

impl Keyring {
    /// The configured keys; also the admin key that was drawn at the first start, unless `admin_key` is
    /// set. Where none of them has the scope `admin`, a new one, which is also returned: it is never
    /// shown again. The log has a drawn one that is not needed any more.
    ///
    /// # Errors
    /// Whatever the file system says; [`KeyInvalid`] within for a configured key that cannot be read
    /// or is another one's.
    pub fn open(dir: &KeyDir, config: &Config) -> io::Result<(Self, Option<String>)> {
        let mut keys = Vec::with_capacity(config.keys.len() + 2);
        let mut add = |name: &str, scopes: &[Scope], channels: &[ChannelId], hash: [u8; 32]| {
            let (scopes, channels) = (scopes.to_vec(), channels.to_vec());
            keys.push(Arc::new(NamedKey { name: name.into(), scopes, channels, hash }));
        };
        let mut fresh = None;
        let stored = dir.load(FILE)?;
        let has_admin = config.keys.iter().any(|key| key.scopes.contains(&Scope::Admin));
        match (&config.admin_key, stored) {
            (Some(key), _) => add(ADMIN, &[Scope::Admin], &[], hash(key.reveal())),
            (None, Some(hash)) => {
                if has_admin {
                    let file = dir.path_of(FILE);
                    tracing::warn!(
                        file = %file.display(),
                        "the admin key that was drawn at the first start still opens everything, beside \
                         a configured key with the scope admin; to retire it, delete its file and start \
                         again (in a cluster also keys/admin-key.sha256 in the table files)"
                    );
                }
                add(ADMIN, &[Scope::Admin], &[], hash);
            }
            (None, None) if has_admin => {}
            (None, None) => {
                let key = new_key();
                dir.store_new(FILE, &hash(&key))?;
                add(ADMIN, &[Scope::Admin], &[], hash(&key));
                fresh = Some(key);
            }
        }
        if let Some(key) = &config.scanner_key {
            add(SCANNER, &[Scope::Door], &[], hash(key.reveal()));
        }
        for key in &config.keys {
            let hash = key.hash().map_err(|why| invalid(format!("keys: {}: {why}", key.name)))?;
            add(&key.name, &key.scopes, &key.channels, hash);
        }
        // Else nobody could say who did what.
        for (index, key) in keys.iter().enumerate() {
            if let Some(other) = keys[..index].iter().find(|other| other.hash == key.hash) {
                let (name, other) = (&key.name, &other.name);
                let why = format!("keys: {name} and {other} are one key; make one for each");
                return Err(invalid(why));
            }
        }
        Ok((Self { keys }, fresh))
    }

    /// Keys of these names, hashes and scopes.
    #[must_use]
    pub fn of(keys: impl IntoIterator<Item = (&'static str, [u8; 32], Vec<Scope>)>) -> Self {
        let named = |(name, hash, scopes): (&str, _, _)| {
            Arc::new(NamedKey { name: name.into(), scopes, channels: Vec::new(), hash })
        };
        Self { keys: keys.into_iter().map(named).collect() }
    }

    /// Whose key this is. Takes the same time for every wrong one, and whichever is right: all are
    /// compared, to the end.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<&Arc<NamedKey>> {
        let hash = hash(key);
        let same: Vec<Choice> = self.keys.iter().map(|key| key.hash.ct_eq(&hash)).collect();
        self.keys.iter().zip(same).fold(
            None,
            |found, (key, same)| {
                if bool::from(same) { Some(key) } else { found }
            },
        )
    }

    /// The key of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Arc<NamedKey>> {
        self.keys.iter().find(|key| &*key.name == name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NamedKey>> {
        self.keys.iter()
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, KeyInvalid(why))
}

/// A new key.
#[must_use]
pub fn new_key() -> String {
    format!("ak_{}", BASE64_URL_SAFE_NO_PAD.encode(random::<24>()))
}

/// What is kept of a key.
#[must_use]
pub fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::hex;
    use crate::config::keys::KeySettings;
    use onrush_testkit::Log;
    use strum::VariantArray;

    fn named(name: &str, key: &str, scopes: &[Scope]) -> KeySettings {
        KeySettings {
            name: name.into(),
            scopes: scopes.to_vec(),
            sha256: Some(hex(&hash(key))),
            file: None,
            channels: Vec::new(),
        }
    }

    #[test]
    fn a_key_has_its_name_and_its_scopes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let dir = KeyDir::open(dir.path()).unwrap();
        let config = Config {
            admin_key: Some("the organiser's own key".to_owned().into()),
            scanner_key: Some("a key for the door".to_owned().into()),
            keys: vec![named("ann", "ann's own key of today", &[Scope::Read, Scope::Sell])],
            ..Config::default()
        };
        let (keys, fresh) = Keyring::open(&dir, &config).unwrap();
        assert_eq!(fresh, None);
        let who = |key: &str| keys.find(key).map(|key| key.name.to_string());
        assert_eq!(who("the organiser's own key").as_deref(), Some("admin"));
        assert_eq!(who("a key for the door").as_deref(), Some("scanner"));
        assert_eq!(who("ann's own key of today").as_deref(), Some("ann"));
        assert_eq!(who("ann's own key of todaY"), None);
        assert_eq!(who(""), None);
        let may = |name: &str| -> Vec<bool> {
            let key = keys.named(name).unwrap();
            Scope::VARIANTS.iter().map(|&scope| key.may(scope)).collect()
        };
        assert_eq!(may("admin"), [true; 6]);
        assert_eq!(may("scanner"), [false, false, false, false, true, false]);
        assert_eq!(may("ann"), [true, true, false, false, false, false]);
    }

    #[test]
    fn a_key_is_drawn_where_nobody_could_do_everything() {
        let folder = tempfile::tempdir().unwrap();
        let dir = KeyDir::open(folder.path()).unwrap();
        let of = |keys: Vec<KeySettings>| Config { keys, ..Config::default() };
        let everything = of(vec![named("ann", "ann's own key of today", &[Scope::Admin])]);
        let (keys, fresh) = Keyring::open(&dir, &everything).unwrap();
        assert!(fresh.is_none() && keys.named("admin").is_none());
        let some = of(vec![named("ann", "ann's own key of today", &[Scope::Read])]);
        let fresh = Keyring::open(&dir, &some).unwrap().1.unwrap();
        // It stays until its file is taken away.
        let (keys, again) = Keyring::open(&dir, &everything).unwrap();
        assert_eq!(again, None);
        assert_eq!(keys.find(&fresh).map(|key| &*key.name), Some("admin"));
    }

    #[test]
    fn a_drawn_key_that_is_not_needed_any_more_is_told_of_at_each_start_until_its_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let dir = KeyDir::open(folder.path()).unwrap();
        let file = folder.path().join("keys").join(FILE);
        let (log, _guard) = Log::begin(tracing::Level::WARN);
        let start = |admin_key: Option<&str>, scope: Scope| {
            let keys = vec![named("ann", "ann's own key of today", &[scope])];
            let admin_key = admin_key.map(|key| key.to_owned().into());
            let config = Config { keys, admin_key, ..Config::default() };
            Keyring::open(&dir, &config).unwrap().0
        };
        // Nobody else could do everything, or it does nothing beside the one that is set.
        start(None, Scope::Read);
        start(None, Scope::Read);
        start(Some("the organiser's own key"), Scope::Admin);
        assert_eq!(log.text(), "");
        for starts in 1..3 {
            assert!(start(None, Scope::Admin).named("admin").is_some());
            assert_eq!(log.count(&file.display().to_string()), starts);
        }
        assert_eq!(log.count("table files"), 2);
        std::fs::remove_file(&file).unwrap();
        assert!(start(None, Scope::Admin).named("admin").is_none());
        assert_eq!(log.text().lines().count(), 2);
    }

    #[test]
    fn one_key_of_two_people_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let dir = KeyDir::open(folder.path()).unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "ann's own key of today").unwrap();
        let mut other = named("bo", "", &[Scope::Read]);
        (other.sha256, other.file) = (None, Some(file));
        let keys = vec![named("ann", "ann's own key of today", &[Scope::Admin]), other];
        let why = Keyring::open(&dir, &Config { keys, ..Config::default() }).unwrap_err();
        assert_eq!(why.to_string(), "keys: bo and ann are one key; make one for each");
        assert!(why.downcast::<KeyInvalid>().is_ok());
    }
}
