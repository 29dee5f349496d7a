//! Keys of people and services: their names, and what each may do.

use super::secrets::own_secret_complaint;
use super::{Config, Secret};
use onrush_core::ids::ChannelId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// The name of the key that `admin_key` sets, or the first start draws.
pub const ADMIN: &str = "admin";
/// The name of the key that `scanner_key` sets.
pub const SCANNER: &str = "scanner";
/// The longest name, in letters.
const MAX_NAME: usize = 40;

/// What a key gives the right to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", parse_err_ty = String, parse_err_fn = unknown_scope)]
pub enum Scope {
    /// See how sales stand, and what was bought, but not by whom.
    Read,
    /// Open, pause and close; set prices, settings and texts; hold for somebody.
    Sell,
    /// Capacity, blocks, channels, seats.
    Stock,
    /// Refunds, stuck sagas, receipts, whom mail goes to, exports with what names people.
    Money,
    /// Let people in.
    Door,
    /// Everything.
    Admin,
}

fn unknown_scope(_: &str) -> String {
    "use read, sell, stock, money, door or admin".into()
}

/// A key of somebody, or of a service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySettings {
    /// Who has it, as histories say it.
    pub name: String,
    /// What it gives the right to.
    pub scopes: Vec<Scope>,
    /// The SHA-256 of the key, in hexadecimal digits: the key itself is nowhere on the server.
    pub sha256: Option<String>,
    /// A file that has the key, for those who keep secrets in files.
    pub file: Option<PathBuf>,
    /// The channels that it may hold from, for others.
    #[serde(default)]
    pub channels: Vec<ChannelId>,
}

impl KeySettings {
    /// The key's hash, read from the file if it is not set.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    pub fn hash(&self) -> Result<[u8; 32], String> {
        match (&self.sha256, &self.file) {
            (Some(digits), None) => {
                from_hex(digits).ok_or_else(|| "sha256: use 64 hexadecimal digits".to_owned())
            }
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| format!("file: {}: {error}", file.display()))?;
                let key = Secret::from(text.trim_end_matches(['\r', '\n']).to_owned());
                match own_secret_complaint(&key) {
                    None => Ok(Sha256::digest(key.reveal()).into()),
                    Some(why) => Err(format!("file: {why}")),
                }
            }
            (None, None) | (Some(_), Some(_)) => Err("set one of sha256 and file".into()),
        }
    }
}

/// What is wrong with a key's name; `None` if nothing is.
#[must_use]
pub fn name_complaint(name: &str) -> Option<&'static str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        Some("use 1 to 40 letters, digits, - and _")
    } else if [ADMIN, SCANNER].contains(&name) {
        Some("this is the name of admin_key or scanner_key; use another one")
    } else {
        None
    }
}

fn from_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    // A sign would have been taken for a digit.
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(bytes)
}

impl Config {
    /// What is wrong with keys: one sentence each, which names the place. Files are not read here.
    pub(super) fn key_complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut known = self.hashes_of_lines();
        for (index, key) in self.keys.iter().enumerate() {
            let mut say = |what: &str| found.push(format!("keys[{index}].{what}"));
            if let Some(why) = name_complaint(&key.name) {
                say(&format!("name: {why}"));
            }
            if self.keys[..index].iter().any(|other| other.name == key.name) {
                say("name: use each name once");
            }
            if key.scopes.is_empty() {
                say("scopes: name at least one of read, sell, stock, money, door, admin");
            }
            match (&key.sha256, &key.file) {
                (Some(_), None) => match key.hash() {
                    Err(why) => say(&why),
                    Ok(hash) => {
                        match known.iter().find(|(_, other)| *other == hash) {
                            // Then nobody could say who did what.
                            Some((other, _)) => {
                                say(&format!(
                                    "sha256: it is the key of {other}; make one of its own"
                                ));
                            }
                            None => known.push((format!("keys[{index}]"), hash)),
                        }
                    }
                },
                (None, Some(_)) => {}
                (None, None) | (Some(_), Some(_)) => say("sha256: set one of sha256 and file"),
            }
        }
        found
    }

    /// What is wrong with keys that stand in files now: one sentence each, which names the place.
    pub(super) fn key_file_complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut known = self.hashes_of_lines();
        let places = || self.keys.iter().enumerate();
        // `key_complaints` says what is wrong with these.
        let in_settings = places().filter(|(_, key)| key.file.is_none());
        known.extend(
            in_settings
                .filter_map(|(index, key)| Some((format!("keys[{index}]"), key.hash().ok()?))),
        );
        for (index, key) in places().filter(|(_, key)| key.file.is_some() && key.sha256.is_none()) {
            let place = format!("keys[{index}]");
            match key.hash() {
                Err(why) => found.push(format!("{place}.{why}")),
                Ok(hash) => match known.iter().find(|(_, other)| *other == hash) {
                    Some((other, _)) => found.push(format!(
                        "{place}.file: it has the key of {other}; make one of its own"
                    )),
                    None => known.push((place, hash)),
                },
            }
        }
        found
    }

    /// Hashes of `admin_key` and `scanner_key`, with their places.
    fn hashes_of_lines(&self) -> Vec<(String, [u8; 32])> {
        let hash_of = |key: &Secret| -> [u8; 32] { Sha256::digest(key.reveal()).into() };
        let lines = [("admin_key", &self.admin_key), ("scanner_key", &self.scanner_key)];
        let set = lines.into_iter().filter_map(|(place, key)| Some((place, key.as_ref()?)));
        set.map(|(place, key)| (place.to_owned(), hash_of(key))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        Config::parse(text).unwrap().key_complaints()
    }

    #[test]
    fn a_key_has_a_name_scopes_and_one_hash() {
        let sha256 = "0123456789abcdef".repeat(4);
        let key = |name: &str, rest: &str| format!("[[keys]]\nname = \"{name}\"\n{rest}\n");
        let whole = format!("scopes = [\"read\", \"sell\"]\nsha256 = \"{sha256}\"");
        assert_eq!(complaints(&key("box-office", &whole)), [""; 0]);
        let other = whole.replace('0', "1");
        let two = [key("a", &whole), key("a", &other)].concat();
        let same = [key("a", &whole), key("b", &whole)].concat();
        for (text, said) in [
            (key("", &whole), "keys[0].name: use 1 to 40"),
            (key("box office", &whole), "keys[0].name: use 1 to 40"),
            (key("admin", &whole), "keys[0].name: this is the name of admin_key"),
            (
                key("a", &whole.replace("\"read\", \"sell\"", "")),
                "keys[0].scopes: name at least one",
            ),
            (key("a", "scopes = [\"read\"]"), "keys[0].sha256: set one of"),
            (key("a", &format!("{whole}\nfile = \"f\"")), "keys[0].sha256: set one of"),
            (key("a", &whole.replace("cdef", "cde+")), "keys[0].sha256: use 64"),
            (two, "keys[1].name: use each name once"),
            (same, "keys[1].sha256: it is the key of keys[0]"),
        ] {
            let found = complaints(&text);
            assert!(found.iter().any(|why| why.starts_with(said)), "{said}: {found:?}");
        }
        let unknown = key("a", &whole.replace("sell", "buy"));
        assert!(Config::parse(&unknown).unwrap_err().contains("expected one of `read`, `sell`"));
    }

    #[test]
    fn a_key_that_stands_in_another_place_is_no_second_one() {
        let digest: [u8; 32] = Sha256::digest("0123456789abcdef").into();
        let sha256 = crate::auth::hex(&digest);
        let text = format!(
            "admin_key = \"0123456789abcdef\"\n[[keys]]\nname = \"a\"\nscopes = [\"read\"]\n\
             sha256 = \"{sha256}\"\n"
        );
        assert!(complaints(&text)[0].contains("the key of admin_key"));
    }

    #[test]
    fn a_file_has_a_key_that_stands_in_no_other_place() {
        let folder = tempfile::tempdir().unwrap();
        let told = |files: &[&str], more: &str| {
            let key = |name: &&str| {
                let file = folder.path().join(name);
                format!(
                    "[[keys]]\nname = \"{name}\"\nscopes = [\"read\"]\nfile = \"{}\"\n",
                    file.display()
                )
            };
            let text = format!("{more}{}", files.iter().map(key).collect::<Vec<_>>().concat());
            let config = Config::parse(&text).unwrap();
            assert_eq!(config.key_complaints(), [""; 0], "files are not read: {text}");
            config.key_file_complaints().join("\n")
        };
        for (name, text) in
            [("a", "a key of its own"), ("b", "another of its own"), ("c", "a key of its own\n")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::write(folder.path().join("short"), "short").unwrap();
        assert_eq!(told(&["a", "b"], ""), "");
        for (files, more, said) in [
            (&["away"][..], "", "keys[0].file: "),
            (&["a", "short"], "", "keys[1].file: use at least 16"),
            (&["b", "a", "c"], "", "keys[2].file: it has the key of keys[1]"),
            (
                &["a"],
                "admin_key = \"a key of its own\"\n",
                "keys[0].file: it has the key of admin_key",
            ),
        ] {
            let told = told(files, more);
            assert!(told.starts_with(said) && told.lines().count() == 1, "{said}: {told}");
        }
    }

    #[test]
    fn a_key_is_read_from_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        let key = |path: &std::path::Path| KeySettings {
            name: "a".into(),
            scopes: vec![Scope::Read],
            sha256: None,
            file: Some(path.to_owned()),
            channels: Vec::new(),
        };
        assert!(key(&file).hash().unwrap_err().starts_with("file: "));
        std::fs::write(&file, "a key of its own\n").unwrap();
        let digest: [u8; 32] = Sha256::digest("a key of its own").into();
        assert_eq!(key(&file).hash(), Ok(digest));
        std::fs::write(&file, "short\n").unwrap();
        assert!(key(&file).hash().unwrap_err().contains("at least 16"));
    }
}
